"""Records of a run: the cost of each call of a stage, and the scalars that it wrote."""

from __future__ import annotations

from typing import Any, NamedTuple


class StageCall(NamedTuple):
    """One call of a stage. `part` numbers the partitions from 0; for `round` see `Round`.

    Its cost is `seconds`, and the `bytes` of the arrays that it read and wrote.
    """

    round: int
    stage: str
    part: int
    seconds: float
    bytes: int


class Note(NamedTuple):
    """A task's number and cost, and the scalars that it wrote for the whole graph."""

    number: int
    call: StageCall
    scalars: dict[str, Any]
