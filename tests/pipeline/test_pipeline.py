"""Pipelines: checked before they run, edited as values, described, and exact about failures."""

import functools
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import mstflow
from mstflow import Loop, Pipeline, stage
from mstflow.errors import PipelineError
from mstflow.pipeline.run.flow import run
from mstflow.pipeline.run.schedulers import Inline
from mstflow.primitives import Backend
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.stages.edges import count_edges, drop_loops, find_signs, no_edges_left, order_weights
from mstflow.stages.fields import (
    ArcIndex,
    Count,
    EdgeFlags,
    EdgeIndex,
    EdgeWeights,
    Index,
    Verdict,
    VertexIndex,
)
from mstflow.stages.fragments import add_level, list_forest, start_forest, start_levels

IMAGES = Path(__file__).parents[2] / "docs" / "images"
EMPTY = (start_forest, list_forest)
GRAPH = (np.array([0, 1, 2, 0]), np.array([1, 2, 0, 3]), np.array([3.0, 1.0, 2.0, 5.0]))


@stage(writes="is_light", over="edges")
def mark_light_edges(weight: EdgeWeights, limit: float) -> EdgeFlags:
    """Flag the edges no heavier than a limit."""
    return weight <= limit


@stage(writes="num_light", over="edges", combine="sum")
def count_light_edges(is_light: EdgeFlags) -> Count:
    return int(is_light.sum())


@stage(writes="all_light")
def all_light(num_light: Count, num_edges: Count) -> Verdict:
    return num_light == num_edges


@stage(writes="is_light", over="edges")
def use_light_vertices(is_light: VertexIndex) -> EdgeFlags:
    return is_light


@stage(writes="forest")
def take_light_edges(is_light: EdgeFlags) -> Index:
    return is_light


@stage(writes="heavy", over="edges")
def take_weights(weight: EdgeWeights) -> EdgeWeights:
    return weight


@stage(writes="arc", over="vertices")
def write_arcs_at_once(num_vertices: Count) -> ArcIndex:
    return np.arange(num_vertices)


@stage(writes="is_heavy", over="edges")
def use_light_edges(is_light: EdgeFlags) -> EdgeFlags:
    return ~is_light


COUNT_LIGHT = (mark_light_edges, count_light_edges, *EMPTY)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (COUNT_LIGHT, "'mark_light_edges': reads 'limit', which no earlier stage writes"),
        ((count_light_edges,), "'count_light_edges': reads 'is_light', which no earlier"),
        ((count_edges,), "pipeline 'p': its result: reads 'forest', which no earlier"),
        ((start_levels, add_level), "'add_level': reads 'label', which no earlier"),
        (
            (*COUNT_LIGHT, find_signs, order_weights, drop_loops, use_light_edges),
            "'use_light_edges': reads 'is_light', which was lost when 'drop_loops' resized",
        ),
        (
            (*COUNT_LIGHT, use_light_vertices),
            "reads 'is_light' as index along vertices, but it is flag along edges",
        ),
        (
            (*COUNT_LIGHT, take_light_edges),
            "'take_light_edges': runs once over vertices, but 'is_light' lies in the parts",
        ),
        ((*EMPTY, write_arcs_at_once), "'write_arcs_at_once': writes 'arc' along arcs"),
        (
            (count_edges, Loop(*EMPTY, until=no_edges_left)),
            "its result: reads 'forest', which was written only inside a loop",
        ),
        (
            (*EMPTY, Loop(count_edges, until=list_forest)),
            "'list_forest': ends a loop, so it must write one verdict",
        ),
        (
            (
                *EMPTY,
                count_edges,
                find_signs,
                order_weights,
                Loop(take_weights, drop_loops, until=no_edges_left),
            ),
            "'take_weights': reads 'weight', which was lost when 'drop_loops' resized",
        ),
    ],
)
def test_check_names_the_stage(steps, message):
    if steps[:4] == COUNT_LIGHT and "limit" not in message:
        pipeline = Pipeline("p", *steps).given(limit=2)
    else:
        pipeline = Pipeline("p", *steps)
    with pytest.raises(PipelineError, match=message):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline)


def test_check_of_what_fits(algorithm):
    mstflow.algorithm(algorithm).check()
    Pipeline("p", *COUNT_LIGHT, count_edges, Loop(until=all_light)).given(limit=9.0).check()


@stage(writes="note", over="edges")
def note_in_parts(u: EdgeIndex) -> Count:
    return len(u)


@stage(writes="note")
def note_once() -> Count:
    return 7


@stage(writes="forest")
def read_note(note: Count, forest: Index) -> Index:
    return forest


@stage(writes="copy")
def copy_vertices(ops: ArrayModule, num_vertices: Count) -> VertexIndex:
    return ops.arange(num_vertices, dtype="int32")


