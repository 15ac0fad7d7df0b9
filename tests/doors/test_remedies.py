"""Remedies in words: a reader who does what an error says gets the right forest.

`test_hints.py` executes hints that are code. Here, `done` is what the words of the message ask for.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any, NamedTuple

import dask.array
import networkx
import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyarrow import parquet
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
    "edges that some chunks weigh": Remedy(
        lambda _: solve([(U[:2], V[:2], W[:2]), (U[2:], V[2:])], memory="1GB"),
        "pass weights for all edges",
        lambda _: solve([(U[:2], V[:2], W[:2]), (U[2:], V[2:], W[2:])], memory="1GB"),
    ),
    "weights of other objects": Remedy(
        lambda _: solve((U, V, np.array(W, complex))),
        "convert it to float64, or to int64 if all are whole",
        lambda _: solve((U, V, np.array(W, complex).real.astype("int64"))),
    ),
    "names that are floats": Remedy(
        lambda _: solve({"u": [1e17, 2e17], "v": [2e17, 3e17], "weight": [1, 2]}, ends=("u", "v")),
        "which may be rounded; read it as integers or strings",
        lambda _: solve(
            {"u": ["1e17", "2e17"], "v": ["2e17", "3e17"], "weight": [1, 2]}, ends=("u", "v")
        ),
    ),
    "names with a header": Remedy(
        lambda folder: solve(written(folder, "a.csv", "u,v,weight\n" + EDGES_AND_NAMES)),
        r"if vertices have names, pass ends=\('u', 'v'\), weight='weight'",
        lambda folder: solve(
            written(folder, "a.csv", "u,v,weight\n" + EDGES_AND_NAMES),
            ends=("u", "v"),
            weight="weight",
        ),
    ),
    "a generator with a checkpoint": Remedy(
        lambda folder: solve(
            iter([(U, V, W)]), num_vertices=3, checkpoint=folder / "kept", partitions=1
        ),
        "pass files, arrays or a list",
        lambda folder: solve([(U, V, W)], num_vertices=3, checkpoint=folder / "kept", partitions=1),
    ),
    "files of several kinds": Remedy(
        lambda folder: solve(folder_of_two_kinds(folder)),
        r"pass a pattern such as .*/\*\*/\*\.parquet",
        lambda folder: solve(f"{folder_of_two_kinds(folder)}/**/*.parquet"),
    ),
    "an image with channels": Remedy(
        lambda _: mstflow.grid(np.zeros((2, 2, 2, 3))[..., None]),
        "pass channel_axis= for color channels",
        lambda _: solve(mstflow.grid(np.array([[[0, 0], [1, 1]]]), channel_axis=-1)),
        (2,),
    ),
    "degrees": Remedy(
        lambda _: solve(mstflow.points(np.array([[0.0, 0], [0, 90]]), metric="haversine")),
        r"convert degrees by numpy\.radians\(X\)",
        lambda _: solve(mstflow.points(np.radians([[0.0, 0], [0, 90]]), metric="haversine")),
        (np.pi / 2,),
    ),
    "a linkage of two components": Remedy(
        lambda _: solve((U, V, W), num_vertices=4).linkage(),
        r"use linkage\(disconnected='infinity'\) or cut\(\)",
        lambda _: Linkage(solve((U, V, W), num_vertices=4).linkage(disconnected="infinity")),
        (1, 2, np.inf),
    ),
    "a workbook": Remedy(
        lambda folder: solve(written(folder, "a.xlsx", b"PK")),
        r"pass pandas\.read_excel\(path\)",
        lambda _: solve(pandas.DataFrame({"u": U, "v": V, "weight": W})),  # which it returns
    ),
    "a graph of networkx's formats": Remedy(
        lambda folder: solve(graphml(folder)),
        r"read it with networkx or igraph and pass the graph, as in networkx\.read_graphml\(path\)",
        lambda folder: solve(networkx.read_graphml(graphml(folder))),
    ),
    "lines of networkx": Remedy(
        lambda folder: solve(lines_of_networkx(folder)),
        r"pass networkx\.read_edgelist\(path\)",
        lambda folder: solve(networkx.read_edgelist(lines_of_networkx(folder))),
    ),
    "one array in a file": Remedy(
        lambda folder: solve(saved_array(folder)),
        r"pass \(a\[:, 0\].*, a\[:, 2\]\) of a = numpy\.load\(path\)",
        lambda folder: solve(columns_of(np.load(saved_array(folder)))),
    ),
    "too few vertices": Remedy(
        lambda _: solve((U, V, W), num_vertices=2),
        "there are 2 vertices",
        lambda _: solve((U, V, W), num_vertices=3),
    ),
}


class Linkage(NamedTuple):
    """A linkage in place of a forest."""

    matrix: Any

    @property
    def weight(self):
        return self.matrix[:, 2]


def folder_of_two_kinds(folder):
    written(folder, "notes.csv", "u,v\n0,1\n")
    parquet.write_table(pa.table({"u": U, "v": V, "weight": W}), folder / "edges.parquet")
    return folder


def graph_of_networkx():
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(U, V, W, strict=True))
    return graph


def graphml(folder):
    networkx.write_graphml(graph_of_networkx(), folder / "a.graphml")
    return folder / "a.graphml"


def lines_of_networkx(folder):
    networkx.write_edgelist(graph_of_networkx(), folder / "a.edgelist")
    return folder / "a.edgelist"


def saved_array(folder):
    np.save(folder / "a.npy", np.array([U, V, W]).T)
    return folder / "a.npy"


def columns_of(a):
    return a[:, 0].astype(int), a[:, 1].astype(int), a[:, 2]


def unknown_chunks():
    columns = map(dask.array.from_array, map(np.array, (U, V, W)))
    return tuple(column[column >= 0] for column in columns)


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_in_words_gives_the_right_forest(name, tmp_path):
    remedy = REMEDIES[name]
    with pytest.raises(MstflowError, match=remedy.words):
        remedy.refused(tmp_path)
    assert sorted(remedy.done(tmp_path).weight.tolist()) == pytest.approx(list(remedy.weights))
