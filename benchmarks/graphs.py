"""Benchmark graphs by name, made once and kept as folders of columns.

A name is a letter of `LETTERS`, or a family of the generators with its options, as
`random:n=262144,m=4194304,weights=float64,ids=int64`: n and m stand for vertices and edges, and
`ids` is the dtype of the columns u and v. With `arcs=True` each edge is listed from both of its
ends, sorted by the first. N is a file of roads; any other file is named by its path.
"""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mstflow.errors import OptionError
from mstflow.graphs.generate.families import FAMILIES
from mstflow.graphs.read import read
from mstflow.graphs.write import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

CACHE = Path(tempfile.gettempdir()) / "mstflow-benchmarks"
LETTERS = {
    "E": "random:n=1000000,m=5000000",
    "Ei": "random:n=1000000,m=5000000,weights=int:1:1000",  # the ends of E
    "G": "grid:rows=2000,columns=2000,keep=0.65",  # 5.2 million edges
    "Gs": "grid:rows=2000,columns=2000,keep=0.65,shuffle_vertices=True,shuffle_edges=True",
    "R": "rmat:scale=20",  # 1.0 million vertices, 16.8 million edges
    "C": "connected-caveman:cliques=10000,size=40",  # 7.8 million edges
    "K": "circulant:n=1000000,degree=10",  # ten neighbours on either side: 10 million edges
    "L": "random:n=4000000,m=64000000",
}
ROADS = "N"
SHORT = {"n": "vertices", "m": "edges"}


class Graph(NamedTuple):
    """Columns of a graph and its number of vertices."""

    u: NDArray[Any]
    v: NDArray[Any]
    w: NDArray[Any]
    n: int


def ensure(name: str, cache: Path = CACHE, roads: Path | None = None) -> Path:
    """Return the folder `u.npy v.npy w.npy n.txt` of a graph, written now if it is not there.

    Parameters
    ----------
    name : str
    cache : path
        Where the folders lie.
    roads : path, optional
        The file that N stands for.

    Raises
    ------
    OptionError
        If there is no graph of that name.
    """
    spec = LETTERS.get(name, name)
    if spec == ROADS and roads is None:
        message = "graph N is not available: give its file, pace16-NE.gr.xz, with --roads"
        raise OptionError(message)
    own = f"roads-{roads.name}" if spec == ROADS and roads else title(spec).replace(":", "-")
    folder = cache / own
    if not folder.is_dir():
        if spec == ROADS and roads:
            graph = _roads(roads)
        else:
            graph = _file(Path(spec)) if Path(spec).is_file() else _generated(spec)
        cache.mkdir(parents=True, exist_ok=True)
        with replacing(f"{folder}/") as draft:
            draft.mkdir()
            for column in "uvw":
                np.save(draft / f"{column}.npy", getattr(graph, column))
            (draft / "n.txt").write_text(f"{graph.n}\n")
    return folder


def title(name: str) -> str:
    """Return the name of a graph as tables have it: of a path the last part."""
    return Path(name).name if Path(name).is_file() else name


def load(folder: Path) -> Graph:
    """Load the columns of a folder into memory."""
    u, v, w = (np.load(folder / f"{column}.npy") for column in "uvw")
    return Graph(u, v, w, int((folder / "n.txt").read_text()))


def parse(spec: str) -> tuple[str, dict[str, Any]]:
    """Split a name into its family and the options, by the names of the family's parameters."""
    family, _, rest = spec.partition(":")
    pairs = [option.partition("=") for option in rest.split(",") if option]
    return family, {SHORT.get(key, key): _value(text) for key, _, text in pairs}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # such as float64 or int:1:1000


def _generated(spec: str) -> Graph:
    family, options = parse(spec)
    if family not in FAMILIES:
        known = ", ".join([*LETTERS, ROADS, *(f"{each}:..." for each in FAMILIES)])
        message = f"there is no graph {spec!r}; known: {known}"
        raise OptionError(message)
    try:
        ids = np.dtype(options.pop("ids", np.int32))
        both = options.pop("arcs", False)
        graph = FAMILIES[family](**options)
    except TypeError as error:  # an option that is missing, unknown or no dtype
        message = f"graph {spec!r}: {error}"
        raise OptionError(message) from error
    if ids.kind not in "iu" or graph.num_vertices > np.iinfo(ids).max:
        message = f"graph {spec!r}: {ids} does not hold ids of {graph.num_vertices} vertices"
        raise OptionError(message)
    u, v, w = graph.edges(0, graph.num_edges)
    if both:
        u, v, w = np.append(u, v), np.append(v, u), np.append(w, w)
        order = np.argsort(u, kind="stable")
        u, v, w = u[order], v[order], w[order]
    return Graph(u.astype(ids, copy=False), v.astype(ids, copy=False), w, graph.num_vertices)


def _file(path: Path) -> Graph:
    """Read a graph, its ids as int32."""
    graph = read(path)
    u, v = graph.u.astype(np.int32, copy=False), graph.v.astype(np.int32, copy=False)
    return Graph(u, v, graph.weight, graph.num_vertices)


def _roads(path: Path) -> Graph:
    """Read roads without lengths and make up weights of 1 to 1,000,000 from the ends.

    With the ends a < b counted from 1, the weight is 1 + ((2654435761 a mod 2^32) xor
    (2246822519 b mod 2^32)) mod 1000000.
    """
    graph = _file(path)
    ends = np.stack([graph.u, graph.v]).astype(np.uint32) + np.uint32(1)
    a = ends.min(axis=0) * np.uint32(2654435761)  # modulo 2^32, as the dtype has it
    b = ends.max(axis=0) * np.uint32(2246822519)
    weight = ((a ^ b) % np.uint32(1_000_000)).astype(np.int32) + np.int32(1)
    return graph._replace(w=weight)
