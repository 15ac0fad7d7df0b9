"""The declaration of a file format: the functions that read and write it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ...errors import GraphError, OptionError, file_errors
from ...graphs.edge_list import EdgeList
from ...graphs.edge_table import EdgeTable
from ...graphs.source import EdgeSource
from ..column_names import Choice, Chooser
from ..file_checks import FileState, unchanged
from ..places.folders import Part
from ..places.url import Place
from ..weights import check_weight, chosen_weight
from .text.blocks import join_blocks, stream_blocks

#: All columns, and the identity of the graph if the file states it.
SavedForest = tuple[dict[str, NDArray[Any]], dict[str, Any] | None]

#: The name of a saved forest's column, file or metadata with the identity of its graph, and whether
#: it is a maximum spanning forest, as JSON.
IDENTITY = "graph"


@dataclass(frozen=True)
class Format:
    """The functions that read and write one file format.

    Functions that read a file raise FileFormatError if it cannot be read or is malformed. The error
    names the file and the line, array, column or edge. Functions with a `Choice` of columns as an
    argument raise OptionError if the file has no such column of weights. All functions may raise
    OptionError for a missing package.
    """

    #: Value of `format=`. For a plugin, the name of its entry point.
    name: str
    #: Suffixes of its files, in lower case. Output has the first one.
    suffixes: tuple[str, ...] = ()
    #: Takes a path, returns an `EdgeList`.
    read: Callable[..., EdgeList] | None = None
    #: Takes a path, returns an `EdgeSource` without reading the edges.
    stream: Callable[..., EdgeSource] | None = None
    #: Takes a path that does not exist yet and an `EdgeTable`, and writes the file.
    write: Callable[[Path, EdgeTable], None] | None = None
    #: Takes a path and the dtype of the graph's weights; returns all columns of a saved forest and
    #: the identity of its graph.
    read_forest: Callable[..., SavedForest] | None = None
    #: Takes a line and returns whether a file of this format may begin with it. Called with leading
    #: comments (`#`, `%`) and with the first other line.
    begins: Callable[[bytes], bool] | None = None
    #: For text, in place of `read`: takes a path and yields a `text.blocks.Header`, then blocks of
    #: the columns u, v and weight. All weights are None if edges have no weights.
    blocks: Callable[..., Iterator[Any]] | None = None
    #: For vertices with names: takes a path, a `Choice` of columns, and the columns that the names
    #: of folders state (`Keys`). Yields the chosen columns with a `pyarrow.Table` of them, block by
    #: block. If a format has `tables`, its `read`, `blocks` and `stream` also take these keys.
    tables: Callable[..., Iterator[Any]] | None = None
    #: Takes a path and returns the bytes of the arrays that `read` creates; reads only headers. If
    #: memory is bounded, a file without `blocks` and `stream` is read as a whole. The bound must be
    #: at least twice these bytes or, without `size`, 64 times the size of the file.
    size: Callable[[Place], int] | None = None
    #: Whether columns have names. If so, `read`, `blocks` and `stream` also take a `Choice`.
    has_columns: bool = False
    #: Whether `blocks` and `tables` read text, and take its `encoding` as an optional argument.
    is_text: bool = False
    #: Whether a graph is a folder instead of a file.
    is_folder: bool = False
    #: Whether `write` accepts columns of names. If so, `read_forest` has the optional argument
    #: `name_type`, the `pyarrow.DataType` of the names.
    holds_names: bool = False
    #: For a format that is recognised but not read: what to do with a file, for the error message.
    instead: str = ""
    #: The module of a library that `write` uses. A command with a bound on memory imports it first,
    #: so that the bound includes it.
    writes_with: str = ""

    def graph(self, part: Part, choice: Choice) -> EdgeList:
        """Read a graph with the chosen columns."""
        path, options = part.place, tuple(self._options(part, choice).values())
        with contextlib.nullcontext() if self.is_folder else unchanged(path, FileState.of(path)):
            if self.read is not None:
                graph = self.read(path, *options)
            elif self.blocks is not None:
                read = partial(self.blocks, **_encoding(part))
                graph = join_blocks(path, read(path, *options))
            else:
                raise OptionError(f"{path}: format {self.name!r} can only be written")
        graph = graph if self.has_columns else chosen_weight(graph, choice)
        return graph.replaced(files=((str(path), graph.num_edges),), counted_in=str(path))

    def source(self, part: Part, choice: Choice, *, is_bounded: bool) -> EdgeSource | None:
        """Return a graph as a source; None if the format cannot be streamed.

        Text is streamed only if memory is bounded, because each scan parses it again. Formats
        without columns keep their weights even if `weight` is None.
        """
        path, options = part.place, self._options(part, choice)
        if not self.has_columns:
            check_weight(choice)
        if self.stream is not None:
            return self.stream(path, *options.values())
        if self.blocks is None or not is_bounded:
            return None
        return stream_blocks(path, self.name, partial(self.blocks, **options, **_encoding(part)))

    def named_tables(self, part: Part, choose: Chooser) -> Iterator[Any]:
        """Yield the chosen columns and a table of them, as `tables`."""
        path = part.place
        if self.tables is None:
            raise OptionError(
                f"{path}: format {self.name!r} has no names (ends=); text, CSV, Parquet and Arrow "
                "have"
            )
        with unchanged(path, FileState.of(path)), file_errors(path, GraphError):
            yield from self.tables(path, choose, part.keys, **_encoding(part))

    def _options(self, part: Part, choice: Choice) -> dict[str, Any]:
        """Return the arguments of `read`, `blocks` and `stream` after the path."""
        if choice.ends is not None and not self.has_columns:
            message = f"format {self.name!r} has no columns to choose by columns="
            raise OptionError(f"{part.place}: {message}")
        keys = {"keys": part.keys} if part.keys and self.tables else {}
        return {"choose": choice, **keys} if self.has_columns else {}


def _encoding(part: Part) -> dict[str, str]:
    return {} if part.encoding is None else {"encoding": part.encoding}


def parse_identity(text: str | bytes | None) -> dict[str, Any] | None:
    """Parse the identity of a graph; return None if `text` is None."""
    if text is None:
        return None
    identity = json.loads(text)
    if not isinstance(identity, dict):
        raise ValueError(f"{IDENTITY} must be a JSON object, not {text!r}")
    return identity
