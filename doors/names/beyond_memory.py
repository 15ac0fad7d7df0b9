"""Number the vertices of named pairs that do not fit in memory, by DuckDB, which spills to disk.

The pairs are divided into blocks of consecutive pairs, and the names by a hash into parts. Each
step reads and writes files:

    divide   a block of pairs         weights; names with their places, by part
    encode   the names of a part      a dictionary; codes with their places, by block
    rank     all dictionaries         the names in the order of first appearance
    decode   the codes of a block     u and v

DuckDB groups and joins the names of one part at a time. Only the distinct names are sorted. Joins
do not keep the order of pairs, so a place is stored with each name and code.
"""

from __future__ import annotations

import contextlib
import glob
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError, MemoryBoundError, OptionError
from ...graphs.libraries import pa, parquet
from ...graphs.source import EdgeSource, check_dtype
from ...progress import report_progress
from ...runtime.scratch import LOCK, scratch_folder
from ...runtime.team import threads_sharing
from ..formats.npy import npy_source
from ..libraries.arrow_tables import arrow_dtype, arrow_values
from .pairs import common_type
from .stored import StoredNames

#: Bytes of pyarrow and DuckDB, without data. DuckDB gets half of the rest of a bound on memory, and
#: pairs, blocks and columns need the other half.
_LIBRARIES = 140_000_000
#: The smallest number of bytes that are enough for DuckDB.
_LEAST_FOR_DUCKDB = 2**27
#: The largest size of a block in bytes, so that places have 32 bits.
_MAX_BLOCK_BYTES = 2**31
#: Folders of files that only numbering needs.
_TEMPORARY = ("names", "codes", "dictionaries", "spill")
#: The file that marks the others as valid; it has the identity of the pairs.
_COMPLETE = "complete.json"
#: Few names of a block are equal, so a dictionary would save no space.
_PARQUET = "FORMAT parquet, COMPRESSION lz4_raw, DICTIONARY_SIZE_LIMIT 1"

#: The place of end s (0 or 1) of row e of a block is 2e + s. No step reads a column from the name
#: of a folder: a folder of the user may be called ``name=x``.
_DIVIDE = """
    COPY (
        SELECT name, place, {block}::UINTEGER AS block, hash(name) % {parts} AS part FROM (
            SELECT l AS name, place FROM block_ends
            UNION ALL SELECT r, place + 1 FROM block_ends
        )
    ) TO '{target}' ({parquet}, PARTITION_BY part)
"""
_ENCODE = """
    CREATE OR REPLACE TEMP VIEW found AS FROM read_parquet('{found}', hive_partitioning = false);
    CREATE OR REPLACE TEMP TABLE dictionary AS
    SELECT *, (row_number() OVER () - 1)::UINTEGER AS code FROM (
        SELECT name, min((block::BIGINT << 32) + place) AS first FROM found GROUP BY name
    );
    COPY (SELECT name, first FROM dictionary ORDER BY code) TO '{dictionary}' ({parquet});
    COPY (SELECT place, code, block FROM found JOIN dictionary USING (name))
    TO '{target}' ({parquet}, PARTITION_BY block)
"""
_RANK = """
    COPY (
        SELECT name FROM read_parquet('{dictionaries}', hive_partitioning = false) ORDER BY first
    ) TO '{target}' (FORMAT parquet)
"""


class Spill(NamedTuple):
    """When names are numbered on disk, and how they are divided.

    `python -m benchmarks record clusters` measures the defaults.
    """

    #: Bytes that numbering in memory needs for each byte of the columns.
    growth: int = 7
    #: Number of parts of the names.
    parts: int = 32
    #: Size of a block as a share of the memory for DuckDB.
    block_share: float = 1 / 8
    #: If the file of names is larger, strings have 64-bit offsets, because the names of all ends
    #: may exceed 2^31 bytes.
    few_bytes: int = 2**27


