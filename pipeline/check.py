"""The check before a run: that every stage finds what it reads, of the right axis and kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import PipelineError
from ..stages import Stage
from ..stages.fields import ANYTHING, PART_AXES, Field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .steps import Loop

#: The fields every pipeline starts from; those along an axis lie in the parts of the edge list.
INPUTS = {
    "u": Field("edges", "index"),
    "v": Field("edges", "index"),
    "weight": Field("edges", "weight"),
    "edge_id": Field("edges", "index"),
    "num_vertices": Field("", "count"),
    "maximum": Field("", "verdict"),
}
_NUMBERS = {"index", "key", "weight"}
_SCALARS = {"count", "verdict"}


@dataclass(frozen=True)
class _Known:
    """A field that exists at some point of the pipeline; `lost` says why it no longer does."""

    field: Field
    in_parts: bool
    lost: str = ""


@lru_cache(maxsize=64)  # a pipeline is checked before every run, and never changes
def check(
    pipeline: str, steps: tuple[Stage | Loop, ...], values: tuple[str, ...], result: tuple[str, ...]
) -> None:
    """Follow every field through the steps of a pipeline, loops twice, to its result.

    Raises
    ------
    PipelineError
        Naming the stage and the field: read before it is written, lost to a resized axis, of
        another axis or kind, left in the parts where it is needed whole.
    """
    known = {name: _Known(field, bool(field.axis)) for name, field in INPUTS.items()}
    known |= {name: _Known(ANYTHING, False) for name in values}
    known = _after_steps(steps, known)
    for name in result:
        reader = f"pipeline {pipeline!r}: its result"
        if _find(known, name, reader).in_parts:
            message = f"{reader} {name!r} is left in the parts of the edge list"
            raise PipelineError(message)


def _after_steps(steps: Iterable[Stage | Loop], known: dict[str, _Known]) -> dict[str, _Known]:
    for step in steps:
        if isinstance(step, Stage):
            known = _after_stage(step, known)
        else:
            known = _after_loop(step, known)
    return known


def _after_loop(loop: Loop, before: dict[str, _Known]) -> dict[str, _Known]:
    until = loop.until
    written = list(until.writes.values())
    if len(written) != 1 or until.stays_in_parts or not _fits(written[0], Field("", "verdict")):
        message = f"stage {until.name!r}: ends a loop, so it must write one verdict for all parts"
        raise PipelineError(message)
    skipped = _after_stage(until, before)
    entered = skipped
    for _ in range(2):  # the second pass meets what the first one left
        entered = _after_stage(until, _after_steps(loop.steps, entered))
    return {name: _after_either(skipped.get(name), entry) for name, entry in entered.items()}


def _after_either(skipped: _Known | None, entered: _Known) -> _Known:
    """Return what is known of a field after a loop, which may make no pass."""
    if skipped is None:
        return replace(entered, lost="written only inside a loop, which may make no pass")
    if entered.lost or skipped.lost:
        return entered if entered.lost else skipped
    if entered != skipped:
        return replace(entered, lost="changed in kind by a loop, which may make no pass")
    return entered


def _after_stage(stage: Stage, known: dict[str, _Known]) -> dict[str, _Known]:
    reader = f"stage {stage.name!r}"
    for name, wanted in stage.reads.items():
        entry = _find(known, name, reader)
        if not _fits(entry.field, wanted):
            message = f"{reader}: reads {name!r} as {wanted}, but it is {entry.field}"
            raise PipelineError(message)
        if entry.in_parts and stage.over == "vertices":
            message = (
                f"{reader}: runs once over vertices, but {name!r} lies in the parts of the edge "
                "list; declare over='edges' and, if it gives one result, combine=..."
            )
            raise PipelineError(message)
    for name, field in stage.writes.items():
        if field.axis in PART_AXES and not stage.stays_in_parts:
            message = f"{reader}: writes {name!r} along {field.axis}, which only parts have"
            raise PipelineError(message)
    lost = f"lost when {stage.name!r} resized the "
    after = {
        name: _Known(entry.field, entry.in_parts, entry.lost or lost + entry.field.axis)
        if entry.field.axis in stage.resizes
        else entry
        for name, entry in known.items()
    }
    return after | {
        name: _Known(field, stage.stays_in_parts) for name, field in stage.writes.items()
    }


def _find(known: dict[str, _Known], name: str, reader: str) -> _Known:
    if name not in known:
        message = f"{reader}: reads {name!r}, which no earlier stage writes"
        raise PipelineError(message)
    if known[name].lost:
        message = f"{reader}: reads {name!r}, which was {known[name].lost}"
        raise PipelineError(message)
    return known[name]


def _fits(found: Field, wanted: Field) -> bool:
    if "any" in (found.kind, wanted.kind):
        return not (found.axis and wanted.axis) or found.axis == wanted.axis
    if found.kind in _SCALARS or wanted.kind in _SCALARS:
        return found.kind == wanted.kind
    same_kind = found.kind == wanted.kind or (wanted.kind == "weight" and found.kind in _NUMBERS)
    return same_kind and (not wanted.axis or found.axis in ("", wanted.axis))
