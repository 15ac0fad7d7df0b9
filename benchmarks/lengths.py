"""Times of each compiled primitive by number of threads and length of the arrays.

With more threads, a call should not take longer. Primitives that always use one thread are not
measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from . import primitives
from .measure import Benchmark, Row, in_turn, timed
from .tables import Table, ratio

SEQUENTIAL = {
    "join_in_order",
    "join_levels",
    "label_level",
    "merge_in_order",
    "path_sums",
}
#: Seconds of all rounds of a case. A primitive that takes longer in one round is not measured with
#: longer arrays.
LIMIT = 0.5
#: Calls on short arrays are repeated until they process this number of elements.
REPEATED = 10**6


def rows(
    lengths: Sequence[int], threads: Sequence[int], rounds: int, repeated: int = REPEATED
) -> Iterator[Row]:
    """Yield a row for each primitive, length and number of threads; numbers have 32 bits."""
    from mstflow.primitives.compiled.arrays import NumbaArrays
    from mstflow.runtime.memory import keeping_blocks

    unmeasured = {*SEQUENTIAL}
    for length in lengths:
        calls = max(1, repeated // length)
        arguments = primitives.arguments(length // primitives.EDGES_PER_VERTEX)
        for case, (arrays, options) in arguments.items():
            name = case.partition(",")[0]
            if name in unmeasured:
                continue
            cases = []
            for count in threads:
                call = partial(getattr(NumbaArrays(count), name), *arrays, **options)
                names = {"primitive": case, "length": length, "calls": calls, "threads": count}
                cases.append((names, timed(partial(_repeat, call, calls))))
            with keeping_blocks():
                found = [*in_turn(cases, rounds, budget=LIMIT, warm_ups=1)]
            if found[0]["seconds"][0] > LIMIT:
                unmeasured.add(name)
            yield from found


def _repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


BENCHMARK = Benchmark(
    "compiled primitives by number of threads and length of the arrays",
    rows,
    {"lengths": [10**4, 10**5, 10**6, 10**7], "threads": [1, 2, 4, 16], "rounds": 3},
    {"lengths": [300, 3000], "threads": [1, 2], "rounds": 1, "repeated": 3000},
    {"lengths": Table(("primitive",), ("length", "threads"), {"": ratio()}, against=("length",))},
    usual=False,  # takes minutes
)
