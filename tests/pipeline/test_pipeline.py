"""Pipelines: checked before they run, edited as values, described, and exact about failures."""

import functools
import gc
import weakref
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from graph_strategies import edge_lists
from mstflow import Loop, Pipeline, When, stage
from mstflow.errors import OptionError, PipelineError
from mstflow.pipeline.catalogue.shared import CONTRACT, JOIN
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.stages.edges import count_edges, drop_loops, no_edges_left
from mstflow.stages.fields import (
    INDEX,
    Chosen,
    Count,
    Edges,
    Field,
    Flags,
    Index,
    Number,
    Verdict,
    VertexIndex,
)
from mstflow.stages.fragments import add_level, compose_labels, start_levels
from mstflow.stages.strategies.readers import Scanner
from oracle import kruskal

IMAGES = Path(__file__).parents[2] / "docs" / "images"
GRAPH = (np.array([0, 1, 2, 0]), np.array([1, 2, 0, 3]), np.array([3.0, 1.0, 2.0, 5.0]))


@stage(writes="is_light")
def mark_light_edges(edges: Edges, weight_order: Any, limit: Number) -> Flags:
    """Flag the edges of at most a limit."""
    return weight_order.within(edges.key, limit)


@stage(writes="num_light", combine="sum")
def count_light_edges(is_light: Flags) -> Count:
    return int(is_light.sum())


@stage(writes="all_light")
def all_light(num_light: Count, num_edges: Count) -> Verdict:
    return num_light == num_edges


@stage(writes="all_light")
def light_in_each_partition(is_light: Flags) -> Verdict:
    return bool(is_light.all())


@stage(writes="is_light")
def use_light_vertices(is_light: VertexIndex) -> Flags:
    return is_light


@stage(writes="forest")
def take_light_edges(edges: Edges, is_light: Flags) -> Chosen:
    return edges.edge_id[is_light]


def add_light(ops, parts, is_light):
    return parts[0]


@stage(writes="num_light", combine=add_light)
def combine_with_marks(edges: Edges) -> Count:
    return 0


@stage(writes="copy")
def copy_vertices(ops: ArrayModule, num_vertices: Count) -> VertexIndex:
    return ops.arange(num_vertices, dtype="int32")


@stage(writes="num_vertices")
def halve_vertices(num_vertices: Count) -> Count:
    return num_vertices // 2


@stage(writes="other")
def read_copy(copy: VertexIndex) -> Index:
    return copy


MARK = (mark_light_edges,)
COUNT_LIGHT = (mark_light_edges, count_light_edges)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (COUNT_LIGHT, "'mark_light_edges': reads 'limit', which no earlier stage writes"),
        ((count_light_edges,), "'count_light_edges': reads 'is_light', which no earlier"),
        ((count_edges,), "pipeline 'p': its result: reads 'levels', which no earlier"),
        ((start_levels, add_level), "'add_level': reads 'label', which no earlier"),
        (
            (copy_vertices, halve_vertices, read_copy),
            "'read_copy': reads 'copy', which was lost when 'halve_vertices' changed the vertices",
        ),
        (
            (*MARK, use_light_vertices),
            "reads 'is_light' as index along vertices, but it is flag",
        ),
        (
            (*MARK, take_light_edges),
            "'take_light_edges': writes 'forest' in each partition; it needs combine=",
        ),
        (
            (*MARK, combine_with_marks),
            "'combine_with_marks': its combination reads 'is_light', which is in partitions",
        ),
        (
            (count_edges, Loop(start_levels, until=no_edges_left)),
            "its result: reads 'levels', which was written only inside a loop",
        ),
        (
            (count_edges, When(no_edges_left, start_levels)),
            "its result: reads 'levels', which was written only inside",
        ),
        (
            (start_levels, Loop(count_edges, until=copy_vertices)),
            "'copy_vertices': it decides a Loop, so it must write one verdict",
        ),
        (
            (*MARK, When(light_in_each_partition, start_levels)),
            "'light_in_each_partition': it decides a When, so it must write one verdict",
        ),
        (
            (
                copy_vertices,
                count_edges,
                Loop(read_copy, halve_vertices, until=no_edges_left),
            ),
            "'read_copy': reads 'copy', which was lost when 'halve_vertices' changed",
        ),
    ],
)
def test_check_names_the_stage(steps, message):
    values = {"limit": 2} if mark_light_edges in steps and "limit" not in message else {}
    pipeline = Pipeline("p", *steps, result=("levels",), values=values)
    with pytest.raises(PipelineError, match=message):
        pipeline.run(GRAPH)
    with pytest.raises(PipelineError, match=message):
        pipeline.check()


