"""The strategy "exchange": its forests equal Kruskal's, for any number of ranks."""

import bisect
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from exchange_graphs import CHAIN, GRAPHS, RANKS, RNG, of_pairs, skewed
from graph_strategies import edge_lists
from mstflow import Pipeline, stage
from mstflow.errors import MemoryBoundError, OptionError, PipelineError
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.catalogue.names import request_for
from mstflow.pipeline.planning.plan import plan
from mstflow.pipeline.planning.situation import Situation
from mstflow.pipeline.schedulers.scheduler import Workers
from mstflow.pipeline.streaming.facts import GraphFacts
from mstflow.primitives import array_module
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.runtime.sizes import tuned
from mstflow.stages.fields import Count, Edges, Parcels
from mstflow.stages.strategies.exchange.ranges import by_owner, divide_vertices, owners, places
from mstflow.testing import check_stage
from oracle import kruskal


def solve(graph, **options):
    """Solve with rounds to the end, which are for large graphs otherwise."""
    with tuned(joined_by_one_rank=0):
        return mstflow.minimum_spanning_forest(graph, strategy="exchange", **options)


def calls(forest):
    return [call.stage for call in forest.report.calls]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", GRAPHS)
def test_equals_oracle(name, ranks):
    for maximum in (False, True):
        expected = kruskal(GRAPHS[name], maximum).tolist()
        for backend in mstflow.backends():
            options = {"partitions": ranks, "backend": backend, "maximum": maximum}
            assert solve(GRAPHS[name], **options).edge_ids.tolist() == expected, backend


@pytest.mark.parametrize("backend", mstflow.backends())
@given(graph=edge_lists(), ranks=st.sampled_from(RANKS), maximum=st.booleans())
def test_drawn_graphs(backend, graph, ranks, maximum):
    forest = solve(graph, partitions=ranks, backend=backend, maximum=maximum)
    assert forest.edge_ids.tolist() == kruskal(graph, maximum).tolist()


def test_large_edge_ids():
    source = replace(EdgeSource.of(GRAPHS["random with ties"]), first_id=2**33)
    for backend in mstflow.backends():
        forest = solve(source, partitions=4, backend=backend)
        assert (forest.edge_ids - 2**33).tolist() == kruskal(GRAPHS["random with ties"]).tolist()


@pytest.mark.parametrize("scheduler", ["inline", "synchronous", "threads"])
def test_schedulers(scheduler):
    graph = GRAPHS["skewed"]
    forest = solve(graph, partitions=4, scheduler=scheduler, threads=2)
    assert forest.edge_ids.tolist() == kruskal(graph).tolist()


SAMPLES = {"empty": [], "one hub": [0] * 99, "two hubs": [3, 3, 690, 690], "even": [*range(700)]}


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 200])
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("size", [0, 5, 700, 2**31 - 1])
def test_ranges(size, sample, ranks):
    ends = np.minimum(np.array(SAMPLES[sample], np.int32), max(0, size - 1))
    for backend in mstflow.backends():
        ops = array_module(backend)
        ranges, _ = divide_vertices(ops, ends, size, 2 * size, 1.75, ranks)
        assert len(ranges.starts) == ranks + 1
        assert (ranges.starts[0], ranges.starts[-1]) == (0, size)
        assert not [start for start in ranges.starts if start % 8 and start != size]
        ends_of_ranges = {end for start in ranges.starts for end in (start - 1, start)}
        vertices = np.array([*ends_of_ranges - {-1, size}], np.int32)
        owner = owners(ops, vertices, ranges).tolist()
        assert [bisect.bisect(ranges.starts, vertex) - 1 for vertex in vertices] == owner
        _, dealt = by_owner(ops, vertices, vertices, ranges)
        assert sorted(owner) == owners(ops, dealt, ranges).tolist()
        for vertex, rank in zip(vertices, owner, strict=True):
            assert 0 <= places(vertex, rank, ranges) < np.diff(ranges.starts)[rank]


def test_ranks_get_equal_shares_of_arcs():
    """Of a graph whose first vertices have most edges, as those of R-MAT."""
    graph = skewed(14, 200_000)
    calls = solve(graph, partitions=8).report.calls
    received = [call.bytes for call in calls if call.stage == "choose_lightest"][:8]
    assert max(received) < 1.3 * min(received)


def test_each_path_is_taken():
    """The graphs above run rounds, filter heavy edges, and contract private vertices."""
    dense, sparse = solve(GRAPHS["skewed"], partitions=4), solve(GRAPHS["grid"], partitions=4)
    assert {"offer_arcs", "hook", "jump", "select_outside", "drop_cycles"} <= {*calls(dense)}
    assert "contract_private" in calls(sparse)
    assert "contract_private" not in calls(solve(GRAPHS["grid"], partitions=1))
    assert "offer_arcs" not in calls(solve(GRAPHS["skewed"], partitions=1))


def test_few_edges_are_joined_by_one_rank():
    forest = mstflow.minimum_spanning_forest(GRAPHS["skewed"], strategy="exchange", partitions=4)
    assert "offer_arcs" not in calls(forest)
    assert calls(forest).count("join_rest") == 4  # three ranks have nothing to join


