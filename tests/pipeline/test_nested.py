"""Renamed stages, pipelines within pipelines, recursion, and the bound on rounds."""

import pickle
from typing import Any

import numpy as np
import pytest

import mstflow
from mstflow import Loop, Pipeline, Recurse, When, stage
from mstflow.errors import PipelineError
from mstflow.pipeline.catalogue.shared import CONTRACT, JOIN
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.stages.edges import count_edges, drop_loops, find_min_edges, no_edges_left
from mstflow.stages.fields import Amount, Chosen, Count, Edges, Lightest, Verdict, VertexIndex
from mstflow.stages.fragments import sort_forest_ids
from oracle import kruskal

RANDOM = np.random.default_rng(4)
GRAPH = mstflow.EdgeList(*RANDOM.integers(0, 60, (2, 300)), RANDOM.integers(0, 9, 300))
BORUVKA = mstflow.algorithm("boruvka-edgelist")


@stage(writes="light")
def select_light(ops: ArrayModule, edges: Edges, limit: Amount) -> Edges:
    return Edges(*ops.compact(edges.key <= limit, *edges))


def run(pipeline, **options):
    return mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline, **options)


def test_a_renamed_stage_reads_and_writes_other_fields():
    ends = find_min_edges.renamed(edges="light", num_vertices="size", best_end="end")
    assert list(ends.reads) == ["light", "size"]
    assert {name: field.axis for name, field in ends.writes.items()} == {
        "best_key": "size",
        "best_id": "size",
        "end": "size",
    }
    assert ends.name == "find_min_edges"
    assert ends.renamed(light="edges", size="num_vertices", end="best_end") is find_min_edges
    copy = pickle.loads(pickle.dumps(ends))
    assert (copy.reads, copy.writes) == (ends.reads, ends.writes)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"edegs": "light"}, "'find_min_edges': has no field 'edegs'; did you mean 'edges'"),
        ({"best_end": "best_id"}, "'find_min_edges': its new names write a field twice"),
    ],
)
def test_new_names_are_checked(names, message):
    with pytest.raises(PipelineError, match=message):
        find_min_edges.renamed(**names)
    with pytest.raises(PipelineError, match="pipeline 'kruskal': has no field 'edegs'; did you"):
        mstflow.algorithm("kruskal").renamed(edegs="light")


def test_a_combination_reads_the_new_names():
    def at_least(ops, parts, least):
        return (max(least, *(count for (count,) in parts)),)

    @stage(writes="largest", combine=at_least)
    def largest(edges: Edges) -> Count:
        return len(edges.u)

    step = largest.renamed(edges="light", least="few", largest="most")
    pipeline = Pipeline("p", select_light, step, result=("most",), values={"few": 77, "limit": 4})
    assert pipeline.run(GRAPH, partitions=3).fields["most"] == 77
    assert pipeline.given(few=0).run(GRAPH, partitions=3).fields["most"] > 0


@pytest.mark.parametrize(
    "options", [{}, {"partitions": 3}, {"partitions": 3, "scheduler": "threads"}]
)
def test_a_pipeline_within_another_has_fields_of_its_own(options):
    @stage(writes="checked")
    def still_whole(num_vertices: Count, num_edges: Count, before: Count) -> Count:
        assert (num_vertices, num_edges) == (GRAPH.num_vertices, before)
        return 1

    pipeline = Pipeline(
        "p",
        count_edges.renamed(num_edges="before"),
        select_light,
        BORUVKA.renamed(edges="light", forest="light_forest"),
        sort_forest_ids.renamed(forest="light_forest"),
        still_whole,
        BORUVKA,
        values={"limit": 4},
        result=("light_forest", "forest", "checked"),
    )
    fields, _ = pipeline.run(GRAPH, **options)
    is_light = np.flatnonzero(GRAPH.weight <= 4)
    light = GRAPH.u[is_light], GRAPH.v[is_light], GRAPH.weight[is_light]
    expected = is_light[kruskal(mstflow.EdgeList(*light, num_vertices=GRAPH.num_vertices))]
    assert fields["light_forest"].tolist() == expected.tolist()
    assert fields["forest"].tolist() == kruskal(GRAPH).tolist()


