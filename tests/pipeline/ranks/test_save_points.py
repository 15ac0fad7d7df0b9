"""Checkpoints of the strategy "exchange": killed workers, killed callers, and damaged records."""

import contextlib
import os
import resource
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass

import dask
import numpy as np
import pytest

import mstflow
from exchange_graphs import GRAPHS
from local_clusters import check_clean, local_workers
from mstflow.errors import OptionError, WorkerError
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.catalogue.strategies import strategy_flow
from mstflow.pipeline.partitions import split
from mstflow.pipeline.ranks.executor import execute_on_ranks
from mstflow.pipeline.ranks.save_points import SavePoint, SavePoints
from mstflow.pipeline.schedulers.dask_schedulers import Cluster
from mstflow.pipeline.streaming.checkpoint import Record
from mstflow.primitives import Backend
from mstflow.progress import set_listener
from mstflow.runtime.sizes import tuned
from mstflow.stages.fields import Collected, Edges
from oracle import kruskal


class InterruptedOnPurposeError(Exception):
    pass


def interrupt():
    raise InterruptedOnPurposeError


def calls_of(report):
    return [(call.round, call.stage, call.part) for call in report.calls]


def solve(name, scheduler, kept=None, partitions=3, **options):
    """Solve with rounds to the end, and save after each verdict."""
    with tuned(joined_by_one_rank=0, seconds_unsaved=0.0):
        forest = mstflow.minimum_spanning_forest(
            GRAPHS[name],
            strategy="exchange",
            scheduler=scheduler,
            partitions=partitions,
            checkpoint=kept,
            **options,
        )
    assert forest.edge_ids.tolist() == kruskal(GRAPHS[name]).tolist()
    return forest.report


@dataclass(frozen=True)
class DoomedRecord(Record):
    """A record that calls a function once, before or after it saves at least `verdicts`."""

    seconds: float = 0.0
    function: Callable[[], object] = interrupt
    verdicts: int = 0
    is_before: bool = False
    #: A file that exists until the function is called.
    fuse: str = ""

    def save(self, arrays, state):
        for is_before in (True, False):
            is_near = len(state["point"]["verdicts"]) > self.verdicts
            if is_before == self.is_before and is_near:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.fuse)
                    self.function()
            if is_before:
                super().save(arrays, state)


def run(name, client, folder, progress=False, backend="numpy", **options):
    """Run with records in a folder, which call a function once; return the report."""
    folder.mkdir(exist_ok=True)
    fuse = folder / "fuse"
    fuse.touch() if options else fuse.unlink(missing_ok=True)
    source = EdgeSource.of(GRAPHS[name])
    scheduler = Cluster(lambda: client, "a cluster")
    shared = {
        "num_vertices": source.num_vertices,
        "num_edges": source.num_edges,
        "maximum": False,
        "weight_dtype": source.weight_dtype,
        "unsigned": False,
        "first_edge": 0,
        "few": 0,
    }

    def partitions():
        parts = split(source, 3, scheduler)
        return [{"source": part, "rank": rank} for rank, part in enumerate(parts)]

    with set_listener(progress), contextlib.ExitStack() as stack:
        stack.callback(scheduler.release)
        fields, report = execute_on_ranks(
            strategy_flow("exchange", mstflow.algorithm("filter-boruvka")),
            partitions,
            shared,
            scheduler=scheduler,
            backend=Backend(backend),
            checkpoint=lambda key: DoomedRecord(
                str(folder / f"{key}.npz"), fuse=str(fuse), **options
            ),
        )
    assert sorted(fields["forest"]) == kruskal(GRAPHS[name]).tolist()
    return report


def rounds_of(report):
    """Return the rounds whose stages were called, without those that read the edges."""
    return {call.round for call in report.calls} - {0}


@pytest.mark.parametrize("name", ["skewed", "grid", "dense grid", "random with ties"])
def test_a_later_call_resumes(cluster, tmp_path, name):
    whole = run(name, cluster, tmp_path / "whole")
    for verdicts in (1, 9, 17):
        kept = tmp_path / str(verdicts)
        with contextlib.suppress(InterruptedOnPurposeError):  # unless the run is shorter
            run(name, cluster, kept, backend="numba", verdicts=verdicts)
        report = run(name, cluster, kept)
        assert (report.final, report.counts) == (whole.final, whole.counts)
        resumed_at = min(rounds_of(report), default=0)
        assert [c for c in calls_of(whole) if c[0] > resumed_at] == [
            c for c in calls_of(report) if c[0] > resumed_at
        ]
    assert resumed_at > 1 or name == "grid"
    check_clean(cluster)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_run_resumes_without_its_worker(tmp_path, is_before):
    with local_workers(2) as client:
        steps = []
        for verdicts in (1, 12):
            report = run(
                "skewed",
                client,
                tmp_path / str(verdicts),
                lambda step, *_: steps.append(step),
                function=die,
                verdicts=verdicts,
                is_before=is_before,
            )
            assert steps.count("a worker died: resume from the checkpoint") == 1
            steps.clear()
        assert min(rounds_of(report)) > 1
        check_clean(client)


def test_a_run_resumes_on_a_new_worker(tmp_path):
    with local_workers(1) as client:
        report = run("skewed", client, tmp_path, function=die, verdicts=12)
        assert min(rounds_of(report)) > 1
        check_clean(client)


