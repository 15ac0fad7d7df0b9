"""Graphs in every form that the package accepts: objects of libraries, and files of each format."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from soak.graphs import Edge, Graph


@dataclass(frozen=True)
class Input:
    """The argument of a call, the graph that it represents, and further options of the call."""

    given: Any
    meant: Graph
    options: dict[str, Any] = field(default_factory=dict)
    is_read_once: bool = False
    keeps_checkpoint: bool = False


def arrays(graph: Graph) -> list[Any]:
    """Return the columns of a graph in its dtypes."""
    dtypes = (*graph.id_dtypes, graph.weight_dtype)
    return [np.array(graph.column(place), dtype) for place, dtype in enumerate(dtypes)]


def in_memory(graph: Graph, rng: random.Random) -> tuple[str, Input]:
    """Return the name of a form that is not a file, and the graph in it."""
    name = rng.choices(list(_OBJECTS), [weight for _, weight in _OBJECTS.values()])[0]
    return name, _OBJECTS[name][0](graph, rng)


def in_files(graph: Graph, rng: random.Random, folder: Path) -> tuple[str, Input]:
    """Return the name of a format, and the graph in one file or several."""
    name = rng.choice(list(FILES))
    return name, FILES[name](graph, rng, folder)


def _sized(graph: Graph) -> dict[str, Any]:
    return {"num_vertices": graph.num_vertices}


# Objects.


def _columns(graph, rng):
    u, v, weight = arrays(graph)
    if rng.random() < 0.1:
        return Input((u, v), graph.unweighted(), _sized(graph), keeps_checkpoint=True)
    return Input((u, v, weight), graph, _sized(graph), keeps_checkpoint=True)


def _odd_columns(graph, rng):
    """Columns that are read-only, not contiguous, or in the other order of bytes."""
    columns = arrays(graph)
    for place, column in enumerate(columns):
        odd = rng.randrange(3)
        if odd == 0:
            column.flags.writeable = False
        elif odd == 1:
            columns[place] = np.repeat(column, 2)[::2]
        else:
            columns[place] = column.astype(column.dtype.newbyteorder(">"))
    return Input(tuple(columns), graph, _sized(graph))


def _lists(graph, rng):
    return Input(tuple(graph.column(place) for place in range(3)), graph, _sized(graph))


def _edge_list(graph, rng):
    from mstflow import EdgeList

    given = EdgeList(*arrays(graph), num_vertices=graph.num_vertices)
    return Input(given, graph, keeps_checkpoint=True)


def _scipy(graph, rng):
    """A sparse matrix; its format determines the order of the edges."""
    from scipy import sparse

    if graph.weight_dtype == "f2":  # SciPy has no halves
        graph = graph.unweighted()
    kind = rng.choice(["coo", "csr", "csc"])
    shape = (graph.num_vertices, graph.num_vertices)
    if kind == "coo":
        u, v, weight = arrays(replace(graph, id_dtypes=("i8", "i8")))
        return Input(sparse.coo_array((weight, (u, v)), shape=shape), graph)
    place = 0 if kind == "csr" else 1
    graph = graph.in_order(sorted(range(len(graph.edges)), key=graph.column(place).__getitem__))
    columns = arrays(replace(graph, id_dtypes=("i8", "i8")))
    ends = np.searchsorted(columns[place], np.arange(graph.num_vertices + 1))
    make = getattr(sparse, f"{kind}_array")
    return Input(make((columns[2], columns[1 - place], ends), shape=shape), graph)


def _networkx(graph, rng):
    import networkx

    found = networkx.MultiGraph()
    found.add_nodes_from(range(graph.num_vertices))
    found.add_weighted_edges_from(graph.edges)
    edges = tuple(Edge(u, v, weight) for u, v, weight in found.edges(data="weight"))
    return Input(found, replace(graph, edges=edges))


def _igraph(graph, rng):
    import igraph

    pairs = [(u, v) for u, v, _ in graph.edges]
    weights = {"weight": graph.column(2)}
    found = igraph.Graph(n=graph.num_vertices, edges=pairs, edge_attrs=weights)
    # It may swap the ends of an edge.
    edges = (Edge(*edge.tuple, edge["weight"]) for edge in found.es)
    return Input(found, replace(graph, edges=tuple(edges)))


def _pandas(graph, rng):
    import pandas

    ends = rng.choice([("u", "v"), ("source", "target"), ("src", "dst")])
    columns = dict(zip((*ends, "km"), arrays(graph), strict=True))
    return Input(pandas.DataFrame(columns), graph, {**_sized(graph), "weight": "km"})


def _arrow(graph, rng):
    import pyarrow

    columns = dict(zip(("u", "v", "weight"), arrays(graph), strict=True))
    return Input(pyarrow.table(columns), graph, _sized(graph))


def _cuts(graph, rng):
    """Split the edges into several ranges; some may be empty."""
    cuts = sorted(rng.choices(range(len(graph.edges) + 1), k=rng.randint(0, 3)))
    bounds = zip([0, *cuts], [*cuts, len(graph.edges)], strict=True)
    return [replace(graph, edges=graph.edges[start:stop]) for start, stop in bounds]


def _chunks(graph, rng):
    return Input([tuple(arrays(part)) for part in _cuts(graph, rng)], graph, _sized(graph))


def _generator(graph, rng):
    chunks = (tuple(arrays(part)) for part in _cuts(graph, rng))
    return Input(chunks, graph, _sized(graph), is_read_once=True)


def _delayed(graph, rng):
    import dask

    return Input(
        [dask.delayed(tuple(arrays(part))) for part in _cuts(graph, rng)], graph, _sized(graph)
    )


def _dask_arrays(graph, rng):
    from dask import array

    size = rng.randint(1, max(1, len(graph.edges)))
    columns = tuple(array.from_array(column, chunks=size) for column in arrays(graph))
    return Input(columns, graph, _sized(graph))


_OBJECTS = {
    "columns": (_columns, 30),
    "odd columns": (_odd_columns, 15),
    "lists": (_lists, 8),
    "edge list": (_edge_list, 30),
    "scipy": (_scipy, 10),
    "networkx": (_networkx, 3),
    "igraph": (_igraph, 3),
    "pandas": (_pandas, 3),
    "arrow": (_arrow, 3),
    "chunks": (_chunks, 8),
    "generator": (_generator, 8),
    "delayed": (_delayed, 2),
    "dask arrays": (_dask_arrays, 1),
}


# Files. They are written here, because the writers of the package are not tested.


def _text(value):
    return str(int(value)) if isinstance(value, bool) else repr(value)


def write_text(path: Path, lines: list[str]) -> Path:
    """Write lines, compressed if the suffix of the file requires it."""
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(COMPRESSORS.get(path.suffix, bytes)(data))
    return path


def _zstd(data):
    import pyarrow

    return pyarrow.compress(data, codec="zstd", asbytes=True)


COMPRESSORS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": _zstd}


def _write_gr(path, graph, rng):
    head = [f"p sp {graph.num_vertices} {len(graph.edges)}"]
    write_text(path, head + [f"a {u + 1} {v + 1} {_text(w)}" for u, v, w in graph.edges])


def _write_txt(path, graph, rng):
    head = [str(graph.num_vertices), str(len(graph.edges))] if rng.random() < 0.5 else []
    gap = rng.choice([" ", "\t", "  "])
    write_text(path, head + [gap.join((str(u), str(v), _text(w))) for u, v, w in graph.edges])


def _write_csv(path, graph, rng):
    gap = rng.choice([",", ";", "\t"])
    has_names = rng.random() < 0.7
    lines = [gap.join(("name", "u", "v", "weight"))] if has_names else []
    first = ("a b",) if has_names else ()
    lines += [gap.join((*first, str(u), str(v), _text(w))) for u, v, w in graph.edges]
    write_text(path, lines)


def _write_mtx(path, graph, rng):
    kind = "real" if graph.weight_dtype[0] == "f" else "integer"
    form = rng.choice(["general", "symmetric"])
    n = graph.num_vertices
    head = [f"%%MatrixMarket matrix coordinate {kind} {form}", f"{n} {n} {len(graph.edges)}"]
    write_text(path, head + [f"{u + 1} {v + 1} {_text(w)}" for u, v, w in graph.edges])


def _write_bin(path, graph, rng):
    u, v, _ = arrays(replace(graph, id_dtypes=("i4", "i4")))
    np.stack([u, v], axis=1).astype("<i4").__iadd__(1).tofile(path)


def _write_npz(path, graph, rng):
    u, v, weight = arrays(graph)
    columns = {"u": u, "v": v, rng.choice(["w", "weight"]): weight, "n": graph.num_vertices}
    rng.choice([np.savez, np.savez_compressed])(path, **columns)


def write_npy(path: Path, graph: Graph, rng: random.Random) -> None:
    """Write a folder of columns."""
    path.mkdir()
    for name, column in zip(("u", "v", rng.choice(["w", "weight"])), arrays(graph), strict=True):
        np.save(path / f"{name}.npy", column)
    (path / "n.txt").write_text(f"{graph.num_vertices}\n")


def _arrow_table(graph):
    import pyarrow

    metadata = {"num_vertices": str(graph.num_vertices)}
    fields = dict(zip(("u", "v", "weight"), arrays(graph), strict=True))
    return pyarrow.table(fields).replace_schema_metadata(metadata)


def _write_parquet(path, graph, rng):
    from pyarrow import parquet

    parquet.write_table(_arrow_table(graph), path, row_group_size=rng.choice([1, 7, 100]))


def _write_arrow(path, graph, rng):
    import pyarrow

    table = _arrow_table(graph)
    make = rng.choice([pyarrow.ipc.new_file, pyarrow.ipc.new_stream])
    with make(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=rng.choice([3, 100]))


def _format(suffix, write, *, compressed=False, needs_edges=False, weighted=True, sized=False):
    """Return a function that writes a graph to one file of a format, or to several."""

    def make(graph: Graph, rng: random.Random, folder: Path) -> Input:
        meant = graph if weighted else graph.unweighted()
        # All parts must have the same dtype, even if the integers of a part fit in another dtype.
        parts = [meant] if meant.weight_dtype == "u8" else _cuts(meant, rng)
        parts = [part for part in parts if part.edges or not needs_edges]
        if not parts:
            return _edge_list(graph, rng)
        tail = rng.choice([*COMPRESSORS, "", ""]) if compressed else ""
        paths = [folder / f"graph{place}{suffix}{tail}" for place in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            write(path, part, rng)
        options = {} if sized else _sized(meant)
        given = paths if len(paths) > 1 else rng.choice([paths[0], str(paths[0])])
        return Input(given, meant, options, keeps_checkpoint=True)

    return make


def _metis(graph, rng, folder):
    """Neighbours, line by line: each edge from both ends, without loops."""
    weighted = graph.weight_dtype in ("i1", "i2", "i4", "u1", "u2", "u4")
    neighbours: list[list[Edge]] = [[] for _ in range(graph.num_vertices)]
    for u, v, weight in graph.edges:
        if u != v:
            neighbours[u].append(Edge(u, v, weight))
            neighbours[v].append(Edge(v, u, weight))
    edges = tuple(edge for line in neighbours for edge in line)
    meant = replace(graph, edges=edges)
    lines = [f"{graph.num_vertices} {len(edges) // 2}" + (" 001" if weighted else "")]
    lines += (
        " ".join(f"{v + 1} {w}" if weighted else f"{v + 1}" for _, v, w in line)
        for line in neighbours
    )
    path = write_text(folder / "graph.metis", lines)
    return Input(path, meant if weighted else meant.unweighted(), keeps_checkpoint=True)


def _image(graph, rng, folder):
    """Pixels joined to the pixels beside and below them; the given graph is not used."""
    from PIL import Image

    wide, high = rng.randint(1, 8), rng.randint(1, 8)
    pixels = [[rng.randrange(rng.choice([2, 256])) for _ in range(wide)] for _ in range(high)]
    Image.fromarray(np.array(pixels, np.uint8)).save(folder / "graph.png")
    flat = [value for row in pixels for value in row]
    places = range(len(flat))
    pairs = [(place, place + 1) for place in places if (place + 1) % wide]
    pairs += [(place, place + wide) for place in places[:-wide]]
    edges = tuple(Edge(u, v, abs(flat[u] - flat[v])) for u, v in pairs)
    meant = Graph(len(flat), edges, weight_dtype="i8")
    return Input(folder / "graph.png", meant, keeps_checkpoint=True)


FILES = {
    "gr": _format(".gr", _write_gr, compressed=True, sized=True),
    "txt": _format(".txt", _write_txt, compressed=True, needs_edges=True),
    "csv": _format(".csv", _write_csv, compressed=True, needs_edges=True),
    "mtx": _format(".mtx", _write_mtx, compressed=True, sized=True),
    "bin": _format(".gr.bin", _write_bin, weighted=False),
    "npz": _format(".npz", _write_npz, sized=True),
    "npy": _format("", write_npy, sized=True),
    "parquet": _format(".parquet", _write_parquet, sized=True),
    "arrow": _format(".arrow", _write_arrow),
    "metis": _metis,
    "image": _image,
}