def test_check_of_valid_pipelines(algorithm):
    mstflow.algorithm(algorithm).check()
    Pipeline("p", *COUNT_LIGHT, count_edges, Loop(until=all_light)).given(limit=9.0).check()


def test_check_of_strategies(algorithm):
    for name in mstflow.strategies():
        mstflow.strategy(name, algorithm).check()


@stage(writes="note")
def note_in_partitions(edges: Edges) -> Count:
    return len(edges.u)


@stage(writes="note")
def note_once() -> Count:
    return 7


@stage(writes="other")
def read_note(note: Count) -> Count:
    return note


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((note_in_partitions, Loop(note_once, until=no_edges_left), read_note),
         "reads 'note', which was changed in kind by a loop"),
        ((copy_vertices, halve_vertices, Loop(copy_vertices, until=no_edges_left), read_copy),
         "reads 'copy', which was lost when 'halve_vertices' changed the vertices"),
    ],
)  # fmt: skip
def test_the_body_of_a_loop_may_not_run(steps, message):
    with pytest.raises(PipelineError, match=message):
        Pipeline("p", count_edges, *steps).check()


@pytest.mark.parametrize("step", [print, "drop_loops", Loop(print, until=no_edges_left)])
def test_only_stages_loops_and_conditions_are_steps(step):
    with pytest.raises(PipelineError, match="is not a stage, Loop, When or pipeline"):
        Pipeline("p", step)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"combine": "median"}, "combine is 'median'; use a function or one of: sum, "),
        ({"combine": 5}, "combine is 5; use a function or one of: sum, "),
        ({"writes": ("a", "b")}, "writes 2 fields, but its annotation returns 1"),
        ({"writes": ()}, "expected distinct names for writes"),
        ({"writes": ("a", "a")}, "expected distinct names for writes"),
        (
            {"combine": "lexicographic minimum"},
            "combine='lexicographic minimum' compares two fields",
        ),
    ],
)
def test_contradictory_declarations(declaration, message):
    def odd_stage(edges: Edges) -> Flags:
        return edges.u > 0

    with pytest.raises(PipelineError, match=f"stage 'odd_stage': {message}"):
        stage(**{"writes": "is_odd", **declaration})(odd_stage)


def test_stages_have_names():
    with pytest.raises(PipelineError, match="expected a function with a name"):
        stage(writes="x")(functools.partial(print))


def test_stages_name_what_they_read():
    with pytest.raises(PipelineError, match="stage 'anything': parameters name fields"):

        @stage(writes="x")
        def anything(*fields):
            return fields


def failing(returns):
    @stage(writes="bad")
    def bad_stage(edges: Edges, num_vertices: Count) -> VertexIndex:
        return returns(edges.u)

    return Pipeline("p", bad_stage, result=("bad",))


SHOWN = r"edges: \(u: int64\[4\], v: int64\[4\], key: uint64\[4\], edge_id: int32\[4\]\)"


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        (lambda u: u[:2], "wrote 'bad' with 2 entries, but axis vertices has length 4"),
        (lambda u: u > 1, r"wrote 'bad' as bool\[4\], not as index along vertices"),
        (lambda u: 7, "wrote 'bad' as int 7, not as index along vertices"),
        (lambda u: (u, u), r"wrote 'bad' as \(int64\[4\], int64\[4\]\), not as index along"),
        (lambda u: u[99], f"failed on {SHOWN}, num_vertices: int 4: IndexError: index 99"),
        (lambda u: u + "x", f"failed on {SHOWN}"),
    ],
)
@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_failures_name_the_stage(returns, message, scheduler):
    with pytest.raises(PipelineError, match=f"stage 'bad_stage'.*{message}"):
        failing(returns).run(GRAPH, scheduler=scheduler, strategy="whole")


