"""A drop-in replacement for `scipy.sparse.csgraph`: change only the import."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import GraphError
from .solve import minimum_spanning_forest

__all__ = ["minimum_spanning_tree"]


def minimum_spanning_tree(csgraph: Any, overwrite: bool = False) -> Any:
    """Return the minimum spanning forest of a sparse or dense matrix, as scipy does.

    The result has the same entries as that of scipy's function. If entries have equal weights, both
    functions prefer the first one in CSR order. Weights are converted to float64, and edges of
    weight zero are missing from the result, although they connect vertices. For a sparse
    matrix, ``mstflow.minimum_spanning_forest(csgraph).to_scipy()`` keeps the dtype and these edges.

    Parameters
    ----------
    csgraph : array_like, masked array, or sparse array or matrix, of shape (n, n)
        The weights of an undirected graph. If both (i, j) and (j, i) are nonzero, the smaller one
        is the weight of the edge. In a dense matrix, zeros, infinities and NaN are not edges.
    overwrite : bool
        Accepted for compatibility; the input is never overwritten.

    Returns
    -------
    csr_array or csr_matrix of shape (n, n)
        The entries of the edges in the forest. The class is that of ``csgraph.tocsr()``, and
        `scipy.sparse.csr_array` for a dense matrix.

    Raises
    ------
    GraphError
        If the matrix is not square.
    """
    matrix = _as_csr(csgraph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        message = f"expected a square matrix, found shape {matrix.shape}"
        raise GraphError(message)
    matrix = matrix.astype(np.float64, copy=False)
    n = matrix.shape[0]
    rows = np.repeat(np.arange(n, dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    # Functions of scipy.sparse.csgraph return and accept int32 if it is wide enough.
    index = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    weight = matrix.data
    if np.isnan(weight).any():
        # scipy sorts NaN after all other weights, and so do the ranks of the weights.
        weight = np.unique(weight, return_inverse=True)[1]
    edges = (rows, matrix.indices, weight)
    ids = minimum_spanning_forest(edges, num_vertices=n, progress=False).edge_ids
    indptr = np.searchsorted(ids, matrix.indptr).astype(index)
    entries = (matrix.data[ids], matrix.indices[ids].astype(index), indptr)
    tree = type(matrix)(entries, shape=matrix.shape)
    tree.eliminate_zeros()
    return tree


def _as_csr(csgraph: Any) -> Any:
    """Return a graph as a CSR matrix of its edges."""
    from scipy import sparse
    from scipy.sparse import csgraph as scipy_csgraph

    if sparse.issparse(csgraph):
        return csgraph.tocsr()
    if np.ma.isMaskedArray(csgraph):
        return scipy_csgraph.csgraph_from_masked(csgraph)
    return scipy_csgraph.csgraph_from_dense(csgraph)
