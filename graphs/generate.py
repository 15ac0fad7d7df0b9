"""The command `mstflow generate`: a graph written as a stream, a chunk in memory at a time."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError
from .generators import FAMILIES
from .write import names_folder, replacing

if TYPE_CHECKING:
    import os

    from .edge_list import EdgeList
    from .generated import Generated

_OPTIONS = ("weights", "keep", "shuffle_vertices", "shuffle_edges", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the command a family each to choose from; the functions' parameters are its options."""
    families = parser.add_subparsers(required=True, metavar="FAMILY", dest="family")
    for name, function in FAMILIES.items():
        summary = (function.__doc__ or "").split("\n", 1)[0]
        family = families.add_parser(name, help=summary, description=summary)
        add = family.add_argument
        for parameter in _parameters(name):
            required = parameter.default is parameter.empty
            option = f"--{parameter.name.replace('_', '-')}"
            if parameter.annotation is bool:
                switch = argparse.BooleanOptionalAction
                add(option, action=switch, default=parameter.default, help="default: %(default)s")
                continue
            add(
                option,
                type=parameter.annotation,
                required=required,
                default=None if required else parameter.default,
                metavar=parameter.name[0].upper(),
                help=None if required else "default: %(default)s",
            )
        add("--weights", default="float32", metavar="W", help="float32, float64 or int:LOW:HIGH")
        add("--keep", type=float, default=1.0, metavar="SHARE", help="share of the edges to keep")
        add("--shuffle-vertices", action="store_true", help="renumber the vertices at random")
        add("--shuffle-edges", action="store_true", help="list the edges in random order")
        add("--seed", type=int, default=0, metavar="S", help="default: %(default)s")
        add("-o", "--output", required=True, metavar="OUT", help="a new folder, or .npz")


def run(options: argparse.Namespace) -> None:
    """Generate what the parsed options ask for, and say what was written."""
    names = [*(parameter.name for parameter in _parameters(options.family)), *_OPTIONS]
    graph = FAMILIES[options.family](**{name: getattr(options, name) for name in names})
    write_stream(options.output, graph)
    print(f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges in {options.output}")


def write_stream(
    path: str | os.PathLike[str], graph: Generated | EdgeList, *, chunk_size: int = 2**20
) -> None:
    """Write a graph of any size, generated or mapped, whole or not at all.

    Parameters
    ----------
    path : path
        A new folder, for `u.npy`, `v.npy`, `w.npy` and `n.txt`; or `.npz`, which takes the room on
        the disk twice while it is written.
    graph : Generated or EdgeList
    chunk_size : int
        Edges to hold in memory at a time.

    Raises
    ------
    OptionError
        As `write.replacing`, and on other suffixes.
    """
    suffix = Path(path).suffix
    is_archive = not names_folder(path)
    if is_archive and suffix != ".npz":
        message = f"{path}: cannot write {suffix!r}; choose .npz, or no suffix for a folder"
        raise OptionError(message)
    with replacing(path) as draft:
        folder = draft.with_name("columns") if is_archive else draft
        folder.mkdir()
        _write_columns(folder, graph, chunk_size)
        if is_archive:
            np.save(folder / "n.npy", np.int64(graph.num_vertices))
            _zip(folder, draft)
        else:
            (folder / "n.txt").write_text(f"{graph.num_vertices}\n")


def _parameters(family: str) -> list[inspect.Parameter]:
    signature = inspect.signature(FAMILIES[family], eval_str=True)
    return [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]


def _write_columns(folder: Path, graph: Generated | EdgeList, chunk_size: int) -> None:
    with contextlib.ExitStack() as stack:
        files = []
        for name, dtype in graph.dtypes.items():
            file = stack.enter_context((folder / f"{name}.npy").open("wb"))
            descr = np.lib.format.dtype_to_descr(dtype)
            header = {"descr": descr, "fortran_order": False, "shape": (graph.num_edges,)}
            np.lib.format.write_array_header_1_0(file, header)
            files.append(file)
        for columns in graph.chunks(chunk_size):
            for file, column in zip(files, columns, strict=True):
                file.write(np.ascontiguousarray(column).data)


def _zip(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", strict_timestamps=False) as members:
        for file in sorted(folder.iterdir()):
            members.write(file, file.name)
