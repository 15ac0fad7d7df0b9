"""What a run did: vertices and edges of every round, time and bytes of every stage, counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Work(NamedTuple):
    """What one call of a stage cost: seconds, and bytes of the arrays it read and wrote."""

    seconds: float
    bytes: int


class StageCall(NamedTuple):
    """One call of a stage on one part of the edge list."""

    round: int
    stage: str
    part: int
    work: Work


class Round(NamedTuple):
    """One pass of a loop: what it began with, and the seconds and bytes of its stages.

    Round 0 is what comes before the loop. `vertices` and `edges` are None in runs that have no
    such counts, as in a merge tree, where rounds are the levels of the tree.
    """

    number: int
    vertices: int | None
    edges: int | None
    seconds: dict[str, float]
    bytes: int


@dataclass
class Report:
    """What was planned, the stage calls in order, and the counts of every round and at the end.

    In a merge tree there are no counts.
    """

    calls: list[StageCall] = field(default_factory=list)
    counts: dict[int, dict[str, int]] = field(default_factory=dict)
    final: dict[str, int] = field(default_factory=dict)
    plan: str = ""

    @property
    def rounds(self) -> list[Round]:
        """The calls gathered by round, parts added up."""
        rounds = []
        for number in dict.fromkeys(call.round for call in self.calls):
            calls = [call for call in self.calls if call.round == number]
            seconds: dict[str, float] = {}
            for call in calls:
                seconds[call.stage] = seconds.get(call.stage, 0.0) + call.work.seconds
            counts = self.counts.get(number, {})
            moved = sum(call.work.bytes for call in calls)
            rounds.append(
                Round(number, counts.get("num_vertices"), counts.get("num_edges"), seconds, moved)
            )
        return rounds

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds per stage, over all rounds and parts."""
        total: dict[str, float] = {}
        for call in self.calls:
            total[call.stage] = total.get(call.stage, 0.0) + call.work.seconds
        return total

    def __str__(self) -> str:
        lines = [self.plan] if self.plan else []
        lines += [f"{'round':>5} {'vertices':>12} {'edges':>12} {'ms':>10} {'MB':>10}"]
        for row in self.rounds:
            sizes = ["" if count is None else f"{count:,}" for count in (row.vertices, row.edges)]
            spent, moved = sum(row.seconds.values()) * 1e3, row.bytes / 1e6
            lines.append(
                f"{row.number:>5} {sizes[0]:>12} {sizes[1]:>12} {spent:>10.1f} {moved:>10.1f}"
            )
        lines += ["", f"{'stage':<30} {'ms':>10}"]
        lines += [f"{name:<30} {spent * 1e3:>10.1f}" for name, spent in self.seconds.items()]
        lines += ["", f"{'at the end':<30} {'count':>10}"]
        lines += [f"{name:<30} {count:>10,}" for name, count in self.final.items()]
        return "\n".join(lines)