@stage(writes="least", combine="minimum")
def uneven(edges: Edges) -> Index:
    return edges.u


@pytest.mark.parametrize("forest", [[3, 3], [-1], [4], [0.5]])
def test_a_forest_is_a_set_of_edges(forest):
    @stage(writes="forest")
    def invent():
        return np.array(forest)

    with pytest.raises(
        PipelineError, match="pipeline 'p': its forest must be an array of edge ids"
    ):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=Pipeline("p", invent))


def test_failures_to_combine_name_the_stage():
    with pytest.raises(PipelineError, match="stage 'minimum_of_uneven' failed on parts: "):
        Pipeline("p", uneven).run(tuple(np.tile(column, 2) for column in GRAPH), partitions=3)


@pytest.mark.parametrize(
    ("joined", "message"),
    [("no", "wrote 'least' as str 'no', not as count"), ((1, 2), "returned 2 fields, not 1")],
)
def test_combined_results_have_the_declared_kind(joined, message):
    @stage(writes="least", combine=lambda ops, parts: joined)
    def find(edges: Edges) -> Count:
        return 1

    with pytest.raises(PipelineError, match=f"stage 'find': {message}"):
        Pipeline("p", find, result=("least",)).run(GRAPH, partitions=2)


def test_given_values_have_the_declared_kind():
    @stage(writes="forest")
    def take(limits: VertexIndex) -> Index:
        return limits

    pipeline = Pipeline("p", take)
    with pytest.raises(PipelineError, match="reads 'limits' as index along vertices, but it is"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline.given(limits=5))
    with pytest.raises(PipelineError, match="pipeline 'p': every run has a field maximum; rename"):
        pipeline.given(maximum=True)
    with pytest.raises(PipelineError, match="every run has a field num_vertices; rename"):
        Pipeline("p", take, values={"num_vertices": 5})


@pytest.mark.parametrize("name", ["source", "columns", "weight_dtype", "signed", "scanner"])
def test_values_cannot_replace_fields_of_a_run(name):
    with pytest.raises(PipelineError, match=f"pipeline 'p': every run has a field {name}"):
        Pipeline("p", drop_loops, values={name: 7})


def test_messages_stay_short():
    @stage(writes="x")
    def fail(values: Any) -> Any:
        raise ValueError

    for values in (list(range(10**5)), tuple(range(10**5)), "x" * 10**5):
        with pytest.raises(PipelineError, match="stage 'fail' failed on values: ") as got:
            Pipeline("p", fail, values={"values": values}, result=("x",)).run(GRAPH)
        assert len(str(got.value)) < 300


def test_given_values_are_not_kept():
    @stage(writes="forest")
    def read(values: Any) -> Index:
        return np.arange(len(values))

    values = np.zeros(3)
    known = weakref.ref(values)
    for strategy in ("whole", "tree"):
        mstflow.minimum_spanning_forest(
            GRAPH, algorithm=Pipeline("p", read, values={"values": values}), strategy=strategy
        )
    del values
    gc.collect()
    assert known() is None


@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_without_a_choice_a_forest_is_empty(scheduler):
    fields, _ = Pipeline("p", drop_loops).run(GRAPH, scheduler=scheduler, partitions=2)
    assert fields["forest"].tolist() == []


def test_scalars_become_those_of_python(cluster):
    """A dtype also has no axes, and a NumPy type has the attributes of its scalars."""

    @stage(writes=("flag", "count", "number", "dtype", "kind"))
    def scalars(edges: Edges) -> tuple[Verdict, Count, Number, Any, Any]:
        dtype = np.dtype(np.float32)
        return np.bool_(True), np.array(7), dtype.type(0.5), dtype, dtype.type

    names = ("flag", "count", "number", "dtype", "kind")
    pipeline = Pipeline("p", scalars, result=names)
    for where in ("threads", cluster):
        fields, _ = pipeline.run(GRAPH, scheduler=where, partitions=1)
        found = [fields[name] for name in names]
        assert found == [True, 7, 0.5, np.float32, np.float32]
        assert list(map(type, found[:3])) == [bool, int, float]
        assert isinstance(found[3], np.dtype)