@stage(writes="num_vertices", resizes="vertices")
def halve_vertices(num_vertices: Count) -> Count:
    return num_vertices // 2


@stage(writes="forest")
def read_copy(copy: VertexIndex, forest: Index) -> Index:
    return forest


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((note_in_parts, Loop(note_once, until=no_edges_left), read_note),
         "reads 'note', which was changed in kind by a loop"),
        ((copy_vertices, halve_vertices, Loop(copy_vertices, until=no_edges_left), read_copy),
         "reads 'copy', which was lost when 'halve_vertices' resized"),
    ],
)  # fmt: skip
def test_a_loop_may_make_no_pass(steps, message):
    with pytest.raises(PipelineError, match=message):
        Pipeline("p", *EMPTY, count_edges, *steps).check()


@pytest.mark.parametrize("step", [print, "order_weights", Loop(print, until=no_edges_left)])
def test_only_stages_and_loops_are_steps(step):
    with pytest.raises(PipelineError, match="is neither a stage nor a Loop"):
        Pipeline("p", step)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"over": "faces"}, "over must be 'edges' or 'vertices', not 'faces'"),
        ({"over": "edges", "combine": "median"}, "combine='median' needs over='edges'"),
        ({"combine": "sum"}, "combine='sum' needs over='edges'"),
        ({"writes": ("a", "b")}, "returns 1 fields, but writes 2"),
        ({"writes": ()}, "writes must be distinct names"),
        ({"writes": ("a", "a")}, "writes must be distinct names"),
        ({"resizes": "edge"}, "resizes edge, an axis no field has"),
        (
            {"over": "edges", "combine": "lexicographic minimum"},
            "combine='lexicographic minimum' compares two fields",
        ),
    ],
)
def test_declarations_that_contradict_themselves(declaration, message):
    def odd_stage(u: EdgeIndex) -> EdgeFlags:
        return u > 0

    with pytest.raises(PipelineError, match=f"stage 'odd_stage': {message}"):
        stage(**{"writes": "is_odd", **declaration})(odd_stage)


def test_stages_have_names():
    with pytest.raises(PipelineError, match="a stage needs a function with a name"):
        stage(writes="x")(functools.partial(print))


def test_stages_name_what_they_read():
    with pytest.raises(PipelineError, match="stage 'anything': reads must be named"):

        @stage(writes="x")
        def anything(*fields):
            return fields


def failing(returns, **declaration):
    @stage(writes="bad", over="edges", **declaration)
    def bad_stage(u: EdgeIndex) -> EdgeIndex:
        return returns(u)

    return Pipeline("p", bad_stage, *EMPTY)


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        (lambda u: u[:2], "wrote 'bad' with 2 entries, but along edges there are 4"),
        (lambda u: u > 1, r"wrote 'bad' as bool\[4\], not as index along edges"),
        (lambda u: 7, "wrote 'bad' as int 7, not as index along edges"),
        (lambda u: (u, u), r"wrote 'bad' as \(int64\[4\], int64\[4\]\), not as index along"),
        (lambda u: u[99], r"failed on u: int64\[4\]: IndexError: index 99"),
        (lambda u: u + "x", r"failed on u: int64\[4\]: "),
    ],
)
@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_failures_name_the_stage(returns, message, scheduler):
    with pytest.raises(PipelineError, match=f"stage 'bad_stage'.*{message}"):
        mstflow.minimum_spanning_forest(
            GRAPH, algorithm=failing(returns), scheduler=scheduler, strategy="whole"
        )


@stage(writes="least", over="edges", combine="minimum")
def uneven(u: EdgeIndex) -> Index:
    return u


@pytest.mark.parametrize(
    ("forest", "message"),
    [([3, 3], "no set of edge ids"), ([-1], "no set"), ([4], "no set"), ([0.5], "no set")],
)
def test_a_forest_is_a_set_of_edges(forest, message):
    @stage(writes="forest")
    def invent():
        return np.array(forest)

    with pytest.raises(PipelineError, match=f"pipeline 'p': its forest is {message}"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=Pipeline("p", invent))


def test_failures_to_combine_name_the_stage():
    with pytest.raises(PipelineError, match="stage 'uneven' failed on least: int64"):
        mstflow.minimum_spanning_forest(
            tuple(np.tile(column, 2) for column in GRAPH),
            algorithm=Pipeline("p", uneven, *EMPTY),
            partitions=3,
        )


