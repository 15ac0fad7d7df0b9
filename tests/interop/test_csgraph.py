"""The drop-in for scipy: scipy's own tests pass on it, and results equal those of scipy."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import mstflow
from graph_strategies import edge_lists
from mstflow.csgraph import minimum_spanning_tree
from processes import run_python

scipy_tree = importlib.import_module("scipy.sparse.csgraph").minimum_spanning_tree


def test_tests_of_scipy_pass(monkeypatch):
    tests = importlib.import_module("scipy.sparse.csgraph.tests.test_spanning_tree")
    monkeypatch.setattr(tests, "minimum_spanning_tree", minimum_spanning_tree)
    names = [name for name in vars(tests) if name.startswith("test_")]
    assert names
    for name in names:
        getattr(tests, name)()


def parts(matrix):
    """Return the type, the shape and the arrays of a CSR matrix."""
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    return type(matrix), matrix.shape, [(a.dtype, a.tolist()) for a in arrays]


FORMATS = [
    f"{name}_{kind}" for name in ("csr", "csc", "coo", "lil") for kind in ("array", "matrix")
]


@given(edge_lists(), st.sampled_from(FORMATS), st.booleans())
def test_result_equals_that_of_scipy(graph, name, is_symmetric):
    n = graph.num_vertices
    with np.errstate(over="ignore"):
        weight = graph.weight.astype(np.float64)
    matrix = sparse.coo_array((weight, (graph.u, graph.v)), shape=(n, n)).tocsr()
    if is_symmetric:
        matrix = matrix.maximum(matrix.T)
    matrix = getattr(sparse, name)(matrix)
    before = matrix.toarray()
    found = minimum_spanning_tree(matrix, True)
    np.testing.assert_array_equal(matrix.toarray(), before)
    assert parts(found) == parts(scipy_tree(matrix))


@pytest.mark.parametrize("dtype", [np.int32, np.float32, bool])
def test_other_inputs(dtype):
    dense = np.triu(np.random.default_rng(5).integers(0, 4, (9, 9))).astype(dtype)
    masked = np.ma.masked_equal(dense, 1)
    for graph in (dense, dense.tolist(), masked, sparse.csr_array(dense), sparse.coo_matrix(dense)):
        assert parts(minimum_spanning_tree(graph)) == parts(scipy_tree(graph))
    with_nan = sparse.csr_array([[0, np.nan, 2], [0, 0, np.nan], [0, 0, 0]])
    for found in (minimum_spanning_tree(with_nan), scipy_tree(with_nan)):
        assert found.indices.tolist() == [1, 2]


def test_errors():
    for graph in (np.ones((2, 3)), sparse.csr_array((2, 3)), sparse.coo_array([1, 2])):
        with pytest.raises(ValueError, match=r"square|shape"):
            minimum_spanning_tree(graph)


def test_module_is_an_attribute_of_the_package():
    assert mstflow.csgraph.minimum_spanning_tree is minimum_spanning_tree
    program = "import sys, mstflow; mstflow.csgraph; print('scipy' in sys.modules)"
    done = run_python("-c", program)
    assert (done.stdout, "csgraph" in dir(mstflow)) == ("False\n", True)
