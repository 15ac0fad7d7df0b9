"""Remedies in words: a reader who does what an error says gets the right forest.

`test_hints.py` executes hints that are code. Here, `done` is what the words of the message ask for.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any, NamedTuple

import dask.array
import numpy as np
import pandas
import pyarrow as pa
import pytest
from scipy import sparse

import mstflow
from mstflow.errors import MstflowError

U, V, W = [0, 1, 0], [1, 2, 2], [2.0, 1.0, 3.0]
POINTS = np.array([[0.0, 0], [0, 3], [4, 3]])
ROWS = "0 1 2\n1 2 1\n0 2 3\n"


class Remedy(NamedTuple):
    """A call that is refused, the remedy in its message, and the call after it."""

    refused: Callable[[Any], Any]
    words: str
    done: Callable[[Any], Any]
    weights: tuple[float, ...] = (1, 2)


def solve(graph, **options):
    return mstflow.minimum_spanning_forest(graph, **options)


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def saved(folder, save, *columns):
    path = folder / "graph.npz"
    save(path, *columns)
    return path


def tree(points):
    return solve(mstflow.points(points))


MASKED = np.ma.masked_greater(np.array(W), 2)
IMAGE = np.ma.masked_equal(np.array([[0.0, 2.0], [9.0, 3.0]]), 9)
LATIN = "u,v,weight\né,b,2\nb,c,1\né,c,3\n".encode("latin-1")
EDGES_AND_NAMES = "a,b,2\nb,c,1\na,c,3\n"
DECIMALS = pa.table({"u": U, "v": V, "weight": pa.array(
    [decimal.Decimal(f"{w}.0000000000000000001") for w in (2, 1, 3)])})  # fmt: skip
REMEDIES = {
    "weights that are text": Remedy(
        lambda _: solve(pa.table({"u": U, "v": V, "weight": ["2", "1", "3"]})),
        r"must hold numbers, not string; cast it to float64",
        lambda _: solve(pa.table({"u": U, "v": V, "weight": pa.array(["2", "1", "3"]).cast("f8")})),
    ),
    "decimals with many places": Remedy(
        lambda _: solve(DECIMALS),
        r"cast it to double \(float64\), which may round",
        lambda _: solve(DECIMALS.set_column(2, "weight", DECIMALS["weight"].cast("f8"))),
    ),
    "masked weights": Remedy(
        lambda _: solve((U, V, MASKED)),
        "drop the masked edges first",
        lambda _: solve(tuple(np.array(each)[~MASKED.mask] for each in (U, V, W))),
    ),
    "masked pixels": Remedy(
        lambda _: mstflow.grid(IMAGE),
        "fill the masked places, as with inf",
        lambda _: solve(mstflow.grid(IMAGE.filled(np.inf))),
        (1, 2, np.inf),
    ),
    "an end is missing": Remedy(
        lambda _: solve(pandas.DataFrame({"u": [*U, None], "v": [*V, 1], "weight": [*W, 0]})),
        "u.*; drop the edges of which an end is missing",
        lambda _: solve(
            pandas.DataFrame({"u": [*U, None], "v": [*V, 1], "weight": [*W, 0]})
            .dropna()
            .astype({"u": int})
        ),
    ),
    "a generator of delayed chunks": Remedy(
        lambda _: solve(dask.delayed((U, V, W)) for _ in range(1)),
        r"a list of its chunks, list\(\.\.\.\), does not",
        lambda _: solve([dask.delayed((U, V, W)) for _ in range(1)]),
    ),
    "chunks of unknown length": Remedy(
        lambda _: solve(unknown_chunks()),
        r"call compute_chunk_sizes\(\) first",
        lambda _: solve(tuple(each.compute_chunk_sizes() for each in unknown_chunks())),
    ),
    "text of four columns": Remedy(
        lambda folder: solve(written(folder, "a.txt", "7 0 1 2\n7 1 2 1\n7 0 2 3\n")),
        r"choose columns by position from 0, as in columns=\(0, 1, 2\)",
        lambda folder: solve(
            written(folder, "a.txt", "7 0 1 2\n7 1 2 1\n7 0 2 3\n"), columns=(1, 2, 3)
        ),
    ),
    "text in another encoding": Remedy(
        lambda folder: solve(written(folder, "a.csv", LATIN), ends=("u", "v")),
        "name its encoding, as in encoding='latin-1'",
        lambda folder: solve(written(folder, "a.csv", LATIN), ends=("u", "v"), encoding="latin-1"),
    ),
    "names without a header": Remedy(
        lambda folder: solve(written(folder, "a.csv", EDGES_AND_NAMES)),
        r"ends=\(0, 1\)",
        lambda folder: solve(written(folder, "a.csv", EDGES_AND_NAMES), ends=(0, 1), weight=2),
    ),
    "an archive of a matrix": Remedy(
        lambda folder: solve(saved(folder, sparse.save_npz, sparse.coo_array((W, (U, V)), (3, 3)))),
        r"pass scipy\.sparse\.load_npz\(path\)",
        lambda folder: solve(
            sparse.load_npz(saved(folder, sparse.save_npz, sparse.coo_array((W, (U, V)), (3, 3))))
        ),
    ),
    "an archive of columns without names": Remedy(
        lambda folder: solve(saved(folder, np.savez, U, V, W)),
        r"pass the arrays of numpy\.load\(path\) as a tuple",
        lambda folder: solve(tuple(np.load(saved(folder, np.savez, U, V, W)).values())),
    ),
    "points of one axis": Remedy(
        lambda _: tree(np.array([0.0, 1, 3])),
        r"pass X\.reshape\(-1, 1\)",
        lambda _: tree(np.array([0.0, 1, 3]).reshape(-1, 1)),
    ),
    "sparse points": Remedy(
        lambda _: tree(sparse.csr_array(POINTS)),
        r"pass X\.toarray\(\)",
        lambda _: tree(sparse.csr_array(POINTS).toarray()),
        (3, 4),
    ),
    "points with missing coordinates": Remedy(
        lambda _: tree(np.vstack([POINTS, [np.nan, 0]])),
        "row 3, column 0; drop or fill such points",
        lambda _: tree(POINTS),
        (3, 4),
    ),
    "complex points": Remedy(
        lambda _: tree((POINTS[:, 0] + 1j * POINTS[:, 1]).reshape(-1, 1)),
        "pass real and imaginary parts as two columns",
        lambda _: tree(POINTS),
        (3, 4),
    ),
    "too few vertices": Remedy(
        lambda _: solve((U, V, W), num_vertices=2),
        "there are 2 vertices",
        lambda _: solve((U, V, W), num_vertices=3),
    ),
}


def unknown_chunks():
    columns = map(dask.array.from_array, map(np.array, (U, V, W)))
    return tuple(column[column >= 0] for column in columns)


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_in_words_gives_the_right_forest(name, tmp_path):
    remedy = REMEDIES[name]
    with pytest.raises(MstflowError, match=remedy.words):
        remedy.refused(tmp_path)
    assert sorted(remedy.done(tmp_path).weight.tolist()) == list(remedy.weights)