def number_beyond_memory(
    pairs: Iterator[Any],
    memory: int,
    folder: Path | None,
    identity: Any,
    spill: Spill = Spill(),  # noqa: B008  # immutable
) -> EdgeSource:
    """Return all named pairs as a source with `names`.

    The source reads pairs and names from files in `folder`, which keeps them for a later run with
    the same `identity`, a JSON value. If `folder` is None, the files are in a scratch folder, which
    is removed together with the names.
    """
    least = _LIBRARIES + 2 * _LEAST_FOR_DUCKDB
    if memory < least:
        raise MemoryBoundError.of(memory, least, "to number the names of vertices on disk")
    memory = (memory - _LIBRARIES) // 2  # for DuckDB
    with contextlib.ExitStack() as resources, duckdb_errors():
        if folder is None:
            folder = Path(resources.enter_context(scratch_folder())) / "checkpoint" / "pairs"
        _create_folder(folder)
        config = {
            "memory_limit": f"{memory // 2**20}MiB",
            "threads": threads_sharing(),
            "temp_directory": str(folder / "spill"),
            "preserve_insertion_order": False,
        }
        try:
            with _duckdb().connect(config=config) as connection:
                size = int(min(memory * spill.block_share, _MAX_BLOCK_BYTES))
                rows = _divide(connection, pairs, folder, size, spill.parts)
                _encode(connection, folder, spill.parts)
                _rank(connection, folder)
            _decode(rows, folder)
        finally:
            for name in _TEMPORARY:
                shutil.rmtree(folder / name, ignore_errors=True)
        (folder / _COMPLETE).write_text(json.dumps(identity))
        pa.default_memory_pool().release_unused()
        return _source(folder, resources.pop_all(), spill)


def load_numbered(folder: Path, identity: Any, spill: Spill) -> EdgeSource | None:
    """Return the source that an earlier run with the same input stored in a folder, or None."""
    try:
        known = json.loads((folder / _COMPLETE).read_text())
    except (OSError, ValueError):
        return None
    return _source(folder, contextlib.ExitStack(), spill) if known == identity else None


def _create_folder(folder: Path) -> None:
    """Create the folder of a new run; remove files of other pairs.

    The folder, and the checkpoint that it is in, may have only files of this module.
    """
    known = folder, folder.with_name(LOCK)
    expected = {_COMPLETE, "edges", "names.parquet", *_TEMPORARY}
    inside = [path for path in folder.glob("*") if path.name not in expected]
    others = [*inside, *(path for path in folder.parent.glob("*") if path not in known)]
    if others:
        raise OptionError(
            f"{folder.parent}: expected an empty folder or the numbers of these pairs, found other "
            f"files such as {others[0].name!r}; choose another folder or remove this one"
        )
    (folder / _COMPLETE).unlink(missing_ok=True)  # first: a kill may leave some of the others
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("edges", *_TEMPORARY):
        (folder / name).mkdir(parents=True)


def _source(folder: Path, resources: contextlib.ExitStack, spill: Spill) -> EdgeSource:
    """Return numbered pairs as a source."""
    names = StoredNames(folder / "names.parquet", resources, spill.few_bytes)
    blocks = [npy_source(path) for path in sorted((folder / "edges").iterdir())]
    segments = tuple(segment for block in blocks for segment in block.segments)
    return EdgeSource(segments, num_vertices=len(names), names=names)


def _divide(
    connection: Any, pairs: Iterator[Any], folder: Path, size: int, parts: int
) -> list[int]:
    """Write the weights of each block of `size` bytes, and its names by part.

    Return the number of pairs of each block.
    """
    rows: list[int] = []
    for block in _in_blocks(_of_one_type(pairs), size):
        label = f"{len(rows):08}"
        edges = folder / "edges" / label
        edges.mkdir()
        if "weight" in block.column_names:
            np.save(edges / "weight.npy", arrow_values("weight", block["weight"]))
        place = np.arange(0, 2 * len(block), 2, dtype=np.uint32)
        ends = pa.table({"l": block["l"], "r": block["r"], "place": place})
        connection.register("block_ends", ends)
        target = folder / "names" / f"block={label}"
        _execute(connection, _DIVIDE, block=len(rows), parts=parts, target=target)
        connection.unregister("block_ends")
        rows.append(len(block))
    return rows


def _of_one_type(pairs: Iterator[Any]) -> Iterator[Any]:
    """Convert pairs to the types of the first pairs."""
    name_type = weight_dtype = None
    first = 0
    for table in pairs:
        left, right, *weight = table.columns
        name_type = name_type or common_type([left.type, right.type])
        common_type([name_type, left.type, right.type])
        for column in weight:
            dtype = arrow_dtype("weight", column.type)
            weight_dtype = dtype if weight_dtype is None else weight_dtype
            check_dtype(first, dtype, weight_dtype)
        try:
            ends = left.cast(name_type), right.cast(name_type)
        except pa.ArrowInvalid as error:
            raise GraphError(f"names are not all of type {name_type}: {error}") from error
        yield pa.table([*ends, *weight], table.column_names)
        first += len(table)


