"""The counts of a campaign, in a file that a later campaign adds to."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: The number of failures of a kind that are stored; further failures are only counted.
KEPT = 50


@dataclass
class Counts:
    """The counts of all campaigns so far.

    Attributes
    ----------
    runs : list of dict
        Commit, options, minutes and times of each campaign.
    cases, failed, seconds : Counter
        By kind.
    events : dict of Counter
        By kind, the number of events of each name.
    begun : dict of Counter
        By seed, the number of cases of each kind that have begun. The next campaign continues
        there.
    failures : list of dict
        Kind, seed and number of a case, the error, the choices, and the command to repeat it.
    """

    runs: list[dict[str, Any]] = field(default_factory=list)
    cases: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    events: dict[str, Counter[str]] = field(default_factory=dict)
    begun: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path | None) -> Counts:
        """Return the counts of a file; empty if the file does not exist."""
        if path is None or not path.exists():
            return cls()
        known = json.loads(path.read_text())
        for name in ("cases", "failed", "seconds"):
            known[name] = Counter(known[name])
        for name in ("events", "begun"):
            known[name] = {key: Counter(values) for key, values in known[name].items()}
        return cls(**known)

    def save(self, path: Path | None) -> None:
        """Write the file atomically."""
        if path is None:
            return
        draft = path.with_name(f"{path.name}.draft")
        draft.write_text(json.dumps(vars(self), indent=1, sort_keys=True) + "\n")
        draft.replace(path)

    def next_case(self, kind: str, seed: int) -> int:
        """Return the number of the next case of a kind, and count it as begun."""
        begun = self.begun.setdefault(str(seed), Counter())
        begun[kind] += 1
        return begun[kind] - 1

    def add(self, kind: str, seconds: float, events: dict[str, int]) -> None:
        """Count a case that has ended."""
        self.cases[kind] += 1
        self.seconds[kind] += seconds
        self.events.setdefault(kind, Counter()).update(events)

    def add_failure(self, failure: dict[str, Any]) -> None:
        """Count a case that failed."""
        self.failed[failure["kind"]] += 1
        if self.failed[failure["kind"]] <= KEPT:
            self.failures.append(failure)

    def __str__(self) -> str:
        lines = (
            f"{kind}: {count:,} cases, {self.failed[kind]:,} failed, {self.seconds[kind]:,.0f} s"
            for kind, count in sorted(self.cases.items())
        )
        return "\n".join(lines)
