"""Tasks: call a stage or a combination, check its fields, and note its cost."""

from __future__ import annotations

import contextlib
import pickle
import reprlib
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import MstflowError, PipelineError
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module
from ..runtime.device import is_on_device
from ..stages.fields import Field, rebuilt
from .partitions import chunks_of, with_chunks
from .report.records import Note, StageCall, Work
from .schedulers.scheduler import add_place, worker_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..stages import Stage

#: Types whose values error messages show. The value of other types could fill pages.
_SHOWN, _SHOWN_ITEMS = (bool, int, float, str, list), 12
#: Types of values that tasks receive unchanged.
_PLAIN = frozenset((int, float, bool, str, type(None)))


class Slot(NamedTuple):
    """A placeholder for item `item` of the result passed as argument number `argument`."""

    argument: int
    item: int


class Collected(tuple[Any, ...]):
    """The values that several tasks wrote to one `Chosen` field."""

    __slots__ = ()


@dataclass(slots=True)  # creating a frozen one takes three times as long
class Task:
    """A call of a stage, or if `parts` is set, a combination of results of several partitions."""

    stage: Stage
    backend: Backend
    #: The fields to read: values, `Slot` objects, or `Collected` tuples of these.
    fields: Mapping[str, Any]
    #: The position of the task in the run, for reports.
    round: int = 0
    partition: int = 0
    #: Number of results to combine: the first arguments of the call.
    parts: int = 0
    #: Called with a `Note`.
    note: Callable[[Note], object] | None = None
    #: Whether it writes fields of the whole graph instead of a partition.
    is_shared: bool = False
    #: Whether its arrays must be in host memory, because they may be sent to other processes.
    leaves_on_host: bool = False
    #: Position in the order of submission.
    number: int = 0
    #: Saves unfinished work. It is passed to a function with a parameter of this name.
    record: Any = None

    @property
    def name(self) -> str:
        """The name of the stage or combination."""
        return self.stage.combine_name if self.parts else self.stage.name

    def __call__(self, *results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run on the results of other tasks; return the fields that the stage writes."""
        try:
            backend = worker_backend(self.backend) if self.leaves_on_host else self.backend
            ops = array_module(backend)
            fields = {name: _loaded(ops, results, value) for name, value in self.fields.items()}
            parts = [_loaded(ops, (), part) for part in results[: self.parts]]
            lengths = {} if parts else _lengths(self.stage, fields)
            cause, start = None, time.perf_counter()
            try:
                result = self._call(ops, parts, fields)
            except (MemoryError, MstflowError):
                raise
            except Exception as error:  # a stage may raise anything
                cause = error
            seconds = time.perf_counter() - start
            if cause is not None:  # raise it here: the context of an error may not be picklable
                raise self._failure(fields, parts, cause)
            outputs = self._outputs(result, lengths)
            if self.note is not None:
                moved = _num_bytes((*fields.values(), *parts, *outputs))
                call = StageCall(self.round, self.name, self.partition, Work(seconds, moved))
                items = self.stage.writes.items() if self.is_shared else ()
                written = zip(items, outputs, strict=False)
                scalars = {name: value for (name, field), value in written if field.is_reported}
                self.note(Note(self.number, call, scalars))
            return _on_host(ops, outputs) if self.leaves_on_host else outputs
        except MemoryError:
            raise
        except Exception as error:
            add_place(error, self.name, on_cluster=self.leaves_on_host)
            raise

    def _call(self, ops: Any, parts: list[Any], fields: dict[str, Any]) -> Any:
        """Call the function of the stage, or if there are `parts`, of its combination."""
        if parts:
            assert self.stage.combiner is not None
            kept = {} if self.record is None else {"record": self.record}
            return self.stage.combiner(ops, parts, **fields, **kept)
        given = {"ops": ops, "record": self.record}
        return self.stage.function(**{name: given[name] for name in self.stage.injected}, **fields)

    def _outputs(self, result: Any, lengths: dict[str, int]) -> tuple[Any, ...]:
        """Return the result as a tuple of fields, checked against the declaration."""
        writes, stage = self.stage.writes, f"stage {self.stage.name!r}"
        is_several = type(result) is tuple and (self.parts or len(writes) > 1)
        outputs = tuple([_plain(value) for value in (result if is_several else (result,))])
        if len(outputs) != len(writes):
            raise PipelineError(f"{stage}: returned {len(outputs)} fields, not {len(writes)}")
        if "num_vertices" in writes:
            lengths.pop("vertices", None)
        for (name, declared), value in zip(writes.items(), outputs, strict=True):
            if not _has_kind(value, declared):
                raise PipelineError(
                    f"{stage}: wrote {name!r} as {_shown(value)}, not as {declared}"
                )
            if declared.axis and len(value) != lengths.setdefault(declared.axis, len(value)):
                raise PipelineError(
                    f"{stage}: wrote {name!r} with {len(value)} entries, but along "
                    f"{declared.axis} there are {lengths[declared.axis]}"
                )
        return outputs

    def _failure(self, fields: dict[str, Any], parts: list[Any], cause: Exception) -> PipelineError:
        """Return an error that shows the fields that the failed stage read."""
        written = (item for part in parts for item in zip(self.stage.writes, part, strict=True))
        shown = (f"{name}: {_shown(value)}" for name, value in (*fields.items(), *written))
        reason = f"{type(cause).__name__}: {cause}"
        failure = PipelineError(f"stage {self.name!r} failed on {', '.join(shown)}: {reason}")
        with contextlib.suppress(Exception):  # some errors cannot be pickled
            pickle.dumps(cause)
            failure.__cause__ = cause
        return failure


def _loaded(ops: Any, results: tuple[Any, ...], value: Any) -> Any:
    """Replace slots by items of results, and arrays by those of the array module."""
    if type(value) in _PLAIN:
        return value
    if type(value) is Slot:
        value = results[value.argument][value.item]
    if isinstance(value, np.ndarray):
        return ops.asarray(value)
    if isinstance(value, EdgeSource):
        if results and any(type(chunk) is Slot for chunk in chunks_of(value)):
            return with_chunks(value, (results[slot.argument] for slot in chunks_of(value)))
        return value
    if isinstance(value, tuple):
        return rebuilt(value, [_loaded(ops, results, each) for each in value])
    return value.item() if isinstance(value, np.generic) else value  # such as a limit


def _on_host(ops: Any, value: Any) -> Any:
    """Return a value, or the items of a tuple, with arrays in host memory."""
    if isinstance(value, tuple):
        return rebuilt(value, map(partial(_on_host, ops), value))
    return ops.to_host(value) if is_on_device(value) else value


def _num_bytes(values: tuple[Any, ...]) -> int:
    """Return the bytes of all arrays in a tuple, also in tuples and records within it."""
    each = [_num_bytes(x) if isinstance(x, tuple) else getattr(x, "nbytes", 0) for x in values]
    try:
        return sum(each)
    except TypeError:  # the attribute of a NumPy type is not a number
        return sum(size for size in each if isinstance(size, int))


def _plain(value: Any) -> Any:
    """Convert a scalar of an array library to Python's; return other values unchanged."""
    has_no_axes = type(value) not in _PLAIN and getattr(value, "ndim", 1) == 0
    return value.item() if has_no_axes and hasattr(value, "item") else value  # or it is a dtype


def _lengths(stage: Stage, fields: dict[str, Any]) -> dict[str, int]:
    """Check the fields that a stage reads; return the length of each axis."""
    lengths: dict[str, tuple[str, int]] = {}
    if "num_vertices" in stage.reads:
        lengths["vertices"] = ("num_vertices", fields["num_vertices"])
    for name, declared in stage.reads.items():
        if not _has_kind(fields[name], declared):
            read = f"reads {name!r} as {declared}, but it is {_shown(fields[name])}"
            raise PipelineError(f"stage {stage.name!r}: {read}")
        if declared.axis:
            length = len(fields[name])
            first, known = lengths.setdefault(declared.axis, (name, length))
            if length != known:
                raise PipelineError(
                    f"stage {stage.name!r}: {first!r} and {name!r} both run along {declared.axis}, "
                    f"but have {known} and {length} entries"
                )
    return {axis: length for axis, (_, length) in lengths.items()}


def _has_kind(value: Any, declared: Field) -> bool:
    return declared.kind in ("any", "chosen") if type(value) is Collected else declared.holds(value)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        names, items = getattr(value, "_fields", ()), list(map(_shown, value[:_SHOWN_ITEMS]))
        if names:
            items = [f"{name}: {item}" for name, item in zip(names, items, strict=False)]
        return f"({', '.join(items)}{', ...' if len(value) > len(items) else ''})"
    if hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, getattr(value, 'shape', ())))}]"
    name = type(value).__name__
    return f"{name} {reprlib.repr(value)}" if isinstance(value, _SHOWN) else name