def test_a_rank_holds_its_vertices_only():
    """No array of a rank has an entry for each vertex, if the ranks have few edges each."""
    graph = of_pairs(RNG.integers(0, 40_000, 900), RNG.integers(0, 40_000, 900), np.ones(900))
    forest = solve(graph, partitions=8)
    owned = 4 * -(-graph.num_vertices // 8)
    largest = max(call.bytes for call in forest.report.calls)
    assert owned < largest < 3 * owned


def test_a_rank_gets_one_bit_for_each_vertex():
    graph = of_pairs(
        RNG.integers(0, 4000, 40_000), RNG.integers(0, 4000, 40_000), RNG.random(40_000)
    )
    calls = solve(graph, partitions=4).report.calls
    (received,) = {c.bytes for c in calls if c.stage == "concatenation_of_mark_outside"}
    assert received <= 2 * (graph.num_vertices // 8 + 4)  # read and written


def test_report_and_plan():
    forest = solve(GRAPHS["random"], partitions=3)
    plan = forest.report.plan
    assert (plan.strategy, plan.partitions) == ("exchange", 3)
    assert str(plan) == "exchange: requested by the option strategy"
    assert forest.report.counts[0]["num_vertices"] == GRAPHS["random"].num_vertices
    assert forest.report.final["num_vertices"] == forest.num_components


def test_more_ranks_need_less_memory_each_and_send_more():
    graph = GraphFacts(10**9, 16 * 10**9)
    request = request_for(strategy="exchange")
    workers = (Workers("a cluster", count, is_cluster=True, eager=False) for count in (8, 64))
    plans = [plan(Situation(request, graph, each, "numba")) for each in workers]
    assert plans[0].memory > 3 * plans[1].memory > 0
    few, many = (each.estimate for each in plans)
    assert few.sent < many.sent
    assert few.rounds <= many.rounds < 20
    assert few.read == many.read == 12 * graph.num_edges


def test_a_bound_that_is_stated_is_enough():
    with pytest.raises(MemoryBoundError) as caught:
        solve(GRAPHS["grid"], partitions=3, memory=1)
    forest = solve(GRAPHS["grid"], partitions=3, memory=caught.value.needed)
    assert forest.edge_ids.tolist() == kruskal(GRAPHS["grid"]).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "2MB"}, "it must be at least .* for strategy 'exchange' with 702 vertices"),
        ({"checkpoint": "kept"}, "supports checkpoint= on a cluster"),
        ({"algorithm": Pipeline("own", *mstflow.algorithm("kruskal").steps)}, "custom pipelines"),
    ],
)
def test_refused_options(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=message):
        mstflow.minimum_spanning_forest(GRAPHS["star"], strategy="exchange", **options)


@stage(writes="parities", combine="exchange")
def send_parities(edges: Edges) -> Parcels:
    """Send the number of even ids to the first partition, and that of odd ids to the second."""
    odd = int((edges.edge_id % 2 == 1).sum())
    return len(edges.u) - odd, odd


@stage(writes="smallest_sum", combine="minimum")
def add_parities(parities: Parcels) -> Count:
    return sum(parities)


@stage(writes="parities", combine="exchange")
def send_numbers(num_edges: Count) -> Parcels:
    return num_edges, num_edges


def test_exchange_of_any_pipeline():
    pipeline = Pipeline("parities", send_parities, add_parities, result=("smallest_sum",))
    graph = of_pairs(CHAIN[:-2], CHAIN[1:-1], CHAIN[1:-1])
    for scheduler in ("inline", "threads"):
        fields, _ = pipeline.run(graph, partitions=2, scheduler=scheduler)
        assert fields["smallest_sum"] == 349
    assert "partitions, exchange" in pipeline.describe()


@stage(writes="received", combine="exchange")
def send_edges(ops: ArrayModule, edges: Edges, num_partitions: Count) -> Parcels:
    """Send each edge to the partition that its first end determines."""
    owner = edges.u % num_partitions
    return tuple(ops.compact(owner == place, edges.u)[0] for place in range(num_partitions))


@stage(writes="num_received", combine="sum")
def count_received(received: Parcels) -> Count:
    return sum(map(len, received))


def test_a_pipeline_knows_its_partitions():
    pipeline = Pipeline("received", send_edges, count_received, result=("num_received",))
    for partitions in (1, 2, 5):
        fields, _ = pipeline.run(GRAPHS["random"], partitions=partitions)
        assert fields["num_received"] == len(GRAPHS["random"].u)
    check_stage(send_edges, pipeline)
    check_stage(count_received, pipeline)


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_an_exchange_needs_a_value_for_each_partition(partitions, scheduler):
    pipeline = Pipeline("parities", send_parities, add_parities, result=("smallest_sum",))
    message = f"'send_parities': wrote 'parities' as .* each of num_partitions = {partitions}"
    with pytest.raises(PipelineError, match=message):
        pipeline.run(GRAPHS["star"], partitions=partitions, scheduler=scheduler)


def test_only_partitions_exchange():
    with pytest.raises(PipelineError, match="'send_numbers': only partitions exchange values"):
        Pipeline("numbers", send_numbers, add_parities, result=("smallest_sum",)).check()
