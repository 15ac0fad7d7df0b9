"""Tasks: call a stage or a combination, check its fields, and note its cost."""

from __future__ import annotations

import contextlib
import pickle
import reprlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import MstflowError, PipelineError
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module
from ..runtime.device import is_on_device
from ..stages import Stage
from ..stages.fields import DType, rebuilt
from ..stages.strategies.readers import Source
from .partitions import chunks_of, with_chunks
from .report.records import Note, StageCall
from .schedulers.scheduler import add_place, worker_backend

DType.register(np.dtype)
Source.register(EdgeSource)

#: Types whose values error messages show (others could fill pages), and the number of items shown.
_SHOWN, _SHOWN_ITEMS = (bool, int, float, str, list), 12
#: Types of values that tasks receive unchanged.
_PLAIN = frozenset((int, float, bool, str, type(None)))


class Slot(NamedTuple):
    """A placeholder for item `item` of the result of another task, or for the whole result.

    `result` is the handle of the scheduler; in a task, it is the position of its argument. If the
    item is a tuple with a value for each partition, `place` is the number of the partition.
    """

    result: Any
    item: int | None = None
    place: int | None = None

    def of(self, results: Sequence[Any]) -> Any:
        """Return the value, from the arguments of the task."""
        value = results[self.result]
        value = value if self.item is None else value[self.item]
        return value if self.place is None else value[self.place]