def test_the_next_run_does_not_wait_for_lost_tasks(cluster):
    scheduler = Cluster(lambda: cluster, "a cluster")
    lost = scheduler.submit(int, key="lost", actor=True)
    scheduler.cancel([lost])
    scheduler.begin_run()
    assert scheduler.gather([scheduler.submit(int, key="next")]) == [0]


def test_a_call_gives_up_when_dask_does(tmp_path):
    with local_workers(2) as client:
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),
            pytest.raises(WorkerError, match=r"a worker died: .*rank"),
        ):
            run("skewed", client, tmp_path / "kept", function=die, verdicts=12)
        assert min(rounds_of(run("skewed", client, tmp_path / "kept"))) > 1


def verdicts_of(path):
    """Return how many verdicts a record has."""
    _, state = Record(str(path)).load()
    return len(state["point"]["verdicts"])


def test_damaged_records_are_ignored(cluster, tmp_path):
    kept, copy = tmp_path / "kept", tmp_path / "copy"
    whole = solve("skewed", cluster, kept)
    shutil.copytree(kept, copy)
    newest = max(kept.glob("exchange-rank-1-*.npz"), key=verdicts_of)
    for damaged, is_lost in (([newest], False), (kept.glob("exchange-rank-1-*.npz"), True)):
        for path in damaged:
            path.write_bytes(path.read_bytes()[:-100])
        calls = len(solve("skewed", cluster, kept).calls)
        assert (calls == len(whole.calls)) == is_lost
        shutil.rmtree(kept)
        shutil.copytree(copy, kept)


def fill_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))


def test_a_full_disk_ends_the_call_and_keeps_earlier_saves(cluster, tmp_path):
    try:
        with pytest.raises(OptionError, match=r"File too large; earlier saves are kept: repeat .*"):
            run("skewed", cluster, tmp_path, function=fill_disk, verdicts=12, is_before=True)
    finally:
        cluster.run(resource.setrlimit, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert not list(tmp_path.glob("*.draft"))
    assert min(rounds_of(run("skewed", cluster, tmp_path))) > 1
    check_clean(cluster)


def test_a_record_that_cannot_be_read_is_an_error(cluster, tmp_path):
    kept = tmp_path / "kept"
    solve("skewed", cluster, kept)
    record = kept / "exchange-rank-1-0.npz"
    record.unlink()
    record.mkdir()
    message = r"rank-1-0\.npz: cannot read the checkpoint: Is a directory; .* or remove it"
    with pytest.raises(OptionError, match=message):
        solve("skewed", cluster, kept)
    record.rmdir()
    solve("skewed", cluster, kept)
    check_clean(cluster)


def test_a_checkpoint_of_another_run_is_refused(cluster, tmp_path):
    kept = tmp_path / "kept"
    solve("skewed", cluster, kept)
    for name, options, differs in (
        ("grid", {}, "input"),
        ("skewed", {"partitions": 2}, "partitions"),
        ("skewed", {"maximum": True}, "maximum"),
    ):
        with pytest.raises(OptionError, match=f"of another run: .*{differs}"):
            solve(name, cluster, kept, **options)
    solve("skewed", cluster, kept, partitions=None)  # that of the checkpoint


def point(number, value=0):
    verdicts = tuple(place % 2 == 0 for place in range(number))
    edges = Edges(*(np.arange(value, dtype=dtype) for dtype in ("i4", "i4", "u8", "i8")))
    shared = {"forest": Collected((edges.edge_id, edges.edge_id)), "pivot": 2**63}
    partition = {"edges": edges, "questions": Collected(((edges.u,), ()))}
    return SavePoint(verdicts, shared, partition, 3, {"num_edges": value}, ({}, {"num_edges": 9}))


def resumed(ranks):
    """Return the save point at which each of some ranks resumes."""
    offers = []
    for rank in ranks:
        rank.last(lambda values: offers.append(values[0]) or values, 1)
    return [rank.last(lambda _: offers, len(ranks)) for rank in ranks]


def test_ranks_resume_at_the_last_save_point_of_all(tmp_path):
    def ranks():
        names = [[tmp_path / f"{rank}-{each}" for each in range(2)] for rank in range(2)]
        return [SavePoints([Record(str(path)) for path in paths]) for paths in names]

    first, second = run = ranks()
    assert resumed(run) == [None, None]
    for number in (1, 4, 7):
        first.save(point(number))
    for number in (1, 4):
        second.save(point(number))
    again = ranks()
    assert [len(found.verdicts) for found in resumed(again)] == [4, 4]
    again[0].save(point(9))  # in place of the one that the other rank does not have
    assert [len(found.verdicts) for found in resumed(ranks())] == [4, 4]
    second.run = "another"
    second.save(point(9))
    assert [len(found.verdicts) for found in resumed(ranks())] == [4, 4]


def test_save_points_keep_all_values(tmp_path):
    saves = SavePoints([Record(str(tmp_path / name)) for name in "ab"])
    saves.save(point(3, 5))
    found = saves.last(lambda values: values, 1)
    expected = point(3, 5)
    assert repr(found) == repr(expected)
    for name, column in expected.partition["edges"]._asdict().items():
        assert getattr(found.partition["edges"], name).dtype == column.dtype