def test_edges_are_added_only_to_chosen_fields():
    @stage(writes="marks", combine="concatenation")
    def choose(edges: Edges) -> Chosen:
        return edges.edge_id

    pipeline = Pipeline("p", choose, values={"marks": 3}, result=("marks",))
    with pytest.raises(PipelineError, match="'choose': adds to 'marks' as chosen, but it is any"):
        pipeline.check()


@pytest.mark.parametrize("column", ["u", "v", "key"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_stages_cannot_modify_arrays_of_the_caller(backend, column):
    @stage(writes="edges")
    def halve(edges: Edges) -> Edges:
        array = getattr(edges, column)
        array //= 2
        return edges

    pipeline = mstflow.algorithm("kruskal").insert_before("concatenate_edges", halve)
    graph = np.array([0, 1]), np.array([1, 2]), np.array([8, 6])
    with pytest.raises(PipelineError, match=r"stage 'halve' failed on edges.* read-only"):
        mstflow.minimum_spanning_forest(graph, algorithm=pipeline, backend=backend)
    assert list(map(np.ndarray.tolist, graph)) == [[0, 1], [1, 2], [8, 6]]


PairIndex = Annotated[Any, Field(INDEX, "pairs")]


class PairOfEnds(NamedTuple):
    """A kind of values; no valid one has ends of different lengths."""

    left: Any
    right: Any

    @property
    def is_valid(self):
        return len(self.left) == len(self.right)


@stage(writes="pair", combine=lambda ops, parts: parts[0])
def pair_ends(edges: Edges, step: Count) -> PairOfEnds:
    return PairOfEnds(edges.u, edges.v[::step])


@stage(writes="forest")
def take_pair(pair: PairOfEnds) -> Index:
    return pair.left[:0]


@stage(writes="forest")
def take_scanner(pair: Scanner) -> Index:
    return pair.takes_all(1, 1)


class CanScan:
    """It has the methods of a scanner, but does not derive from it."""

    scan = takes_all = keys = reduce = None


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (Pipeline("p", pair_ends, take_pair).given(step=2),
         r"'pair_ends': wrote 'pair' as \(left: .*, not as pair of ends"),
        (Pipeline("p", take_pair).given(pair=(1, 2)),
         r"'take_pair': reads 'pair' as pair of ends, but it is \(int 1, int 2\)"),
        (Pipeline("p", pair_ends, take_scanner).given(step=1),
         "'take_scanner': reads 'pair' as scanner, but it is pair of ends"),
        (Pipeline("p", take_scanner).given(pair=CanScan()),
         "'take_scanner': reads 'pair' as scanner, but it is CanScan"),
    ],
)  # fmt: skip
def test_classes_are_kinds(pipeline, message):
    with pytest.raises(PipelineError, match=message):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline)
    valid = Pipeline("p", pair_ends, take_pair).given(step=1)
    assert mstflow.minimum_spanning_forest(GRAPH, algorithm=valid).edge_ids.tolist() == []


def test_the_name_of_a_kind_is_refused():
    with pytest.raises(PipelineError, match="must be a Kind, such as INDEX: 'index'"):
        Field("index", "pairs")


@stage(writes="left")
def write_left(edges: Edges) -> PairIndex:
    return edges.u


@stage(writes="right")
def write_right(edges: Edges) -> PairIndex:
    return edges.v[::2]


@stage(writes=("left", "right"))
def write_pairs(edges: Edges) -> tuple[PairIndex, PairIndex]:
    return edges.u, edges.v[::2]


@stage(writes="pairs")
def read_pairs(left: PairIndex, right: PairIndex) -> Any:
    return left, right


