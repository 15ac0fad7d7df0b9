"""One call of a stage, as a task: load its fields, call it, check what it wrote, note the cost."""

from __future__ import annotations

import contextlib
import pickle
import time
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from ...errors import PipelineError
from ...primitives import array_module
from ...stages.declare import combine_parts
from . import scratch
from .report import Work
from .workers import device_errors, worker_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...primitives import Backend
    from ...stages import Stage
    from ...stages.fields import Field

_ARRAY_KINDS = {"index": "i", "key": "u", "flag": "b", "weight": "biuf"}


def call_stage(stage: Stage, backend: Backend, folder: str | None, *values: Any) -> tuple[Any, ...]:
    """Call `stage` on the values of its reads and return what it writes, then its `Work`.

    Raises
    ------
    PipelineError
        If the stage fails, or what it reads or writes is not as declared. Names the stage, and the
        dtype and length of every field it was given.
    """
    with device_errors(stage.name):
        ops = array_module(worker_backend(backend))
        fields = dict(zip(stage.reads, scratch.load(values, ops), strict=True))
        lengths = _lengths(stage, fields)
        start = time.perf_counter()
        arguments = {"ops": ops, **fields} if stage.takes_ops else fields
        result = _attempt(stage, fields.items(), partial(stage.function, **arguments))
        seconds = time.perf_counter() - start
        is_several = len(stage.writes) > 1 and isinstance(result, tuple)
        outputs = tuple(map(_plain, result if is_several else (result,)))
        _check_outputs(stage, outputs, lengths)
        moved = sum(getattr(value, "nbytes", 0) for value in (*fields.values(), *outputs))
        return (*scratch.store(outputs, folder, ops), Work(seconds, moved))


def combine_results(
    stage: Stage, backend: Backend, folder: str | None, *results: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Join what `stage` wrote in several parts, by the combination it declares."""
    with device_errors(stage.name):
        ops, join = array_module(worker_backend(backend)), combine_parts(stage)
        written = [scratch.load(result[: len(stage.writes)], ops) for result in results]
        parts = (field for part in written for field in zip(stage.writes, part, strict=True))
        joined = _attempt(stage, parts, partial(reduce, partial(join, ops), written))
        return tuple(scratch.store(_plain(output), folder, ops) for output in joined)


def _attempt(stage: Stage, fields: Iterable[tuple[str, Any]], function: Callable[[], Any]) -> Any:
    """Call a function; if it fails, say so with the stage and what it was given."""
    try:
        return function()
    except MemoryError:
        raise
    except Exception as error:  # a stage may raise anything
        cause = error
    given = ", ".join(f"{name}: {_shown(value)}" for name, value in fields)
    message = f"stage {stage.name!r} failed on {given}: {type(cause).__name__}: {cause}"
    failure = PipelineError(message)
    # Some errors cannot be sent to another process; raised here, none is left as the context.
    with contextlib.suppress(Exception):
        pickle.dumps(cause)
        failure.__cause__ = cause
    raise failure


def _plain(value: Any) -> Any:
    """Return a scalar of any array library as Python's; arrays as they are."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _lengths(stage: Stage, fields: dict[str, Any]) -> dict[str, int]:
    """Check the fields a stage reads, and return the length of each axis among them."""
    lengths: dict[str, tuple[str, int]] = {}
    if "num_vertices" in stage.reads:
        lengths["vertices"] = ("num_vertices", fields["num_vertices"])
    for name, declared in stage.reads.items():
        if not _is_kind(fields[name], declared):
            shown = _shown(fields[name])
            message = f"stage {stage.name!r}: reads {name!r} as {declared}, but it is {shown}"
            raise PipelineError(message)
        if not declared.axis:
            continue
        length = len(fields[name])
        first, known = lengths.setdefault(declared.axis, (name, length))
        if length != known:
            message = (
                f"stage {stage.name!r}: {first!r} and {name!r} both run along {declared.axis}, "
                f"but have {known} and {length} entries"
            )
            raise PipelineError(message)
    return {axis: length for axis, (_, length) in lengths.items()}


def _check_outputs(stage: Stage, outputs: tuple[Any, ...], lengths: dict[str, int]) -> None:
    if len(outputs) != len(stage.writes):
        message = f"stage {stage.name!r}: returned {len(outputs)} fields, not {len(stage.writes)}"
        raise PipelineError(message)
    lengths = {axis: length for axis, length in lengths.items() if axis not in stage.resizes}
    for (name, declared), value in zip(stage.writes.items(), outputs, strict=True):
        if not _is_kind(value, declared):
            message = f"stage {stage.name!r}: wrote {name!r} as {_shown(value)}, not as {declared}"
            raise PipelineError(message)
        if declared.axis and len(value) != lengths.setdefault(declared.axis, len(value)):
            message = (
                f"stage {stage.name!r}: wrote {name!r} with {len(value)} entries, but along "
                f"{declared.axis} there are {lengths[declared.axis]}"
            )
            raise PipelineError(message)


def _is_kind(value: Any, declared: Field) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if declared.kind in _ARRAY_KINDS:
        is_array = getattr(value, "ndim", 0) == 1 and kind != ""
        return is_array and kind in _ARRAY_KINDS[declared.kind]
    if declared.kind == "verdict":
        return isinstance(value, bool)
    if declared.kind == "count":
        return isinstance(value, int) and not isinstance(value, bool)
    return kind in ("", *"biuf") and (not declared.axis or hasattr(value, "__len__"))


def _shown(value: Any) -> str:
    if type(value) is tuple:
        return f"({', '.join(map(_shown, value))})"
    if hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return f"{type(value).__name__} {value!r}"
