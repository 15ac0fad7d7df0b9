"""The choice of "auto" for points, compared with all alternatives, in fresh processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .measure import Benchmark, Row, in_turn, program
from .tables import Table, milliseconds

#: The data sets: an expression of a random generator `r`, and of the numbers of points and axes.
DATA = {
    "normal": "r.normal(size=(n, axes))",
    "50 clusters": "r.normal(size=(n, axes)) + 10 * r.normal(size=(50, axes))[np.arange(n) % 50]",
    "near 10 axes": "np.tanh(r.normal(size=(n, 10)) @ r.normal(size=(10, 64)) / 3)"
    " @ r.normal(size=(64, axes)) / 8 + .02 * r.normal(size=(n, axes))",
}
#: The options of each choice.
CHOICES = {
    "auto": "{}",
    "NumPy": "{'backend': 'numpy'}",
    "tree": "{'backend': 'numba', 'algorithm': 'boruvka-points'}",
    "tree on 12 axes": "{'backend': 'numba', 'algorithm': projected}",
    "blocks": "{'backend': 'numba', 'algorithm': 'boruvka-blocks'}",
}
_PROGRAM = """
import json, sys, time
import numpy as np
n, axes = map(int, sys.argv[1:3])
r = np.random.default_rng(0)
x = {data}
seconds = []
for _ in range(4):
    start = time.perf_counter()
    import mstflow
    projected = mstflow.algorithm("boruvka-points").given(search_axes=min(12, axes - 1))
    mstflow.minimum_spanning_forest(mstflow.points(x), progress=False, **{options})
    seconds.append(time.perf_counter() - start)
print(json.dumps({{"first": seconds[0], "seconds": min(seconds[1:])}}))
"""


def rows(
    cases: Sequence[Sequence[object]],
    limit: float,
    rounds: int = 1,
    choices: Sequence[str] = tuple(CHOICES),
) -> Iterator[Row]:
    """Yield the seconds of the first solve of a process, and those of the fastest later one.

    `cases` are data sets, numbers of axes and of points. A process is stopped after `limit`
    seconds. The time to compile kernels is not included: the first round is not recorded.
    """
    calls = []
    for (data, axes, points), choice in itertools.product(cases, choices):
        text = _PROGRAM.format(data=DATA[str(data)], options=CHOICES[choice])
        names = {"points": points, "axes": axes, "data": data, "choice": choice}
        calls.append((names, program(text, points, axes, limit=limit, touched=0)))
    return in_turn(calls, rounds, warm_ups=1)


_LINES = ("points", "axes", "data"), ("choice",)
BENCHMARK = Benchmark(
    "the choice for points, compared with all alternatives",
    rows,
    {
        "cases": [
            ["normal", 2, 10],
            ["normal", 2, 1000],
            ["normal", 2, 3000],
            ["normal", 2, 10_000],
            ["normal", 2, 100_000],
            ["normal", 2, 1_000_000],
            ["normal", 10, 50_000],
            ["normal", 32, 1000],
            ["normal", 32, 10_000],
            ["50 clusters", 32, 20_000],
            ["near 10 axes", 32, 20_000],
            ["normal", 128, 10_000],
            ["near 10 axes", 384, 10_000],
            ["near 10 axes", 384, 20_000],
            ["near 10 axes", 768, 10_000],
        ],
        "limit": 6,
    },
    {"cases": [["normal", 2, 10]], "choices": ["auto"]},
    {
        "choices": Table(*_LINES, {"": milliseconds()}),
        "choices-first": Table(*_LINES, {"": milliseconds("first")}),
    },
    usual=False,  # takes minutes
)
