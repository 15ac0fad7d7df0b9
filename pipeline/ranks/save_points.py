"""Save points: states of a run with ranks from which another run can go on.

All ranks take the same decisions, so the verdicts so far are a position in the run. Ranks exchange
values between two save points, so none is ahead of another one by more than one save point. Each
rank keeps its last two, and a run resumes at the last one that all ranks have.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...stages import fields
from ..streaming.checkpoint import Record

#: A function that sends a value to each rank and returns what all ranks sent to this one.
Exchange = Callable[[Sequence[Any]], list[Any]]
#: Seconds of a save up to which the interval between two saves is that of a record. It grows in
#: proportion to longer saves, which so take a tenth of the time at most.
_SHORT_SAVE = 2.0


@dataclass
class SavePoint:
    """The state of a rank after a verdict, without fields that it computes before the first one."""

    verdicts: tuple[bool, ...]
    shared: dict[str, Any]
    partition: dict[str, Any]
    #: The round, and the counts of the report: the latest ones, and those before each round.
    round: int
    counts: dict[str, Any]
    counts_before: tuple[dict[str, Any], ...]


@dataclass
class SavePoints:
    """The records of a rank with its last two save points; the first is replaced next."""

    records: list[Record]
    #: Identifies the run: workers of another one may have ordered equal values differently.
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    _saved_at: float = field(default_factory=time.monotonic)
    #: The duration of the last save.
    _seconds: float = 0.0

    @property
    def is_due(self) -> bool:
        """Whether there is enough work since the last save."""
        interval = self.records[0].seconds * max(1.0, self._seconds / _SHORT_SAVE)
        return time.monotonic() - self._saved_at >= interval

    def last(self, send: Exchange, ranks: int) -> SavePoint | None:
        """Return the last save point that all ranks have; None if there is none."""
        found: dict[tuple[int, str], tuple[Record, SavePoint]] = {}
        for record in self.records:
            if (saved := record.load()) is not None:
                arrays, state = saved
                point = SavePoint(**_with_arrays(state["point"], arrays))
                found[len(point.verdicts), state["run"]] = record, point
        received = send([(self.run, {*found})] * ranks)
        self.run = received[0][0]
        common = set.intersection(*(positions for _, positions in received))
        if not common:
            return None
        kept, point = found[max(common)]
        self.records.sort(key=kept.__eq__)
        return point

    def save(self, point: SavePoint) -> None:
        """Replace the older save point."""
        start, arrays = time.monotonic(), list[Any]()
        state = {"run": self.run, "point": _without_arrays(vars(point), arrays)}
        self.records[0].save(arrays, state)
        self.records.reverse()
        self._saved_at = time.monotonic()
        self._seconds = self._saved_at - start


def _without_arrays(value: Any, arrays: list[Any]) -> Any:
    """Append arrays to a list, and return a value for JSON: tuples as lists with their names."""
    if isinstance(value, dict):
        return {name: _without_arrays(each, arrays) for name, each in value.items()}
    if isinstance(value, tuple):
        return [type(value).__name__, *(_without_arrays(each, arrays) for each in value)]
    if getattr(value, "ndim", 0):
        arrays.append(value)
        return [len(arrays) - 1]
    return value


def _with_arrays(value: Any, arrays: Sequence[Any]) -> Any:
    """Return the value of which `_without_arrays` returned this one."""
    if isinstance(value, dict):
        return {name: _with_arrays(each, arrays) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    first, *items = value
    if isinstance(first, int):
        return arrays[first]
    kind = getattr(fields, first, tuple)
    return getattr(kind, "_make", kind)(_with_arrays(each, arrays) for each in items)
