"""The `.stp` format of SteinLib, a collection of Steiner tree problems."""

from pathlib import Path

import numpy as np

from mstflow.doors.formats.file_format import Format
from mstflow.doors.formats.text.blocks import Blocks, Header
from mstflow.doors.formats.text.text_file import open_text, shown, split_fields, write_rows
from mstflow.errors import FileFormatError
from mstflow.graphs.edge_table import EdgeTable

#: Number of edges in a block. The reader holds one block at a time.
BLOCK = 2**16


def stp_blocks(path: Path) -> Blocks:
    """Read the section `Graph` of an STP file, plain or compressed, and ignore other sections.

    The section has a line `Nodes n` and then a line `E u v weight` for each edge (`A` for an arc).
    Vertices are numbered from 1, and weights are integers.

    Source: Koch, Martin and Voss, "SteinLib: An Updated Library on Steiner Tree Problems in
    Graphs", 2001.

    Yields
    ------
    Header
        With the number of vertices.
    tuple of arrays
        u, v and weight of a block of edges.

    Raises
    ------
    FileFormatError
        If the file is not valid. Names the line.
    """
    edges: list[list[int]] = []
    section, has_nodes = b"", False
    with open_text(path) as file:
        for number, line in file.lines():
            word, *fields = split_fields(line.lower()) or [b""]
            if word == b"section":
                section = b" ".join(fields)
            elif section != b"graph":
                continue
            elif word == b"end":
                break
            elif word in (b"e", b"a", b"nodes"):
                count = 1 if word == b"nodes" else 3
                if len(fields) != count or not all(field.isdigit() for field in fields):
                    file.fail(number, f"expected {count} integers, found {shown(line.strip())}")
                if has_nodes == (word == b"nodes"):
                    file.fail(number, "expected one line Nodes, and then the edges")
                if word == b"nodes":
                    has_nodes = True
                    yield Header(int(fields[0]), line=number)
                else:
                    edges.append([int(field) for field in fields])
                if len(edges) == BLOCK:
                    yield _columns(edges)
                    edges = []
    if not has_nodes:
        message = f"{path}: expected a section Graph with a line Nodes"
        raise FileFormatError(message)
    yield _columns(edges)


def _columns(edges: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, v, weight = np.array(edges, np.int64).reshape(-1, 3).T
    return u - 1, v - 1, weight


def write_stp(path: Path, table: EdgeTable) -> None:
    """Write the section `Graph`, chunk by chunk, with vertices numbered from 1."""
    with path.open("wb") as file:
        counts = f"Nodes {table.num_vertices}\nEdges {table.num_edges}\n"
        file.write(f"SECTION Graph\n{counts}".encode())
        for columns in table.blocks():
            ends = (columns[name].astype(np.int64) + 1 for name in "uv")
            write_rows(file, [*ends, columns["weight"]], tag="E")
        file.write(b"END\n")


FORMAT = Format("stp", (".stp",), blocks=stp_blocks, write=write_stp)
