"""Reports: the plan, numbers of vertices and edges by round, time and bytes by stage, counts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..planning.plan import Plan
from .records import StageCall
from .tables import Table, as_html, as_text


class Round(NamedTuple):
    """One pass of a loop, or the part of the run before the first loop, which is round 0."""

    number: int
    #: The numbers of vertices and edges at the beginning; None if no stage counts them.
    vertices: int | None
    edges: int | None
    #: The seconds of each stage, summed over all partitions and calls.
    seconds: dict[str, float]
    #: The bytes of the arrays that stages read and wrote.
    bytes: int


@dataclass(repr=False)
class Report:
    """The report of a run."""

    #: The calls of stages, in the order of submission.
    calls: list[StageCall] = field(default_factory=list)
    #: For each round, the single values (integers and floats) that stages wrote before it. See
    #: `after`.
    counts: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: These values at the end of the run.
    final: dict[str, Any] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)

    @property
    def rounds(self) -> list[Round]:
        """The calls by round, summed over partitions."""
        calls_of: dict[int, list[StageCall]] = {}
        for call in self.calls:
            calls_of.setdefault(call.round, []).append(call)
        rounds = []
        for number, calls in calls_of.items():
            counts, num_bytes = self.counts.get(number, {}), sum(call.bytes for call in calls)
            vertices, edges = counts.get("num_vertices"), counts.get("num_edges")
            rounds.append(Round(number, vertices, edges, _seconds(calls), num_bytes))
        return rounds

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds per stage, over all rounds and partitions."""
        return _seconds(self.calls)

    def after(self, round: int) -> dict[str, Any]:  # noqa: A002  # public name, as in `Round`
        """Return the counts that stages had written by the end of a round."""
        return self.counts.get(round + 1, self.final)

    def _tables(self) -> list[Table]:
        seconds = self.seconds
        stages = [(name, f"{took * 1e3:,.1f}") for name, took in seconds.items()]
        tables = [
            self._table_of_rounds(),
            Table(("stage", "ms"), stages, _shares(seconds.values())),
        ]
        if self.final:
            totals = [(name, _count_text(count)) for name, count in self.final.items()]
            tables.append(Table(("at the end", "count"), totals, []))
        return tables

    def _table_of_rounds(self) -> Table:
        """Return the table of the rounds, with a column for each other count that varies."""
        rounds = self.rounds
        seconds = [sum(row.seconds.values()) for row in rounds]
        after = [self.after(row.number) for row in rounds]
        others = (name for name in self.final if name not in ("num_vertices", "num_edges"))
        varying = [name for name in others if len({counts.get(name) for counts in after}) > 1]
        lines = []
        for row, took, counts_after in zip(rounds, seconds, after, strict=True):
            counts = (row.vertices, row.edges, *(counts_after.get(name) for name in varying))
            costs = f"{row.bytes / 1e6:,.1f}", f"{took * 1e3:,.1f}"
            lines.append((str(row.number), *map(_count_text, counts), *costs))
        return Table(("round", "vertices", "edges", *varying, "MB", "ms"), lines, _shares(seconds))

    def __repr__(self) -> str:
        return as_text(self._heading, self._tables())

    def _repr_html_(self) -> str:
        return as_html(self._heading, self._tables())

    @property
    def _heading(self) -> str:
        plan = self.plan
        return f"{plan.algorithm} on {plan.backend}, {plan}" if plan.algorithm else str(plan)


class Outcome(NamedTuple):
    """The result of a run: fields by name, and the report."""

    fields: dict[str, Any]
    report: Report


def _seconds(calls: Sequence[StageCall]) -> dict[str, float]:
    """Return the seconds of each stage, in the order of its first call."""
    total: dict[str, float] = {}
    for call in calls:
        total[call.stage] = total.get(call.stage, 0.0) + call.seconds
    return total


def _shares(seconds: Collection[float]) -> list[float]:
    """Return each of several times as a share of their sum."""
    total = sum(seconds) or 1.0
    return [took / total for took in seconds]


def _count_text(count: int | None) -> str:
    return "" if count is None else f"{count:,}"
