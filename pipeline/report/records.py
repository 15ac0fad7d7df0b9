"""Records of a run: the cost of each call of a stage, and the scalars that it wrote."""

from __future__ import annotations

from typing import Any, NamedTuple


class Work(NamedTuple):
    """The cost of one call of a stage: seconds, and bytes of the arrays that it read and wrote."""

    seconds: float
    bytes: int


class StageCall(NamedTuple):
    """One call of a stage. `part` numbers the partitions from 0; for `round` see `Round`."""

    round: int
    stage: str
    part: int
    work: Work


class Note(NamedTuple):
    """A task's number and cost, and the scalars that it wrote for the whole graph."""

    number: int
    call: StageCall
    scalars: dict[str, Any]
