"""Formats that are recognised but not read: the error names a library that reads them."""

from __future__ import annotations

import re

from ..libraries.dask import COLUMNS_OF_A_MATRIX
from .file_format import Format

_NETWORKX = "read it with networkx or igraph and pass the graph, as in networkx."


def _unsupported(name: str, suffixes: tuple[str, ...], start: bytes, instead: str) -> Format:
    """Return a format; its first line that is not a comment starts with the pattern `start`."""
    matches = re.compile(rb"\s*(" + start + rb")", re.IGNORECASE).match
    return Format(name, suffixes, begins=lambda line: matches(line) is not None, instead=instead)


WORKBOOK = _unsupported(
    "spreadsheets",
    (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    rb"\xd0\xcf\x11\xe0",
    "pass pandas.read_excel(path)",
)
ARCHIVE = _unsupported(
    "archives",
    (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".7z", ".rar"),
    rb"[^\n]*\x00ustar|7z\xbc\xaf|Rar!",
    "unpack it, and pass its files",
)

#: In the order in which a file's content is tried.
UNSUPPORTED = (
    _unsupported("GML", (".gml",), rb"graph\s*\[|Creator\b", f"{_NETWORKX}read_gml(path)"),
    _unsupported("GEXF", (".gexf",), rb"<gexf", f"{_NETWORKX}read_gexf(path)"),
    _unsupported("GraphML", (".graphml",), rb"<", f"{_NETWORKX}read_graphml(path)"),
    _unsupported(
        "Pajek", (".net", ".paj"), rb"\*(vertices|network)\b", f"{_NETWORKX}read_pajek(path)"
    ),
    _unsupported("JSON", (".json",), rb"[{\[]", f"{_NETWORKX}node_link_graph(json.load(file))"),
    _unsupported(
        "DOT",
        (".dot", ".gv"),
        rb"(strict\s+)?(di)?graph\b[^,;]*\{?\s*$",
        f"{_NETWORKX}nx_pydot.read_dot(path)",
    ),
    _unsupported(
        "TSPLIB",
        (".tsp",),
        rb"(name|type|comment|dimension)\s*:",
        "pass mstflow.points of its coordinates",
    ),
    _unsupported("LGF", (".lgf",), rb"@(nodes|arcs|edges)\b", "pass a table of its section @arcs"),
    _unsupported(
        "networkx's lines of edges with attributes",
        (),
        rb"[^#%{][^{]*\{('.*)?\}\s*$",
        "pass networkx.read_edgelist(path), with its delimiter= unless that is a space",
    ),
    _unsupported(
        "files of one array",
        (".npy",),
        rb"\x93NUMPY",
        f"if its columns are u, v and weight, pass {COLUMNS_OF_A_MATRIX} of a = numpy.load(path)",
    ),
    WORKBOOK,
    ARCHIVE,
)