@stage(writes="edges")
def shorten_keys(edges: Edges) -> Edges:
    return edges._replace(key=edges.key[::2])


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((write_pairs,), "'write_pairs': wrote 'right' with 2 entries, but axis pairs has"),
        ((write_left, write_right, read_pairs),
         "'read_pairs': 'left' has 4 entries and 'right' has 2, but both must have the length"),
        ((shorten_keys,), r"'shorten_keys': wrote 'edges' as \(u: .*, not as edges"),
    ],
)  # fmt: skip
def test_fields_of_one_axis_have_one_length(steps, message):
    with pytest.raises(PipelineError, match=message):
        Pipeline("p", *steps).run(GRAPH)


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
    assert names(original.insert_before("count_edges", start_levels))[1] == "start_levels"
    assert names(original) == before
    assert dict(swapped.given(limit=3).values) == {"limit": 3}
    assert dict(swapped.values) == dict(original.values) == {}
    other = original.named("mine", "my own")
    assert (other.name, other.summary, names(other)) == ("mine", "my own", before)
    assert original.name == "boruvka-edgelist"


def test_edits_reach_into_conditions():
    original = mstflow.algorithm("filter-boruvka")
    assert names(original.insert_after("drop_loops", add_level)).count("add_level") == 3
    assert "drop_loops" not in names(original.remove("drop_loops"))


@pytest.mark.parametrize("name", ["small", "dense", "sample_size", "light_per_vertex"])
@pytest.mark.parametrize("value", [-1, -0.5, float("nan")])
def test_numbers_below_zero_are_refused(name, value):
    values = {"small": 0, "dense": 0, name: value}
    pipeline = mstflow.algorithm("filter-boruvka").given(**values)
    with pytest.raises(PipelineError, match=f"reads '{name}' as number of at least 0, but it is"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline)


@pytest.mark.parametrize("backend", mstflow.backends())
def test_all_edges_can_be_light(backend):
    draw = np.random.default_rng(5)
    graph = (*draw.integers(0, 100, (2, 1000)), draw.random(1000))
    light = mstflow.algorithm("filter-boruvka").given(small=0, light_per_vertex=float("inf"))
    found = mstflow.minimum_spanning_forest(graph, algorithm=light, backend=backend)
    assert found.edge_ids.tolist() == mstflow.minimum_spanning_forest(graph).edge_ids.tolist()


def test_a_value_by_backend():
    pipeline = mstflow.algorithm("filter-boruvka")
    small = {name: pipeline.values_on(name)["small"] for name in ("numpy", "numba", "another")}
    assert small["numpy"] == small["another"] < small["numba"]
    assert pipeline.given(small=3).values_on("numba")["small"] == 3


def test_values_that_no_stage_reads():
    pipeline = mstflow.algorithm("boruvka-edgelist").insert_after("drop_loops", mark_light_edges)
    message = "pipeline 'boruvka-edgelist': no stage reads 'limti'; did you mean 'limit'"
    with pytest.raises(PipelineError, match=message):
        pipeline.given(limit=3, limti=3)
    message = "pipeline 'filter-boruvka': no stage reads 'max_wieght'; insert the stage first"
    with pytest.raises(PipelineError, match=message):
        mstflow.algorithm("filter-boruvka").given(max_wieght=3)
    assert pipeline.given(limit=3).values == {"limit": 3}


def test_a_combination_can_read_given_values():
    def capped_sum(ops, parts, limit):
        return (min(limit, sum(count for (count,) in parts)),)

    @stage(writes="num_found", combine=capped_sum)
    def count_some(edges: Edges) -> Count:
        return len(edges.u)

    pipeline = Pipeline("p", count_some, result=("num_found",))
    for limit, found in (3, 3), (9, 4):
        fields, _ = pipeline.given(limit=limit).run(GRAPH, partitions=2)
        assert fields == {"num_found": found}


def test_invalid_edits():
    original = mstflow.algorithm("boruvka-edgelist")
    with pytest.raises(PipelineError, match="has no stage 'drop_edges'; it has: drop_loops"):
        original.remove("drop_edges")
    for edit in (lambda: original.remove("no_edges_left"),
                 lambda: original.insert_after("no_edges_left", start_levels)):  # fmt: skip
        with pytest.raises(PipelineError, match="'no_edges_left' writes a verdict"):
            edit()