def test_edge_ids_start_anew_in_each_pass():
    @stage(writes="passes")
    def start_passes() -> Count:
        return 0

    @stage(writes=("passes", "sizes"))
    def count_pass(passes: Count, sizes: Any, light_forest: Chosen) -> tuple[Count, Any]:
        return passes + 1, [*sizes, sum(map(len, light_forest))]

    @stage(writes="done")
    def twice(passes: Count) -> Verdict:
        return passes == 2

    body = (BORUVKA.renamed(forest="light_forest"), count_pass)
    pipeline = Pipeline(
        "p", start_passes, Loop(*body, until=twice), values={"sizes": []}, result=("sizes",)
    )
    assert pipeline.run(GRAPH, partitions=2).fields["sizes"] == [len(kruskal(GRAPH))] * 2


def halved(inner):
    """Return a pipeline that joins once, and leaves the rest to another pipeline."""
    return Pipeline("halved", drop_loops, *JOIN, *CONTRACT, inner)


def recursive():
    @stage(writes="some_left")
    def some_edges_left(num_edges: Count) -> Verdict:
        return num_edges > 0

    step = When(some_edges_left, *JOIN, *CONTRACT, Recurse())
    return Pipeline("recursive", drop_loops, count_edges, step)


DEEP = {
    "to a stated depth": halved(halved(halved(BORUVKA))),
    "until a condition": recursive(),
    "renamed": Pipeline("p", select_light, recursive().renamed(edges="light"), values={"limit": 9}),
}


@pytest.mark.parametrize("options", [{}, {"partitions": 3}, {"strategy": "tree", "partitions": 3}])
@pytest.mark.parametrize("name", DEEP)
def test_recursion(name, options):
    assert run(DEEP[name], **options).edge_ids.tolist() == kruskal(GRAPH).tolist()


def test_stages_within_a_pipeline_can_be_replaced():
    @stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
    def own_minimum(ops: ArrayModule, edges: Edges, num_vertices: Count) -> Lightest:
        return ops.scatter_min_pairs(*edges, num_vertices)

    for pipeline in DEEP.values():
        own = pipeline.replace("find_min_edges", own_minimum)
        assert "own_minimum" in own.describe()
        assert "find_min_edges" not in own.describe()
        assert run(own).edge_ids.tolist() == kruskal(GRAPH).tolist()
    given = DEEP["renamed"].given(limit=2)
    assert len(run(given).edge_ids) < len(kruskal(GRAPH))


def test_descriptions_show_the_inner_pipeline():
    text = DEEP["renamed"].describe()
    assert "\nrecursive " in text
    assert "\n  drop_loops" in text
    assert text.count("recursive  ") == 2
    picture = DEEP["renamed"].draw()
    assert ">recursive</text>" in picture
    assert ">recursive.num_vertices</text>" in picture


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (BORUVKA.renamed(edges="lihgt"), "pipeline 'boruvka-edgelist': reads 'lihgt', which no"),
        (BORUVKA.renamed(num_vertices="light"), "reads 'boruvka-edgelist.light' as count, but"),
        (BORUVKA.renamed(forest="labels"), "its result: reads 'levels', which no earlier"),
    ],
)
def test_the_fields_of_an_inner_pipeline_are_checked(step, message):
    result = ("levels",) if "labels" in str(step.result) else ("forest",)
    pipeline = Pipeline("p", select_light, step, values={"limit": 4}, result=result)
    with pytest.raises(PipelineError, match=message):
        pipeline.check()


def test_fields_of_an_inner_pipeline_are_private():
    @stage(writes="copy")
    def copy_label(label: VertexIndex) -> VertexIndex:
        return label

    with pytest.raises(PipelineError, match="'copy_label': reads 'label', which no earlier"):
        Pipeline("p", BORUVKA, copy_label).check()


def test_a_recursion_without_end_is_an_error():
    endless = Pipeline("endless", drop_loops, *JOIN, *CONTRACT, Recurse())
    with pytest.raises(PipelineError, match="pipeline 'endless': contains itself 64 times"):
        run(endless)


@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_a_loop_without_end_is_an_error(scheduler):
    pipeline = Pipeline("p", count_edges, Loop(*JOIN, count_edges, until=no_edges_left, rounds=9))
    message = (
        "the loop until 'no_edges_left' did not end after 9 rounds; the last round did not change "
        "num_vertices 60, num_edges "
    )
    with pytest.raises(PipelineError, match=message):
        run(pipeline, scheduler=scheduler)