@dataclass(slots=True)  # creating a frozen one takes three times as long
class Task:
    """A call of a stage."""

    stage: Stage
    backend: Backend
    #: The fields to read: values, `Slot` objects, or `Collected` tuples of these.
    fields: Mapping[str, Any]
    #: The position of the task in the run, for reports.
    round: int = 0
    partition: int = 0
    #: The number of partitions, for each of which an exchange needs a value.
    num_partitions: int = 1
    #: Called with a `Note`.
    note: Callable[[Note], object] | None = None
    #: Whether the fields that it writes belong to the whole graph, not to a partition.
    is_shared: bool = False
    #: Whether it may run in another process, so that its results must be in host memory.
    is_remote: bool = False
    #: The position in the order of submission.
    number: int = 0
    #: Saves unfinished work, for a function with a parameter of this name.
    record: Any = None

    def __call__(self, *results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run on the results of other tasks; return the fields that the stage writes."""
        try:
            backend = worker_backend(self.backend) if self.is_remote else self.backend
            ops = array_module(backend)
            fields = {name: _loaded(ops, results, value) for name, value in self.fields.items()}
            lengths = _lengths(self.stage, fields)
            start = time.perf_counter()
            result = self._run(ops, fields)
            seconds = time.perf_counter() - start
            outputs = self._checked(result, lengths)
            if self.note is not None:
                num_bytes, name = _num_bytes((*fields.values(), *outputs)), self.stage.name
                call = StageCall(self.round, name, self.partition, seconds, num_bytes)
                shown = self.stage.reported if self.is_shared else ()
                scalars = {name: outputs[place] for place, name in shown}
                self.note(Note(self.number, call, scalars))
            return on_host(ops, outputs) if self.is_remote else outputs
        except MemoryError:
            raise
        except Exception as error:
            add_place(error, self.stage.name, on_cluster=self.is_remote)
            raise

    def _run(self, ops: Any, fields: dict[str, Any]) -> tuple[Any, ...]:
        """Run the stage; convert errors of other packages to one that shows the fields it read."""
        try:
            return self.stage.run(ops, self.record, fields)
        except (MemoryError, MstflowError):
            raise
        except Exception as error:  # a stage may raise anything
            cause = error
        # Raise outside the handler: it would set `__context__`, which may not be picklable.
        raise self._failure(fields, cause)

    def _checked(self, result: tuple[Any, ...], lengths: dict[str, int]) -> tuple[Any, ...]:
        """Return the result as plain values, checked against the declaration."""
        writes, stage = self.stage.writes, self.stage.title
        outputs = tuple([_plain(value) for value in result])
        if len(outputs) != len(writes):
            raise PipelineError(f"{stage}: returned {len(outputs)} fields, not {len(writes)}")
        if lengths:
            for name in writes:
                lengths.pop(name, None)  # it may be the length of an axis
        for (name, declared), value in zip(writes.items(), outputs, strict=True):
            if not declared.holds(value):
                raise PipelineError(
                    f"{stage}: wrote {name!r} as {_shown(value)}, not as {declared}"
                )
            is_tuple = isinstance(value, tuple)
            if self.stage.is_exchange and not (is_tuple and len(value) == self.num_partitions):
                raise PipelineError(
                    f"{stage}: wrote {name!r} as {_shown(value)}, not as a tuple with a value for "
                    f"each of num_partitions = {self.num_partitions}"
                )
            if declared.axis and len(value) != lengths.setdefault(declared.axis, len(value)):
                raise PipelineError(
                    f"{stage}: wrote {name!r} with {len(value)} entries, but axis "
                    f"{declared.axis.removeprefix('num_')} "
                    f"has length {lengths[declared.axis]}"
                )
        return outputs

    def _failure(self, fields: dict[str, Any], cause: Exception) -> PipelineError:
        """Return an error that shows the fields that the failed stage read."""
        shown = (f"{name}: {_shown(value)}" for name, value in fields.items())
        reason = f"{type(cause).__name__}: {cause}"
        failure = PipelineError(f"stage {self.stage.name!r} failed on {', '.join(shown)}: {reason}")
        with contextlib.suppress(Exception):  # some errors cannot be pickled
            pickle.dumps(cause)
            failure.__cause__ = cause
        return failure


def _loaded(ops: Any, results: tuple[Any, ...], value: Any) -> Any:
    """Replace slots by results, and NumPy arrays by arrays of the module, also within a tuple."""
    if type(value) in _PLAIN:
        return value
    if type(value) is Slot:
        value = value.of(results)
    if isinstance(value, np.ndarray):
        return ops.asarray(value)
    if isinstance(value, EdgeSource):
        if results and any(type(chunk) is Slot for chunk in chunks_of(value)):
            return with_chunks(value, (slot.of(results) for slot in chunks_of(value)))
        return value
    if isinstance(value, tuple):
        return rebuilt(value, [_loaded(ops, results, each) for each in value])
    return value.item() if isinstance(value, np.generic) else value  # such as a limit


def on_host(ops: Any, value: Any) -> Any:
    """Copy an array on a GPU, or those in a tuple, to host memory."""
    if isinstance(value, tuple):
        return rebuilt(value, map(partial(on_host, ops), value))
    return ops.to_host(value) if is_on_device(value) else value


def _num_bytes(values: tuple[Any, ...]) -> int:
    """Return the bytes of all arrays in a tuple, also in tuples and records within it."""
    total = 0
    for value in values:
        size = _num_bytes(value) if isinstance(value, tuple) else getattr(value, "nbytes", 0)
        total += size if isinstance(size, int) else 0  # np.float64.nbytes is not an int
    return total


def _plain(value: Any) -> Any:
    """Convert a scalar of an array library to Python's; return other values unchanged."""
    has_no_axes = type(value) not in _PLAIN and getattr(value, "ndim", 1) == 0
    return value.item() if has_no_axes and hasattr(value, "item") else value  # not a dtype


def _lengths(stage: Stage, fields: dict[str, Any]) -> dict[str, int]:
    """Check the fields that a stage reads; return the length of each axis."""
    lengths: dict[str, tuple[str, int]] = {name: (name, fields[name]) for name in stage.axes}
    for name, declared in stage.reads.items():
        if not declared.holds(fields[name]):
            read = f"reads {name!r} as {declared}, but it is {_shown(fields[name])}"
            raise PipelineError(f"stage {stage.name!r}: {read}")
        if declared.axis:
            length = len(fields[name])
            first, known = lengths.setdefault(declared.axis, (name, length))
            if length != known:
                raise PipelineError(
                    f"stage {stage.name!r}: {first!r} has {known} entries and {name!r} has "
                    f"{length}, but both must have the length of axis "
                    f"{declared.axis.removeprefix('num_')}"
                )
    return {axis: length for axis, (_, length) in lengths.items()}


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