@pytest.mark.parametrize("result", [("levels",), ("forest", "levels"), ("levels", "forest")])
def test_minimum_spanning_forest_accepts_only_forests(result):
    pipeline = Pipeline("p", start_levels, result=result)
    message = r"pipeline 'p' has the result .*'levels'.*; use Pipeline\.run"
    with pytest.raises(OptionError, match=message):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline)
    with pytest.raises(OptionError, match="result must be names of fields, not 5"):
        pipeline.run(GRAPH, result=5)
    fields, _ = pipeline.run(GRAPH)
    assert tuple(fields) == result
    assert fields["levels"] == ()


def test_description_and_picture(algorithm, tmp_path):
    pipeline = mstflow.algorithm(algorithm)
    text = pipeline.describe()
    picture = pipeline.draw(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text() == picture
    with pytest.raises(OptionError, match=r"x\.png: a drawing is SVG"):
        pipeline.draw("x.png")
    assert (IMAGES / f"{algorithm}.svg").read_text() == picture  # as the documentation shows it
    check_described(pipeline, text, picture)


@pytest.mark.parametrize("name", mstflow.strategies())
def test_description_and_picture_of_strategies(name):
    strategy = mstflow.strategy(name)
    check_described(strategy, strategy.describe(), strategy.draw())


def check_described(flow, text, picture):
    labels = [element.text for element in ElementTree.fromstring(picture).iter() if element.text]
    for step in flow.stages():
        assert step.name in text
        assert any(step.name in label for label in labels)
        for field in (*step.reads, *step.writes):
            assert field.rpartition(".")[2] in text
            assert field in labels


@stage(writes="edges", combine="sum")
def add_up_ends(edges: Edges):
    return edges.u.sum()


@stage(writes="stop")
def stop_at_once(edges):
    return True


@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_a_field_that_moves_from_the_partitions_to_the_whole(scheduler):
    pipeline = Pipeline("p", add_up_ends, Loop(until=stop_at_once), result=("edges",))
    for partitions in 1, 2:
        fields, _ = pipeline.run(GRAPH, partitions=partitions, scheduler=scheduler)
        assert fields == {"edges": 3}


def test_own_pipeline_on_partitions_iterates():
    pipeline = mstflow.algorithm("boruvka-edgelist").insert_after(
        "drop_loops", mark_light_edges, count_light_edges
    ).given(limit=4.0)  # fmt: skip
    forest = mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline, partitions=2)
    assert (forest.strategy, forest.edge_ids.tolist()) == ("iterate", [1, 2, 3])


@pytest.mark.parametrize("limit", [3, 3.0, 3.5, np.float32(3.5)])
@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_limits_are_numbers(limit, scheduler):
    @stage(writes="limit")
    def double_limit(limit: Number) -> Number:
        return 2 * limit

    pipeline = Pipeline("p", *COUNT_LIGHT, double_limit, result=("num_light",)).given(limit=limit)
    fields, report = pipeline.run(GRAPH, partitions=2, scheduler=scheduler)
    assert fields["num_light"] == 3
    assert report.final["limit"] == 2 * limit
    assert report.after(0) == report.final
    assert f"{2 * float(limit):g}" in str(report)


@pytest.mark.parametrize("limit", ["3", True, None])
def test_limits_must_be_numbers(limit):
    pipeline = Pipeline("p", *COUNT_LIGHT, result=("num_light",)).given(limit=limit)
    with pytest.raises(PipelineError, match="'mark_light_edges': reads 'limit' as number, but"):
        pipeline.run(GRAPH)


def test_reports_are_equal_on_every_scheduler(cluster):
    random = np.random.default_rng(7)
    graph = (*random.integers(0, 60, (2, 300)), random.integers(0, 99, 300))
    counted = mstflow.algorithm("boruvka-edgelist").insert_after("count_edges", *COUNT_LIGHT)
    for pipeline in (counted.given(limit=30), THREE_ROUNDS, mstflow.algorithm("filter-boruvka")):
        first, *others = (
            pipeline.run(graph, scheduler=scheduler, partitions=3, strategy="iterate")[1]
            for scheduler in ("inline", "synchronous", "threads", cluster)
        )
        assert "num_light" in first.final or pipeline.name != counted.name
        for report in others:
            assert (report.counts, report.final) == (first.counts, first.final)
            assert [call[:3] for call in report.calls] == [call[:3] for call in first.calls]


