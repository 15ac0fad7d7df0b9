"""Figures of a comparison: median times, ratios within rounds, memory, verdicts on answers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Result = Mapping[str, Any]
Run = Mapping[str, Any]

ANSWER = ("edges", "weight", "checksum")
#: Tolerance of total weights: sums of floats depend on the order of addition.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Figures:
    """The figures of a code on a graph with a number of threads; None for a missing figure."""

    graph: str
    code: str
    threads: int
    #: Median over the rounds.
    seconds: float | None
    #: Median over the rounds of the time divided by that of the reference in the same round, with
    #: the same number of threads if the reference uses threads; 2 means twice the time.
    ratio: float | None
    #: Largest memory of the runs in bytes, in addition to the input if that is in memory.
    peak: int | None
    #: "agrees" or "differs" (from the answer of the reference), "failed", or "-" without an answer.
    verdict: str
    #: Errors, and differences from the answer of the reference.
    problems: tuple[str, ...]


def figures(result: Result) -> list[Figures]:
    """Return the figures of each graph, code and number of threads, in the order of the runs."""
    rows = []
    keys = dict.fromkeys((run["graph"], run["code"], run["threads"]) for run in result["runs"])
    for graph, code, threads in keys:
        of_graph = [run for run in result["runs"] if run["graph"] == graph]
        runs = [run for run in of_graph if (run["code"], run["threads"]) == (code, threads)]
        seconds = _by_round(runs)
        references = [run for run in of_graph if run["code"] == result["reference"]]
        same_threads = [run for run in references if run["threads"] == threads]
        reference = _by_round(same_threads or references)
        ratios = [seconds[turn] / reference[turn] for turn in seconds if turn in reference]
        errors = [run["error"] for run in runs if "error" in run]
        expected = _expected(of_graph, result["reference"])
        differences = [text for run in runs for text in _differences(run, expected)]
        rows.append(
            Figures(
                graph,
                code,
                threads,
                seconds=statistics.median(seconds.values()) if seconds else None,
                ratio=statistics.median(ratios) if ratios else None,
                peak=max((run["peak"] for run in runs if "peak" in run), default=None),
                verdict=_verdict(errors, differences, runs),
                problems=tuple(dict.fromkeys([*errors, *differences])),
            )
        )
    return rows


def _by_round(runs: list[Run]) -> dict[int, float]:
    return {run["round"]: run["seconds"] for run in runs if "seconds" in run}


def _expected(runs: list[Run], reference: str) -> Run:
    """Return the expected answer: of the reference if it has one, otherwise of an exact code."""
    ordered = sorted(runs, key=lambda run: (run["code"] != reference, "checksum" not in run))
    expected: dict[str, Any] = {}
    for run in ordered:
        for name in ANSWER:
            if name in run:
                expected.setdefault(name, run[name])
    return expected


def _verdict(errors: list[str], differences: list[str], runs: list[Run]) -> str:
    if errors:
        return "failed"
    if differences:
        return "differs"
    return "agrees" if any(run.keys() & set(ANSWER) for run in runs) else "-"


def _differences(run: Run, expected: Run) -> Iterator[str]:
    if "edges" in run and run["edges"] != expected["edges"]:
        yield f"{run['edges']} edges, not {expected['edges']}"
    if "weight" in run and not math.isclose(run["weight"], expected["weight"], rel_tol=TOLERANCE):
        yield f"weight {run['weight']:.10g}, not {expected['weight']:.10g}"
    elif "checksum" in run and run["checksum"] != expected["checksum"]:
        yield "other edge ids"
