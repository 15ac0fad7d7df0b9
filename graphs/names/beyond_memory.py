"""Number the vertices of named pairs that do not fit in memory, by DuckDB, which spills to disk.

DuckDB numbers the distinct names, joins the numbers to both ends of each pair, and sorts the pairs
by edge id. The result is a folder of `.npy` columns, and a Parquet file of the names.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError, OptionError
from ...progress import report_progress
from ...runtime.scratch import scratch_folder
from ...runtime.team import kernel_threads
from ..format import EdgeTable
from ..formats.npy import npy_source, write_folder
from ..source import check_dtype
from .in_memory import common_type
from .vertex_names import StoredNames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..source import EdgeSource
    from .pairs import Pairs

#: Rows of an Arrow table that DuckDB returns at once.
_ROWS = 2**20

#: End s (0 or 1) of edge e has place 2e + s. Names are numbered by their first place.
_NUMBER = """
    CREATE TABLE names AS
    SELECT name, row_number() OVER (ORDER BY first) - 1 AS number FROM (
        SELECT name, min(place) AS first FROM (
            SELECT l AS name, 2 * edge AS place FROM pairs
            UNION ALL SELECT r AS name, 2 * edge + 1 AS place FROM pairs
        ) GROUP BY name
    )
"""
_JOIN = """
    SELECT a.number AS u, b.number AS v, weight
    FROM pairs JOIN names a ON l = a.name JOIN names b ON r = b.name ORDER BY edge
"""


def number_beyond_memory(
    pairs: Iterator[Pairs], memory: int, folder: Path | None, identity: Any
) -> EdgeSource:
    """Return named pairs as a source with `names`; both are read from files.

    Parameters
    ----------
    pairs : iterator of Pairs
    memory : int
        The bytes that DuckDB may use.
    folder : Path, optional
        A folder that keeps the files for `numbered_before`. Default: a scratch folder, which is
        removed when the names are no longer used.
    identity : JSON value
        Identifies the input.

    Raises
    ------
    GraphError
        If some names are strings and others are integers, or weights have several dtypes.
    OptionError
        If DuckDB is not installed, or runs out of memory or disk.
    """
    from pathlib import Path

    with contextlib.ExitStack() as resources:
        if folder is None:
            place = Path(resources.enter_context(scratch_folder(None)))
        else:
            shutil.rmtree(folder, ignore_errors=True)  # files of a killed run
            folder.mkdir(parents=True)
            place = folder
        _number(pairs, memory, place)
        (place / "complete.json").write_text(json.dumps(identity))
        return _source(place, resources.pop_all())


def numbered_before(folder: Path, identity: Any) -> EdgeSource | None:
    """Return the source that an earlier run with the same input stored in a folder, or None."""
    try:
        known = json.loads((folder / "complete.json").read_text())
    except (OSError, ValueError):
        return None
    return _source(folder, contextlib.ExitStack()) if known == identity else None


def _source(folder: Path, resources: contextlib.ExitStack) -> EdgeSource:
    from dataclasses import replace

    names = StoredNames(folder / "names.parquet", resources)
    return replace(npy_source(folder / "edges"), num_vertices=len(names), names=names)


def _number(pairs: Iterator[Pairs], memory: int, folder: Path) -> None:
    """Write `names.parquet` and the folder `edges`."""
    try:
        import duckdb
    except ImportError as error:
        message = (
            "the names do not fit in memory=; numbering them on disk needs the package duckdb; "
            "install mstflow[duckdb]"
        )
        raise OptionError(message) from error
    config = {
        "memory_limit": f"{memory // 2**20}MiB",
        "threads": kernel_threads(),
        "temp_directory": str(folder / "spill"),
    }
    database = folder / "pairs.duckdb"
    try:
        with duckdb.connect(str(database), config=config) as connection:
            _number_in(connection, pairs, folder)
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        message = f"numbering the names failed: {error}"
        raise OptionError(message) from error
    except RuntimeError as error:  # DuckDB replaces the exception that a signal raises
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from error
    finally:
        database.unlink(missing_ok=True)
        shutil.rmtree(folder / "spill", ignore_errors=True)


def _number_in(connection: Any, pairs: Iterator[Pairs], folder: Path) -> None:
    import pyarrow as pa

    num_edges, schema, dtype = 0, None, None
    for each in pairs:
        if schema is None:
            dtype = None if each.weight is None else each.weight.dtype
            name_type = common_type([each.left.type, each.right.type])
            fields = (("edge", pa.int64()), ("l", name_type), ("r", name_type))
            schema = pa.schema([*fields, ("weight", _stored(dtype))])
        connection.register("arriving", _table(each, num_edges, schema, dtype))
        insert = "INSERT INTO" if num_edges else "CREATE TABLE"
        connection.execute(f"{insert} pairs {'AS ' * (not num_edges)}SELECT * FROM arriving")
        num_edges += len(each.left)
    report_progress("number names", 0, 0)
    connection.execute(_NUMBER)
    path = str(folder / "names.parquet").replace("'", "''")
    connection.execute(
        f"COPY (SELECT name FROM names ORDER BY number) TO '{path}' (FORMAT parquet)"
    )
    ((num_vertices,),) = connection.sql("SELECT count(*) FROM names").fetchall()
    found = connection.sql(_JOIN)
    index = np.dtype(np.int32 if num_vertices < 2**31 else np.int64)
    dtypes = {"u": index, "v": index} | ({} if dtype is None else {"weight": dtype})

    def read(_: int) -> Iterator[list[Any]]:
        for batch in found.to_arrow_reader(_ROWS):
            columns = (np.asarray(batch.column(name)) for name in dtypes)
            kinds = dtypes.values()
            yield [each.astype(kind) for each, kind in zip(columns, kinds, strict=True)]

    table = EdgeTable(dtypes, num_edges, num_vertices, read, step="number pairs")
    write_folder(folder / "edges", table)


def _table(pairs: Pairs, first: int, schema: Any, dtype: Any) -> Any:
    """Return pairs as a table of the schema, with edge ids from `first` on."""
    import pyarrow as pa

    count = len(pairs.left)
    weight = pa.nulls(count, pa.int8())
    if pairs.weight is not None:
        check_dtype(first, pairs.weight.dtype, dtype)
        weight = pa.array(pairs.weight)
    edge = pa.array(np.arange(first, first + count))
    common_type([schema.field("l").type, pairs.left.type, pairs.right.type])
    try:
        table = pa.table([edge, pairs.left, pairs.right, weight], names=schema.names)
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        message = f"names are not all of type {schema.field('l').type}: {error}"
        raise GraphError(message) from error


def _stored(dtype: np.dtype[Any] | None) -> Any:
    """Return the Arrow type of weights in DuckDB, which does not support float16."""
    import pyarrow as pa

    if dtype is None:
        return pa.int8()
    return pa.from_numpy_dtype(np.float32 if dtype == np.float16 else dtype)
