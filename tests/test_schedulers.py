"""What schedulers promise beside the answer: arrays stay with them, and nothing is left behind."""

import dask
import numpy as np
import pytest

import mstflow
from mstflow import Pipeline, stage
from mstflow.errors import OptionError, PipelineError
from mstflow.pipeline import scratch
from mstflow.pipeline.dask_scheduler import Dask
from mstflow.stages.fields import EdgeFlags, EdgeIndex
from mstflow.stages.fragments import start_forest

RANDOM = np.random.default_rng(5)
GRAPH = (*RANDOM.integers(0, 3000, (2, 20000)), RANDOM.random(20000))


@stage(writes="bad", over="edges")
def fail(u: EdgeIndex) -> EdgeFlags:
    raise RuntimeError("broken on purpose")


@pytest.mark.parametrize("scheduler", ["threads", "processes", "distributed"])
def test_only_scalars_come_back_between_rounds(scheduler, request, monkeypatch):
    fetched = []
    fetch = Dask.fetch

    def spy(self, handles):
        values = fetch(self, handles)
        fetched.append(sum(getattr(value, "nbytes", 0) for value in values))
        return values

    monkeypatch.setattr(Dask, "fetch", spy)
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    forest = mstflow.minimum_spanning_forest(
        GRAPH, scheduler=where, strategy="iterate", partitions=3
    )
    rounds = len(forest.report.rounds)
    assert len(fetched) == rounds + 2  # before each round, at the end, and the result
    assert max(fetched[:-1]) < 100
    assert fetched[-1] == forest.edge_ids.nbytes


@pytest.mark.parametrize("scheduler", ["inline", "threads", "processes", "distributed"])
@pytest.mark.parametrize("strategy", ["tree", "iterate"])
def test_nothing_is_left_behind(scheduler, strategy, request, tmp_path):
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    options = {"scheduler": where, "strategy": strategy, "partitions": 3}
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        mstflow.minimum_spanning_forest(GRAPH, **options)
        with pytest.raises(PipelineError, match=r"stage 'fail' failed on u.*broken on purpose"):
            mstflow.minimum_spanning_forest(
                GRAPH, algorithm=Pipeline("p", fail, start_forest), **options
            )
    assert list(tmp_path.iterdir()) == []


def test_scratch_files_of_past_rounds_are_removed(tmp_path):
    old, new = (scratch.store(np.arange(3), str(tmp_path)) for _ in range(2))
    scratch.keep_only(str(tmp_path), [new, 7])
    assert scratch.load(new).tolist() == [0, 1, 2]
    with pytest.raises(OptionError, match="must share the caller's file system"):
        scratch.load(old)


def test_inputs_may_be_read_only_memory_maps(tmp_path):
    for name, column in zip("uvw", GRAPH, strict=True):
        np.save(tmp_path / f"{name}.npy", column)
    graph = mstflow.read(tmp_path)
    assert not graph.u.flags.writeable
    expected = mstflow.minimum_spanning_forest(GRAPH).edge_ids
    for scheduler in ("inline", "threads", "processes"):
        forest = mstflow.minimum_spanning_forest(graph, scheduler=scheduler, partitions=2)
        assert np.array_equal(forest.edge_ids, expected)
