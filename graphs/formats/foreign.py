"""Formats that are refused by name, because libraries read them to graphs or points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ...errors import FileFormatError

if TYPE_CHECKING:
    from ..places.url import Place


class _Foreign(NamedTuple):
    name: str
    suffixes: tuple[str, ...]
    #: Matches the start of the first line that is not a comment.
    start: bytes
    #: What to do instead.
    instead: str


_FORMATS = (
    _Foreign("GML", (".gml",), rb"graph\s*\[|Creator\b", "networkx.read_gml(path)"),
    _Foreign("GEXF", (".gexf",), rb"<gexf", "networkx.read_gexf(path)"),
    _Foreign("GraphML", (".graphml",), rb"<", "networkx.read_graphml(path)"),
    _Foreign("Pajek", (".net", ".paj"), rb"\*(vertices|network)\b", "networkx.read_pajek(path)"),
    _Foreign("JSON", (".json",), rb"[{\[]", "networkx.node_link_graph(json.load(file))"),
    _Foreign(
        "DOT",
        (".dot", ".gv"),
        rb"(strict\s+)?(di)?graph\b[^,;]*\{?\s*$",
        "networkx.nx_pydot.read_dot(path)",
    ),
    _Foreign(
        "TSPLIB",
        (".tsp",),
        rb"(name|type|comment|dimension)\s*:",
        "mstflow.points of its coordinates",
    ),
    _Foreign("LGF", (".lgf",), rb"@(nodes|arcs|edges)\b", "a table of its section @arcs"),
)


def refuse_suffix(path: Place, suffix: str) -> None:
    """Raise an error if a suffix is that of a format that is not read."""
    for kind in _FORMATS:
        if suffix in kind.suffixes:
            _refuse(path, kind)


def refuse_line(path: Place, line: bytes) -> None:
    """Raise an error if a file that starts with this line has a format that is not read."""
    for kind in _FORMATS:
        if re.match(rb"\s*(" + kind.start + rb")", line, re.IGNORECASE):
            _refuse(path, kind)


def _refuse(path: Place, kind: _Foreign) -> None:
    how = "read it with networkx or igraph and pass the graph, as in " * (
        "networkx" in kind.instead
    )
    raise FileFormatError(
        f"{path}: mstflow does not read {kind.name}; {how or 'pass '}{kind.instead}"
    )
