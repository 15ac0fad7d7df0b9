"""What the runs of a record say: times, ratios, memory, and whether the answers agree.

A record is what `compare.py` keeps as JSON: `graphs` by name, and `runs`, each of a graph, a code,
a number of threads and a round.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from floor import gather_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Record = Mapping[str, Any]
    Run = Mapping[str, Any]

#: Bytes for each vertex that a solver may use before its memory is put down to edges.
VERTEX_BYTES = 64
ANSWER = ("edges", "weight", "checksum")
#: Sums of floating weights differ by the order in which they are added.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Row:
    """The figures of a code on a graph with a number of threads; None where there are none.

    Attributes
    ----------
    graph, code : str
    threads : int
    minimum, median : float
        Seconds.
    ratio : float
        Median over the rounds of its time by the reference's time in the same round.
    bytes_per_edge : float
        Largest peak beyond the input.
    bytes_beyond : float
        The same, less `VERTEX_BYTES` for each vertex.
    floor_share : float
        The floor's time (see `floor_seconds`) by the minimum.
    solver : str
        What mstflow chose.
    verdict : str
        "agrees", "differs" (from the answer of the reference), "failed", or "-" if it told none.
    complaints : tuple of str
        What failed and what differs; empty if nothing.
    """

    graph: str
    code: str
    threads: int
    minimum: float | None
    median: float | None
    ratio: float | None
    bytes_per_edge: float | None
    bytes_beyond: float | None
    floor_share: float | None
    solver: str
    verdict: str
    complaints: tuple[str, ...]


def rows(record: Record, graph: str) -> list[Row]:
    """Return a row for each number of threads and code, in the order of the runs."""
    runs = [run for run in record["runs"] if run["graph"] == graph]
    names = list(dict.fromkeys(run["code"] for run in runs))
    expected = _expected(runs, record["reference"])
    table = []
    for threads in sorted({run["threads"] for run in runs}):
        by_code = {
            name: [run for run in runs if (run["threads"], run["code"]) == (threads, name)]
            for name in names
        }
        for own in by_code.values():
            if own:
                reference = by_code.get(record["reference"], [])
                floor = floor_seconds(record, graph, threads)
                table.append(_row(own, reference, expected, record["graphs"][graph], floor))
    return table


def floor_seconds(record: Record, graph: str, threads: int) -> float | None:
    """Return how long it takes to read all columns once and look up both ends of every edge.

    Any code must do at least this, on memory as fast as `floor.py` found it; where neighbours lie
    near each other, caches answer sooner.
    """
    rates = next((each for each in record.get("floor", []) if each["threads"] == threads), None)
    if rates is None:
        return None
    facts = record["graphs"][graph]
    width = 2 * np.dtype(facts["ids"]).itemsize + np.dtype(facts["weights"]).itemsize
    reading = facts["edges"] * width / (rates["read_gb_per_s"] * 1e9)
    return float(reading + 2 * facts["edges"] * gather_seconds(rates, facts["vertices"]))


def summary(record: Record) -> dict[tuple[str, int], tuple[float, int]]:
    """Return the geometric mean of the ratios, and of how many graphs, by code and threads."""
    ratios: dict[tuple[str, int], list[float]] = {}
    for graph in record["graphs"]:
        for row in rows(record, graph):
            if row.ratio is not None:
                ratios.setdefault((row.code, row.threads), []).append(row.ratio)
    return {key: (statistics.geometric_mean(all_), len(all_)) for key, all_ in ratios.items()}


def _row(
    own: list[Run],
    reference: list[Run],
    expected: Run,
    graph: Mapping[str, Any],
    floor: float | None,
) -> Row:
    seconds = {run["round"]: run["seconds"] for run in own if "seconds" in run}
    rival = {run["round"]: run["seconds"] for run in reference if "seconds" in run}
    ratios = [seconds[each] / rival[each] for each in seconds if each in rival]
    peaks = [run["peak"] for run in own if "peak" in run]
    peak = max(peaks) if peaks else None
    edges, vertices = max(graph["edges"], 1), graph["vertices"]
    errors = [run["error"] for run in own if "error" in run]
    differences = [text for run in own for text in _differences(run, expected)]
    return Row(
        own[0]["graph"],
        own[0]["code"],
        own[0]["threads"],
        minimum=min(seconds.values(), default=None),
        median=statistics.median(seconds.values()) if seconds else None,
        ratio=statistics.median(ratios) if ratios else None,
        bytes_per_edge=None if peak is None else peak / edges,
        bytes_beyond=None if peak is None else (peak - VERTEX_BYTES * vertices) / edges,
        floor_share=floor / min(seconds.values()) if floor and seconds else None,
        solver=", ".join(dict.fromkeys(run["solver"] for run in own if "solver" in run)),
        verdict=_verdict(errors, differences, own),
        complaints=tuple(dict.fromkeys([*errors, *differences])),
    )


def _expected(runs: list[Run], reference: str) -> Run:
    """Return the answer to compare with: the reference's, or else that of an exact code."""
    ordered = sorted(runs, key=lambda run: (run["code"] != reference, "checksum" not in run))
    found: dict[str, Any] = {}
    for run in ordered:
        for name in ANSWER:
            if name in run:
                found.setdefault(name, run[name])
    return found


def _verdict(errors: list[str], differences: list[str], own: list[Run]) -> str:
    if errors:
        return "failed"
    if differences:
        return "differs"
    return "agrees" if any(run.keys() & set(ANSWER) for run in own) else "-"


def _differences(run: Run, expected: Run) -> Iterator[str]:
    if "edges" in run and run["edges"] != expected["edges"]:
        yield f"{run['edges']} edges, not {expected['edges']}"
    if "weight" in run and not math.isclose(run["weight"], expected["weight"], rel_tol=TOLERANCE):
        yield f"weight {run['weight']:.10g}, not {expected['weight']:.10g}"
    elif "checksum" in run and run["checksum"] != expected["checksum"]:
        yield "other edge ids"
