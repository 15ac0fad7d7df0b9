"""Identities of functions: other code, defaults, closures or globals give another digest."""

from __future__ import annotations

import functools
import threading

import numba
import numpy as np
import pytest

import mstflow
from mstflow.errors import OptionError
from mstflow.runtime.identity import identify
from processes import run_python

LIMIT = 3


def scaled(factor):
    return lambda a, b: np.abs(a - b) * factor


def adding(term=1):
    return lambda a, b, *, term=term: a + b + term


def nested(constant):
    inner = scaled(constant)
    return lambda a, b: [inner(x, b) for x in a]


class Weigher:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, a, b):
        return a * self.factor + b


class Other(Weigher):
    def __call__(self, a, b):
        return a + b


def limited(a, b):
    return a + b > LIMIT


def compiled(function):
    return numba.njit(function)


SAME_KIND = {
    "code": lambda k: (lambda a, b: a - b) if k else (lambda a, b: a + b),
    "constant in the code": lambda k: (lambda a: a * 2) if k else (lambda a: a * 3),
    "closure": scaled,
    "closure of a closure": nested,
    "array in a closure": lambda k: scaled(np.full(9, k)),
    "default": lambda k: lambda a, b=k: a + b,
    "default by keyword": adding,
    "partial": lambda k: functools.partial(np.add, k),
    "method": lambda k: Weigher(k).__call__,
    "object": Weigher,
    "code of a class": lambda k: (Weigher if k else Other)(1),
    "wrapped": lambda k: functools.lru_cache(scaled(k)),
    "compiled": lambda k: compiled(scaled(k)),
    "vectorised": lambda k: np.vectorize(scaled(k)),
    "ufunc": lambda k: np.maximum if k else np.minimum,
    "type of a constant": lambda k: scaled(bool(k)) if k else scaled(1),
    "set": lambda k: scaled({"x", "y", k}),
}


@pytest.mark.parametrize("kind", SAME_KIND)
def test_another_function_has_another_identity(kind):
    made = SAME_KIND[kind]
    assert identify(made(0)) == identify(made(0))
    assert identify(made(0)) != identify(made(1))


def test_the_identity_depends_on_the_globals_that_are_read(monkeypatch):
    before = identify(limited)
    monkeypatch.setitem(globals(), "SAME_KIND", {})
    assert identify(limited) == before
    monkeypatch.setitem(globals(), "LIMIT", 4)
    assert identify(limited) != before


def test_recursive_functions_and_cycles():
    def countdown(n):
        return n and countdown(n - 1)

    def other(n):
        return n and other(n - 2)

    assert identify(countdown) == identify(countdown) != identify(other)


def test_objects_without_an_identity_are_refused():
    lock = threading.Lock()
    with pytest.raises(OptionError, match=r"cannot identify <unlocked _thread.lock"):
        identify(lambda a, b: lock and a - b)
    with pytest.raises(OptionError, match=r"cannot identify .*vectorized"):
        identify(np.frompyfunc(lambda a, b: a - b, 2, 1))


SCRIPT = """
import numpy as np
from mstflow.runtime.identity import identify
{lines}
names = {{"b", "a", "c"}}
def outer(k): return lambda a, b: np.abs(a - b) * k if k not in ("x", *names) else mstflow.read
class Weigh:
    def __call__(self, a, b): return a + b
print(identify([outer(3), Weigh()]))
"""


def test_the_identity_is_the_same_in_every_process():
    found = {
        run_python(
            "-c", SCRIPT.format(lines=lines), variables={"PYTHONHASHSEED": seed}, check=True
        ).stdout
        for seed, lines in (("1", ""), ("2", "# a comment"))
    }
    assert len(found) == 1


IMAGE = np.random.default_rng(0).random((60, 50)).astype(np.float32)


PIPELINES = """
import mstflow
from mstflow.pipeline.catalogue.strategies import STRATEGIES, strategy_flow
from mstflow.pipeline.streaming.checkpoint import fingerprint
for name in mstflow.algorithms():
    print(*(fingerprint(strategy_flow(each, mstflow.algorithm(name))) for each in STRATEGIES))
"""


def test_the_identity_of_a_pipeline_is_the_same_in_every_process():
    outputs = {
        run_python("-c", PIPELINES, variables={"PYTHONHASHSEED": seed}, check=True).stdout
        for seed in "1234"
    }
    assert len(outputs) == 1


def test_a_checkpoint_belongs_to_the_weights_of_a_grid(tmp_path):
    options = {"strategy": "tree", "partitions": 3, "checkpoint": tmp_path / "kept"}

    def solve(factor):
        grid = mstflow.grid(IMAGE, weight=scaled(factor))
        return mstflow.minimum_spanning_forest(grid, **options)

    assert np.array_equal(solve(1.0).edge_ids, solve(1.0).edge_ids)
    with pytest.raises(OptionError, match="of another run: input differ"):
        solve(-1.0)


def test_a_checkpoint_belongs_to_the_metric_of_points(tmp_path):
    points = np.random.default_rng(0).random((30, 2))
    options = {"algorithm": "kruskal", "strategy": "fold", "checkpoint": tmp_path / "kept"}

    def solve(power):
        def metric(a, b):
            return (np.abs(a[:, None] - b) ** power).sum(axis=2)

        return mstflow.minimum_spanning_forest(mstflow.points(points, metric=metric), **options)

    assert np.array_equal(solve(2).edge_ids, solve(2).edge_ids)
    with pytest.raises(OptionError, match="of another run: input differ"):
        solve(4)


def test_a_checkpoint_belongs_to_the_combination_of_a_stage(tmp_path):
    def pipeline(add):
        @mstflow.stage(writes="extra", combine=lambda ops, results: sum(results) + add)
        def count_extra(edges: mstflow.stages.fields.Edges) -> mstflow.stages.fields.Count:
            return len(edges.u)

        return mstflow.algorithm("kruskal").insert_before("concatenate_edges", count_extra)

    graph = np.arange(9), np.arange(1, 10), np.arange(9.0)
    options = {"strategy": "tree", "partitions": 2, "checkpoint": tmp_path / "kept"}
    for add in (1, 1):
        mstflow.minimum_spanning_forest(graph, algorithm=pipeline(add), **options)
    with pytest.raises(OptionError, match="of another run: pipeline differ"):
        mstflow.minimum_spanning_forest(graph, algorithm=pipeline(2), **options)