def test_what_is_given_is_of_the_declared_kind():
    @stage(writes="forest")
    def take(limits: VertexIndex) -> Index:
        return limits

    pipeline = Pipeline("p", take)
    with pytest.raises(PipelineError, match="reads 'limits' as index along vertices, but it is"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline.given(limits=5))
    with pytest.raises(PipelineError, match="pipeline 'p': maximum come from the graph"):
        pipeline.given(maximum=True)
    with pytest.raises(PipelineError, match="pipeline 'p': num_vertices come from the graph"):
        Pipeline("p", take, values={"num_vertices": 5})


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_no_stage_writes_to_what_the_caller_gave(backend):
    @stage(writes="weight", over="edges")
    def halve(weight: EdgeWeights) -> EdgeWeights:
        weight //= 2
        return weight

    pipeline = mstflow.algorithm("kruskal").insert_before("find_signs", halve)
    graph = np.array([0, 1]), np.array([1, 2]), np.array([8, 6])
    with pytest.raises(PipelineError, match=r"stage 'halve' failed on weight.* read-only"):
        mstflow.minimum_spanning_forest(graph, algorithm=pipeline, backend=backend)
    assert graph[2].tolist() == [8, 6]


def test_fields_of_one_axis_have_one_length():
    @stage(writes="key", over="edges", resizes="edges")
    def halve_keys(key) -> EdgeFlags:
        return key[::2] > 0

    pipeline = mstflow.algorithm("boruvka-edgelist").insert_after("order_weights", halve_keys)
    with pytest.raises(PipelineError, match="'drop_loops': reads 'u', which was lost"):
        pipeline.check()


def names(pipeline):
    return [stage.name for stage in pipeline.stages()]


def test_edits_are_copies():
    original = mstflow.algorithm("boruvka-edgelist")
    before = names(original)
    longer = original.insert_after("count_edges", count_light_edges)
    assert names(longer).count("count_light_edges") == 2  # after each of them, in the loop too
    assert names(longer.remove("count_light_edges")) == before
    swapped = original.replace("count_edges", mark_light_edges)
    assert names(swapped).count("mark_light_edges") == before.count("count_edges")
    assert names(original.insert_before("order_weights", start_levels))[1] == "start_levels"
    assert names(original) == before
    assert dict(original.given(k=3).values) == {"k": 3}
    assert dict(original.values) == {}


def test_values_below_zero_end_rounds_as_zero_does():
    pipeline = mstflow.algorithm("filter-boruvka").given(few=-1, small=-1, dense=-1.0)
    assert len(mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline).edge_ids) == 3


def test_a_value_by_backend():
    pipeline = mstflow.algorithm("filter-boruvka")
    few = {name: pipeline.values_on(name)["few"] for name in ("numpy", "numba", "another")}
    assert few["numpy"] == few["another"] < few["numba"]
    assert pipeline.given(few=3).values_on("numba")["few"] == 3


def test_edits_that_cannot_be():
    original = mstflow.algorithm("boruvka-edgelist")
    with pytest.raises(PipelineError, match="has no stage 'drop_edges'; it has: find_signs"):
        original.remove("drop_edges")
    for edit in (lambda: original.remove("no_edges_left"),
                 lambda: original.insert_after("no_edges_left", start_levels)):  # fmt: skip
        with pytest.raises(PipelineError, match="'no_edges_left' ends a loop"):
            edit()


def test_a_pipeline_without_a_forest_is_no_algorithm():
    with pytest.raises(mstflow.errors.OptionError, match="does not give the field 'forest'"):
        mstflow.minimum_spanning_forest(
            GRAPH, algorithm=Pipeline("p", start_levels, result=("levels",))
        )


def test_description_and_picture(algorithm, tmp_path):
    pipeline = mstflow.algorithm(algorithm)
    text = pipeline.describe()
    picture = pipeline.draw(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text() == picture
    assert (IMAGES / f"{algorithm}.svg").read_text() == picture  # as the documentation shows it
    labels = [element.text for element in ElementTree.fromstring(picture).iter() if element.text]
    for step in pipeline.stages():
        assert step.name in text
        assert any(step.name in label for label in labels)
        for field in (*step.reads, *step.writes):
            assert field in text
            assert field in labels


@stage(writes="u", over="edges", combine="sum")
def add_up_ends(u: EdgeIndex):
    return u.sum()


@stage(writes="stop")
def stop_at_once(u):
    return True


def test_a_field_that_moves_from_the_parts_to_the_whole():
    pipeline = Pipeline("p", *EMPTY, add_up_ends, Loop(until=stop_at_once), result=("u",))
    tables = [{"u": np.array([1, 2])}, {"u": np.array([3])}]
    options = {"num_edges": 3, "scheduler": Inline(), "backend": Backend("numpy")}
    result, _ = run(pipeline, tables, {"num_vertices": 4, "maximum": False}, **options)
    assert result == {"u": 6}


def test_own_pipeline_on_parts_iterates():
    pipeline = mstflow.algorithm("boruvka-edgelist").given(limit=4.0).insert_after(
        "order_weights", mark_light_edges
    )  # fmt: skip
    forest = mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline, partitions=2)
    assert (forest.strategy, forest.edge_ids.tolist()) == ("iterate", [1, 2, 3])