def _in_blocks(pairs: Iterator[Any], size: int) -> Iterator[Any]:
    """Yield consecutive pairs in blocks of about `size` bytes."""
    block: list[Any] = []
    num_bytes = 0
    for table in pairs:
        step = max(1, len(table) * size // max(1, table.nbytes))
        for start in range(0, len(table), step):
            block.append(table.slice(start, step))
            num_bytes += block[-1].nbytes
            if num_bytes >= size:
                yield pa.concat_tables(block)
                block, num_bytes = [], 0
    if block:
        yield pa.concat_tables(block)


def _encode(connection: Any, folder: Path, parts: int) -> None:
    """Write the dictionary of each part and its codes by block, and remove its names."""
    for part in range(parts):
        report_progress("number names", part, parts)
        folders = [block / f"part={part}" for block in (folder / "names").iterdir()]
        if any(path.exists() for path in folders):
            names = f"{glob.escape(str(folder))}/names/block=*/part={part}/*.parquet"
            dictionary = folder / "dictionaries" / f"{part}.parquet"
            codes = folder / "codes" / f"part={part}"
            _execute(connection, _ENCODE, found=names, dictionary=dictionary, target=codes)
        for path in folders:
            shutil.rmtree(path, ignore_errors=True)
    report_progress("number names", parts, parts)


def _rank(connection: Any, folder: Path) -> None:
    """Write all names in the order in which they first appear."""
    dictionaries = f"{glob.escape(str(folder))}/dictionaries/*.parquet"
    _execute(connection, _RANK, dictionaries=dictionaries, target=folder / "names.parquet")


def _decode(rows: list[int], folder: Path) -> None:
    """Write the columns u and v of each block."""
    numbers = _numbers_of_codes(folder)
    dtype = next((number.dtype for number in numbers.values()), np.dtype(np.int32))
    for block, count in enumerate(rows):
        report_progress("number pairs", sum(rows[:block]), sum(rows))
        edges = folder / "edges" / f"{block:08}"
        ends = np.empty(2 * count, dtype)
        for part, number in numbers.items():
            for path in (folder / "codes" / f"part={part}" / f"block={block}").glob("*"):
                codes = parquet.read_table(path, partitioning=None)
                ends[np.asarray(codes["place"])] = number[np.asarray(codes["code"])]
        np.save(edges / "u.npy", ends[0::2])
        np.save(edges / "v.npy", ends[1::2])
    report_progress("number pairs", sum(rows), sum(rows))


def _numbers_of_codes(folder: Path) -> dict[int, NDArray[Any]]:
    """Return for each part the number of each code: the rank of its first appearance."""
    files = sorted((folder / "dictionaries").iterdir())
    tables = [parquet.read_table(file, columns=["first"], partitioning=None) for file in files]
    firsts = [np.asarray(table["first"]) for table in tables]
    bounds = np.cumsum([len(first) for first in firsts])
    first = np.concatenate(firsts)
    del tables, firsts
    order = np.argsort(first)
    del first
    dtype = np.int32 if len(order) < 2**31 else np.int64
    number = np.empty(len(order), dtype)
    number[order] = np.arange(len(order), dtype=dtype)
    parts = (int(file.stem) for file in files)
    return dict(zip(parts, np.split(number, bounds[:-1]), strict=True))


@contextlib.contextmanager
def duckdb_errors() -> Iterator[None]:
    """Convert DuckDB's errors to ours, and its error for an interrupt to KeyboardInterrupt."""
    duckdb = _duckdb()
    try:
        yield
    except (duckdb.OutOfMemoryException, duckdb.IOException, OSError) as error:
        raise OptionError(f"numbering the names failed: {error}") from error
    except RuntimeError as error:  # DuckDB replaces the exception that a signal raises
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from error


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise OptionError(
            "the names do not fit in memory=; numbering them on disk needs the package duckdb; "
            "install mstflow[duckdb]"
        ) from error
    return duckdb


def _execute(connection: Any, statements: str, **values: Any) -> None:
    quoted = {name: str(value).replace("'", "''") for name, value in values.items()}
    connection.execute(statements.format(parquet=_PARQUET, **quoted))
