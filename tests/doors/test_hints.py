"""Hints of errors are right: following one gives the forest that the user means.

Each case has an input that is refused, a pattern that finds the hint in the message, and the right
forest. The hint is executed as it stands in the message, so a changed hint is tested as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import scipy
from dask import array as dask_array
from dask import bag
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

import mstflow
from mstflow import minimum_spanning_forest
from mstflow.errors import MstflowError

#: Two samples are equal, so a distance is zero.
SAMPLES = np.array([[0.0, 0], [0, 0], [3, 4], [3, 5], [9, 9]])
DISTANCES = squareform(pdist(SAMPLES))
LABELS = list("abcde")
TREE = [0.0, 1.0, 5.0, squareform(pdist(SAMPLES))[3, 4]]

#: A graph whose forest has the weights 1 and 2.
EDGES = [(0, 1, 2.0), (1, 2, 1.0), (0, 2, 3.0)]
U, V, W = map(np.array, zip(*EDGES, strict=True))
RECORDS = [{"u": u, "v": v, "weight": weight} for u, v, weight in EDGES]
STRUCTURED = np.array(EDGES, [("u", "i8"), ("v", "i8"), ("weight", "f8")])
MATRIX = np.array([[0, 2, 3.0], [2, 0, 1], [3, 1, 0]])
NAMED = {"u": ["a", "b", "a"], "v": ["b", "c", "c"], "weight": W.tolist()}
#: A matrix with an edge of weight zero nowhere, in blocks that contain zeros.
BLOCKS = np.kron(np.eye(2), [[0, 4.0], [0, 0]])


class Case(NamedTuple):
    """An input that is refused, and the hint to follow."""

    name: str
    #: The name of the input in the hint, and the input.
    variable: str
    graph: Any
    #: Has the groups `set` (statements), `pass` (an expression for the graph) and `options`.
    hint: str
    #: The weights of the right forest.
    weights: list[float]
    options: Mapping[str, Any] = MappingProxyType({})


PASS = r"pass (?P<pass>\(.*?\)|[\w.\[\]]+\(.*?\)+|\w+)(;|$)"
MATRIX_OF_DISTANCES = (
    r"(let (?P<let>a = [^;]*?)(, an array of shape [^;]*)?;.*)?"
    r"matrix of distances, set (?P<set>.*) and pass (?P<pass>\(i, j, .*?\]\))"
)


def matrix_hint(name, variable, graph):
    return Case(f"distances: {name}", variable, graph, MATRIX_OF_DISTANCES, TREE)


class Matrix:
    """An array of another library."""

    dtype, shape = DISTANCES.dtype, DISTANCES.shape

    def __array__(self, dtype=None, copy=None):
        return DISTANCES


FRAME = pandas.DataFrame(DISTANCES, index=LABELS, columns=LABELS)
CASES = [
    matrix_hint("square", "a", DISTANCES),
    matrix_hint("float32", "a", DISTANCES.astype("f4")),
    matrix_hint("numpy.matrix", "graph", np.asmatrix(DISTANCES)),
    matrix_hint("another library", "graph", Matrix()),
    matrix_hint("DataFrame", "table", FRAME),
    matrix_hint("DataFrame, labels 0, 1, 2", "table", pandas.DataFrame(DISTANCES)),
    matrix_hint("DataFrame, labels as a column", "table", FRAME.reset_index()),
    matrix_hint("polars", "table", polars.DataFrame(DISTANCES, schema=LABELS)),
    matrix_hint("polars, labels", "table", polars.from_pandas(FRAME.reset_index())),
    matrix_hint("Arrow", "table", pa.Table.from_pandas(FRAME, preserve_index=False)),
    Case("condensed distances", "a", pdist(SAMPLES), rf"distances of all pairs.*?, {PASS}", TREE),
    Case("matrix of weights", "a", MATRIX, rf"zero means no edge.*?, {PASS}", [1, 2]),
    Case("bool matrix", "a", MATRIX > 0, rf"zero means no edge.*?, {PASS}", [1, 1]),
    Case("points", "a", SAMPLES, rf"for their tree, {PASS}", TREE),
    Case(
        "edges as rows", "a", np.array([*EDGES, EDGES[0]]), rf"columns are u, v.*?, {PASS}", [1, 2]
    ),
    Case(
        "edges as columns",
        "a",
        np.array([*EDGES, EDGES[0]]).T,
        rf"rows are u, v.*?, {PASS}",
        [1, 2],
    ),
    Case("edge_index", "a", np.stack([U, V]), rf"rows are u, v, {PASS}", [1, 1]),
    Case("fields", "a", STRUCTURED, r"pass (?P<pass>\{.*\})", [1, 2]),
    Case("records", "graph", RECORDS, PASS, [1, 2]),
    Case("records of names", "graph", RECORDS, PASS, [1, 2], {"ends": ("u", "v")}),
    Case("edges", "edges", EDGES, r"pass (?P<pass>tuple\(zip\(\*edges\)\))", [1, 2]),
    Case(
        "edges as lists", "edges", [[*map(int, e)] for e in EDGES], r"edges as (?P<pass>.*)", [1, 2]
    ),
    Case(
        "edges of names",
        "graph",
        list(zip(*NAMED.values(), strict=True)),
        PASS,
        [1, 2],
        {"ends": ("u", "v")},
    ),
    Case(
        "columns of names in a list",
        "graph",
        [[*column] for column in NAMED.values()],
        r"columns, pass (?P<pass>.*)",
        [1, 2],
        {"ends": ("u", "v")},
    ),
    Case(
        "float ids",
        "u",
        {"u": U.astype(float), "v": V, "weight": W},
        r"convert it by (?P<u>.*)",
        [1, 2],
    ),
    Case("names", "graph", NAMED, r"such as (?P<options>ends=.*)", [1, 2]),
    Case(
        "bsr",
        "matrix",
        sparse.bsr_array(BLOCKS, blocksize=(2, 2)),
        r"; set (?P<set>.*), call (?P<call>.*) and pass (?P<pass>a)$",
        [4, 4],
    ),
    *(
        Case(form, "matrix", getattr(sparse, f"{form}_array")(MATRIX), PASS, [1, 2])
        for form in ("lil", "dok", "dia")
    ),
    Case("dask bag", "bag", bag.from_sequence(EDGES, npartitions=2), r"pass (?P<pass>.*)", [1, 2]),
    Case("dask matrix", "a", dask_array.from_array(np.array(EDGES)), r"pass (?P<pass>.*)", [1, 2]),
    Case(
        "column called otherwise",
        "graph",
        {"u": U, "v": V, "cost": W},
        r"pass (?P<options>weight=None)",
        [1, 1],
    ),
    Case(
        "numbered from 1",
        "graph",
        {"u": U + 1, "v": V + 1, "weight": W},
        r"pass (?P<options>first_id=1)",
        [1, 2],
    ),
    Case(
        "large ids",
        "graph",
        {"u": U.astype("u8") + 2**63, "v": V.astype("u8") + 2**63, "weight": W},
        r"such as (?P<options>ends=.*)",
        [1, 2],
    ),
]


def follow(case, message):
    """Execute the hint in a message; return the weights of the forest."""
    found = re.search(case.hint, message)
    assert found, message
    hint = {key: value for key, value in found.groupdict().items() if value}
    scope = {"numpy": numpy, "scipy": scipy, "pandas": pandas, "mstflow": mstflow}
    scope[case.variable] = case.graph
    for statement in ("let", "set", "call"):
        exec(hint.get(statement, ""), scope)
    options = dict(case.options) | eval(f"dict({hint.get('options', '')})")
    if "u" in hint:
        graph = case.graph | {"u": eval(hint["u"], case.graph)}
    else:
        graph = eval(hint.get("pass", case.variable), scope)
    return np.sort(minimum_spanning_forest(graph, progress=False, **options).weight)


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hints_are_right(case):
    with pytest.raises((MstflowError, UserWarning)) as error:
        minimum_spanning_forest(case.graph, progress=False, **case.options)
    np.testing.assert_allclose(follow(case, str(error.value)), case.weights, rtol=1e-6)


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pa.table])
def test_edges_are_not_taken_for_a_matrix(make):
    with pytest.raises(MstflowError, match="expected one column each for") as error:
        minimum_spanning_forest(make({"a": [0, 1], "b": [1, 2], "km": [2.0, 3.0]}))
    assert "distances" not in str(error.value)
