"""Tests of the stages of all pipelines, and of `check_stage`, with stages that violate a rule."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import mstflow
from graph_strategies import edge_lists
from mstflow import stage
from mstflow.errors import PipelineError
from mstflow.pipeline.catalogue.components import components
from mstflow.pointsets.catalogue.reachability import reachability
from mstflow.stages.edges import find_min_edges
from mstflow.stages.fields import Count, Edges, Flags, Number, Verdict, VertexIndex
from mstflow.testing import check_stage
from mstflow.testing.checks import check_stages, through_every_stage

PIPELINES = [*map(mstflow.algorithm, mstflow.algorithms()), components, reachability]
#: All stages, each in the last pipeline that has it; `tests/test_equality.py` tests pipelines.
STAGES = {step: pipeline for pipeline in PIPELINES for step in pipeline.stages()}
EDGELIST = mstflow.algorithm("boruvka-edgelist")


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda pipeline: pipeline.name)
def test_stages_of_the_catalogue(pipeline):
    steps = [step for step, last in STAGES.items() if last is pipeline]
    check_stages(steps, through_every_stage(pipeline))


def test_every_stage_has_a_summary():
    for step in STAGES:
        assert step.summary.endswith("."), step


CALLS = []


@stage(writes="edges")
def shift_keys_in_place(edges: Edges) -> Edges:
    key = edges.key
    key += 1
    return edges


@stage(writes="edges")
def count_calls(edges: Edges) -> Edges:
    key = edges.key
    CALLS.append(key)
    return edges._replace(key=np.full(len(key), len(CALLS) % 100, dtype=key.dtype))


@stage(writes="num_edges", combine="maximum")
def count_edges_of_one_partition(edges: Edges) -> Count:
    return len(edges.u)


@stage(writes="edges")
def rank_edges_in_partition(edges: Edges) -> Edges:
    edge_id = edges.edge_id
    return edges._replace(edge_id=np.arange(len(edge_id), dtype=edge_id.dtype))


@stage(writes="done")
def never_reached(num_edges: Count) -> Verdict:
    return True


@pytest.mark.parametrize(
    ("broken", "pipeline", "message"),
    [
        (shift_keys_in_place, EDGELIST.insert_before("drop_loops", shift_keys_in_place),
         "'shift_keys_in_place': modifies its inputs"),
        (count_calls, EDGELIST.insert_before("drop_loops", count_calls),
         "'count_calls': modifies 'CALLS', which is not a field"),
        (count_edges_of_one_partition,
         EDGELIST.replace("count_edges", count_edges_of_one_partition),
         "'count_edges_of_one_partition': the results for two partitions do not combine"),
        (rank_edges_in_partition, EDGELIST.insert_before("drop_loops", rank_edges_in_partition),
         "'rank_edges_in_partition': writes 'edges' with other keys of the same ids"),
        (never_reached, EDGELIST, "'never_reached': is never called by pipeline"),
    ],
)  # fmt: skip
def test_check_stage_finds_violations(broken, pipeline, message):
    with pytest.raises(PipelineError, match=message):
        check_stage(broken, pipeline)


@stage(writes="is_heavy")
def mark_heavy_edges(edges: Edges, weight_order: Any, limit: Number) -> Flags:
    return ~weight_order.within(edges.key, limit)


def test_check_stage_chooses_a_pipeline_that_fits():
    check_stage(mark_heavy_edges, limit=2)
    check_stage(find_min_edges)
    with pytest.raises(
        PipelineError, match=r"'mark_heavy_edges' fits into no pipeline .* reads 'limit'"
    ):
        check_stage(mark_heavy_edges)


def test_invalid_stages():
    with pytest.raises(PipelineError, match=r"5 is not a stage; decorate it with @mstflow\.stage"):
        check_stage(5)
    with pytest.raises(PipelineError, match=r"expected a name or a tuple of names .* got 5"):
        stage(writes=5)(lambda key: key)
    with pytest.raises(
        PipelineError, match=r"stage 'f': name what it writes, as in @stage\(writes"
    ):

        @stage
        def f(key):
            return key

    with pytest.raises(PipelineError, match="stage 'max': cannot read its signature"):
        stage(writes="a")(max)
    for hint in ("int | 5", "a b", "np.nope"):
        with pytest.raises(PipelineError, match="cannot read its signature and annotations"):
            stage(writes="a")(annotated(hint))


def annotated(hint):
    def take(key):
        return key

    take.__annotations__["key"] = hint
    return take


def test_a_stage_can_be_called_like_its_function():
    ops = mstflow.primitives.array_module("numpy")
    u, v = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    key, edge_id = np.array([5, 5], dtype=np.uint8), np.array([8, 9], dtype=np.int32)
    edges = Edges(u, v, key, edge_id)
    best_key, best_id, best_end = find_min_edges(ops, edges, num_vertices=4)
    assert best_key.tolist() == [5, 5, 5, 255]
    assert best_id.tolist() == [8, 8, 9, 2**31 - 1]
    assert best_end.tolist() == [1, 0, 1, 3]


@given(graph=edge_lists())
def test_every_parent_is_a_root_after_flatten(graph):
    seen = []

    @stage(writes="parent")
    def look(parent: VertexIndex) -> VertexIndex:
        seen.append(parent)
        return parent

    pipeline = mstflow.algorithm("boruvka-flatten").insert_after("flatten", look)
    mstflow.minimum_spanning_forest(graph, algorithm=pipeline)
    assert len(seen) <= max(1, graph.num_vertices).bit_length() + 1
    for parent in seen:
        assert np.array_equal(parent[parent], parent)
