"""The graphs of benchmarks, by name. Each is generated once and stored as a folder of columns.

A name is one of `GRAPHS`, the path of a file, or a family of generated graphs with its options,
such as `random:n=262144,m=4194304,weights=float64,ids=int64`. The options n and m are `vertices`
and `edges`, and `ids` is the dtype of the columns u and v.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mstflow.errors import OptionError

ROOT = Path(__file__).resolve().parents[1]

#: Description and specification of each named graph.
GRAPHS = {
    "E": ("random, 5 edges for each vertex", "random:n=1000000,m=5000000"),
    "Ei": ("E with integer weights, 1 to 1000", "random:n=1000000,m=5000000,weights=int:1:1000"),
    "E64": ("E with weights of 64 bits", "random:n=1000000,m=5000000,weights=float64"),
    "E64i": (
        "E with weights and ids of 64 bits",
        "random:n=1000000,m=5000000,weights=float64,ids=int64",
    ),
    "G": ("grid, 65% of its edges", "grid:rows=2000,columns=2000,keep=0.65"),
    "G64": (
        "G with weights of 64 bits",
        "grid:rows=2000,columns=2000,keep=0.65,weights=float64",
    ),
    "Gs": (
        "G in random order of vertices and edges",
        "grid:rows=2000,columns=2000,keep=0.65,shuffle_vertices=True,shuffle_edges=True",
    ),
    "R": ("R-MAT of scale 20", "rmat:scale=20"),
    "C": ("connected caveman, 10,000 cliques of 40", "connected-caveman:cliques=10000,size=40"),
    "K": ("circulant, 20 neighbours of each vertex", "circulant:n=1000000,degree=10"),
    "L": ("random, 16 edges for each vertex", "random:n=4000000,m=64000000"),
    "N": ("roads of New York, from `examples/data`", "examples/data/USA-road-d.NY.gr.gz"),
    "D": ("random, for runs from disk", "random:n=4000000,m=100000000"),
    "tiny": ("random, to try a benchmark", "random:n=300,m=900"),
}
SHORT = {"n": "vertices", "m": "edges"}


class Graph(NamedTuple):
    """Columns of a graph and its number of vertices."""

    u: NDArray[Any]
    v: NDArray[Any]
    w: NDArray[Any]
    n: int


def ensure(name: str) -> Path:
    """Return the folder `u.npy v.npy w.npy n.txt` of a graph; create it if it is missing.

    Graphs are stored in the folder for temporary files.

    Raises
    ------
    OptionError
        If the name is not known.
    """
    _, spec = GRAPHS.get(name, ("", name))
    path = ROOT / spec  # an absolute path stays as it is
    cache = Path(tempfile.gettempdir(), "mstflow-benchmarks")
    folder = cache / (path.name if path.is_file() else spec.replace(":", "-"))
    if not folder.is_dir():
        from mstflow.doors.write import write_columns

        graph = _read(path) if path.is_file() else _generate(spec)
        folder.parent.mkdir(parents=True, exist_ok=True)
        columns = {"u": graph.u, "v": graph.v, "weight": graph.w}
        try:
            write_columns(f"{folder}/", columns, num_vertices=graph.n)
        except OptionError:
            if not folder.is_dir():  # otherwise, another process was faster
                raise
    return folder


def prepare(graphs: Sequence[str]) -> Iterator[dict[str, str]]:
    """Generate graphs that are missing, in several processes."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, _ in zip(graphs, pool.map(ensure, graphs), strict=True):
            yield {"graph": name}


def load(folder: Path, mapped: bool = False) -> Graph:
    """Load the columns of a folder into memory, or map them."""
    mode: Literal["r"] | None = "r" if mapped else None
    u, v, w = (np.load(folder / f"{column}.npy", mmap_mode=mode) for column in "uvw")
    return Graph(u, v, w, int((folder / "n.txt").read_text()))


def load_named(name: str) -> Graph:
    """Load the columns of a graph by its name; generate it if it is missing."""
    return load(ensure(name))


def describe(folder: Path) -> dict[str, Any]:
    """Return the sizes and dtypes of a graph without loading it."""
    u, _, w, vertices = load(folder, mapped=True)
    return {"vertices": vertices, "edges": len(u), "ids": str(u.dtype), "weights": str(w.dtype)}


def title(name: str) -> str:
    """Return the name of a graph in records and tables: of a path, the name of the file."""
    return Path(name).name if Path(name).is_file() else name


def parse_options(text: str) -> dict[str, Any]:
    """Parse `NAME=VALUE,...`; a value that is not a Python literal is a string."""
    pairs = (option.partition("=") for option in text.split(",") if option)
    return {name: _value(value) for name, _, value in pairs}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # such as float64 or int:1:1000


def _generate(spec: str) -> Graph:
    from mstflow.doors.generated.families import FAMILIES

    family, _, rest = spec.partition(":")
    if family not in FAMILIES:
        known = ", ".join([*GRAPHS, *(f"{each}:..." for each in FAMILIES)])
        message = f"graph {spec!r} is not known; choose from: {known}"
        raise OptionError(message)
    options = {SHORT.get(name, name): value for name, value in parse_options(rest).items()}
    try:
        ids = np.dtype(options.pop("ids", np.int32))
        graph = FAMILIES[family](**options)
    except TypeError as error:  # an option is missing or unknown, or its value is not a dtype
        message = f"graph {spec!r}: {error}"
        raise OptionError(message) from error
    if ids.kind not in "iu" or graph.num_vertices > np.iinfo(ids).max:
        message = f"graph {spec!r}: {ids} is too small for {graph.num_vertices} vertices"
        raise OptionError(message)
    u, v, w = graph.edges(0, graph.num_edges)
    return Graph(u.astype(ids, copy=False), v.astype(ids, copy=False), w, graph.num_vertices)


def _read(path: Path) -> Graph:
    """Read a graph file, with ids as int32."""
    from mstflow.doors.read import read

    graph = read(path)
    u, v = graph.u.astype(np.int32, copy=False), graph.v.astype(np.int32, copy=False)
    return Graph(u, v, graph.weight, graph.num_vertices)