LARGE = 2**64 - 1


@pytest.mark.parametrize(
    ("combine", "expected"), [("minimum", LARGE), ("maximum", LARGE + 3), ("sum", 4 * LARGE + 6)]
)
@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_large_counts_combine_exactly(combine, expected, scheduler):
    @stage(writes="large", combine=combine)
    def count_much(edges: Edges) -> Count:
        return LARGE + int(edges.edge_id[0])

    fields, report = Pipeline("p", count_much, result=("large",)).run(
        GRAPH, partitions=4, scheduler=scheduler
    )
    assert fields == {"large": expected}
    assert report.final["large"] == expected
    assert f"{expected:,}" in str(report)


def test_large_counts_combine_by_row():
    @stage(writes=("least", "place"), combine="lexicographic minimum")
    def find_least(edges: Edges) -> tuple[Count, Count]:
        return LARGE + int(edges.edge_id[0]) % 2, LARGE - int(edges.edge_id[0])

    pipeline = Pipeline("p", find_least, result=("least", "place"))
    fields, _ = pipeline.run(GRAPH, partitions=4)
    assert fields == {"least": LARGE, "place": LARGE - 2}


ROUND = (*JOIN, add_level, *CONTRACT)
THREE_ROUNDS = Pipeline(
    "three-rounds",
    start_levels,
    drop_loops,
    count_edges,
    *ROUND,
    *ROUND,
    *ROUND,
    compose_labels,
    result=("labels", "edges", "forest"),
)


@pytest.mark.parametrize("scheduler", ["inline", "threads"])
@given(graph=edge_lists(), maximum=st.booleans())
def test_fields_of_partitions_are_concatenated(scheduler, graph, maximum):
    first, *others = (
        THREE_ROUNDS.run(
            graph,
            result=("edges", "labels", "forest", "num_edges", "num_vertices"),
            maximum=maximum,
            partitions=partitions,
            scheduler=scheduler,
        )[0]
        for partitions in (1, 2, 5)
    )
    assert list(first) == ["edges", "labels", "forest", "num_edges", "num_vertices"]
    edges, forest = first["edges"], first["forest"]
    assert isinstance(edges, Edges)
    assert (np.diff(edges.edge_id) > 0).all()
    assert len(edges.u) == first["num_edges"]
    assert (np.diff(forest) > 0).all()
    for other in others:
        np.testing.assert_equal(other, first)
        arrays = ((found[name] for name in ("labels", "forest")) for found in (other, first))
        for ours, theirs in zip(*(([*found], [*found]) for found in arrays), strict=True):
            assert [each.dtype for each in ours] == [each.dtype for each in theirs]


@given(graph=edge_lists())
def test_three_rounds(graph):
    fields, report = THREE_ROUNDS.run(graph)
    labels, edges, forest = fields.values()
    u, v = (column.astype(np.int64) for column in (graph.u, graph.v))
    left = np.flatnonzero(labels[u] != labels[v])  # each fragment is one of the vertices now
    np.testing.assert_array_equal(edges.edge_id, left)
    np.testing.assert_array_equal(edges.u, labels[u][left])
    np.testing.assert_array_equal(edges.v, labels[v][left])
    expected = kruskal(graph)
    assert np.isin(forest, expected).all()
    assert len(forest) == graph.num_vertices - len(np.unique(labels))
    rest = mstflow.EdgeList(edges.u, edges.v, graph.weight[left], num_vertices=len(labels))
    np.testing.assert_array_equal(np.sort([*forest, *left[kruskal(rest)]]), expected)
    assert report.final["num_edges"] == len(left)


def test_a_result_of_one_field():
    fields, report = THREE_ROUNDS.run(GRAPH, result="labels")
    assert list(fields) == ["labels"]
    assert fields["labels"].tolist() == [0, 0, 0, 0]
    assert report.plan.algorithm == "three-rounds"
    with pytest.raises(PipelineError, match="pipeline 'three-rounds': its result: reads 'colour'"):
        THREE_ROUNDS.run(GRAPH, result=("labels", "colour"))
