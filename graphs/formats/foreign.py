"""Formats that are recognised but not read, because libraries read them to graphs or points."""

from __future__ import annotations

import re

from .file_format import Format

_NETWORKX = "read it with networkx or igraph and pass the graph, as in networkx."


def _foreign(name: str, suffixes: tuple[str, ...], start: bytes, instead: str) -> Format:
    """Return a format; its first line that is not a comment starts with the pattern `start`."""
    pattern = re.compile(rb"\s*(" + start + rb")", re.IGNORECASE)
    begins = pattern.match
    return Format(name, suffixes, begins=lambda line: begins(line) is not None, instead=instead)


#: In the order in which a file's content is tried.
FOREIGN = (
    _foreign("GML", (".gml",), rb"graph\s*\[|Creator\b", f"{_NETWORKX}read_gml(path)"),
    _foreign("GEXF", (".gexf",), rb"<gexf", f"{_NETWORKX}read_gexf(path)"),
    _foreign("GraphML", (".graphml",), rb"<", f"{_NETWORKX}read_graphml(path)"),
    _foreign("Pajek", (".net", ".paj"), rb"\*(vertices|network)\b", f"{_NETWORKX}read_pajek(path)"),
    _foreign("JSON", (".json",), rb"[{\[]", f"{_NETWORKX}node_link_graph(json.load(file))"),
    _foreign(
        "DOT",
        (".dot", ".gv"),
        rb"(strict\s+)?(di)?graph\b[^,;]*\{?\s*$",
        f"{_NETWORKX}nx_pydot.read_dot(path)",
    ),
    _foreign(
        "TSPLIB",
        (".tsp",),
        rb"(name|type|comment|dimension)\s*:",
        "pass mstflow.points of its coordinates",
    ),
    _foreign("LGF", (".lgf",), rb"@(nodes|arcs|edges)\b", "pass a table of its section @arcs"),
)
