"""Mistakes of newcomers: each is caught when the pipeline is made, or by one of both checks."""

import re

import numpy as np
import pytest

import mstflow
from mstflow import stage
from mstflow.errors import PipelineError
from mstflow.stages.fields import Count, Edges, Lightest, Number, Verdict, VertexIndex
from mstflow.testing import check_algorithm, check_stage

BORUVKA = mstflow.algorithm("boruvka-edgelist")


def wrong_name():
    @stage(writes="edges")
    def s(ops, edge: Edges) -> Edges:
        return edge

    return s


def wrong_write():
    @stage(writes="egdes")
    def s(ops, edges: Edges) -> Edges:
        return Edges(*ops.compact(edges.u != edges.v, *edges))

    return s


def wrong_dtype():
    @stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
    def find_min_edges(ops, edges: Edges, num_vertices: Count) -> Lightest:
        k, i, e = ops.scatter_min_pairs(*edges, num_vertices)
        return k.astype("float64"), i, e

    return find_min_edges


def wrong_dtype2():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return edges._replace(edge_id=edges.edge_id.astype("uint64"))

    return s


def wrong_dtype3():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return edges._replace(key=edges.key // 2 * 2 if False else edges.key.astype("uint8"))

    return s


def no_annotation():
    @stage(writes="edges")
    def s(ops, edges):
        return edges[0], edges[1]

    return s


def no_return():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        Edges(*ops.compact(edges.u != edges.v, *edges))

    return s


def no_return2():
    @stage(writes="num_loops", combine="sum")
    def s(ops, edges: Edges) -> Count:
        ops.count(edges.u == edges.v)

    return s


def twice():
    @stage(writes=("edges", "edges"))
    def s(ops, edges: Edges):
        return edges, edges

    return s


def too_few():
    @stage(writes=("edges", "num_x"))
    def s(ops, edges: Edges):
        return edges

    return s


def side_effect():
    seen = []

    @stage(writes="num_calls", combine="sum")
    def s(edges: Edges) -> Count:
        seen.append(1)
        return len(seen)

    return s


def side_effect_global():
    @stage(writes="edges")
    def s(edges: Edges) -> Edges:
        LOG.append(len(edges.u))
        return edges

    return s


LOG = []


def use_numpy():
    @stage(writes="edges")
    def s(edges: Edges) -> Edges:
        keep = np.flatnonzero(np.asarray(edges.u) != np.asarray(edges.v))
        return Edges(*(c[keep] for c in edges))

    return s


def random_():
    @stage(writes="num_r", combine="sum")
    def s(edges: Edges) -> Count:
        return int(np.random.default_rng().integers(1000))

    return s


def mutate():
    @stage(writes="edges")
    def s(edges: Edges) -> Edges:
        edges.u[:] = edges.u
        return edges

    return s


def mutate2():
    @stage(writes="edges")
    def s(edges: Edges) -> Edges:
        edges.key.sort()
        return edges

    return s


def wrong_length():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return edges._replace(key=edges.key[:-1])

    return s


def wrong_length2():
    @stage(writes="successor")
    def s(ops, num_vertices: Count) -> VertexIndex:
        return ops.arange(num_vertices + 1, dtype="int32")

    return s


def reorder():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        o = ops.argsort(edges.key)
        return Edges(*(ops.gather(c, o) for c in edges))

    return s


def reverse():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return Edges(*(c[::-1] for c in edges))

    return s


def no_combine():
    @stage(writes="num_here")
    def s(ops, edges: Edges) -> Count:
        return len(edges.u)

    return s


def bad_combine():
    @stage(writes="num_here", combine="add")
    def s(ops, edges: Edges) -> Count:
        return len(edges.u)

    return s


def wrong_combine():
    @stage(writes="num_edges", combine="maximum")
    def s(edges: Edges) -> Count:
        return len(edges.u)

    return s


def wrong_combine_beside_vertices():
    @stage(writes="num_edges", combine="maximum")
    def s(edges: Edges, successor: VertexIndex) -> Count:
        return len(edges.u)

    return s


def not_called():
    @stage
    def s(edges: Edges):
        return edges

    return s


def missing_value():
    @stage(writes="edges")
    def s(ops, edges: Edges, limit: Number) -> Edges:
        return edges

    return s


def wrong_ops():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return Edges(*ops.filter(edges.u != edges.v, *edges))

    return s


def as_verdict():
    @stage(writes="no_edges_left")
    def no_edges_left(num_edges: Count) -> Verdict:
        return np.bool_(num_edges == 0)

    return no_edges_left


def never():
    @stage(writes="never")
    def never(num_edges: Count) -> Verdict:
        return False

    return never


def exc():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return edges.u[10**9]

    return s


def wrong_kind():
    @stage(writes="x")
    def s(ops, num_vertices: VertexIndex) -> Count:
        return 1

    return s


def edges_tuple():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return ops.compact(edges.u != edges.v, *edges)

    return s


def drop_random_edges():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return Edges(*ops.compact(edges.edge_id % 2 == 0, *edges))

    return s


def position_bug():
    @stage(writes="edges")
    def s(ops, edges: Edges) -> Edges:
        return Edges(*ops.compact(ops.arange(len(edges.u), "int64") % 2 == 0, *edges))

    return s


#: For each mistake: where it is inserted (before `find_min_edges` by default), what notices it, and
#: a part of the message.
CASES = {
    wrong_name: ("make", "reads 'edge', which no earlier stage writes; did you mean 'edges'"),
    wrong_write: ("make", "writes 'egdes', which nothing reads; did you mean 'edges'"),
    wrong_dtype: ("check_stage", "wrote 'best_key' as float64", "replace find_min_edges"),
    wrong_dtype2: ("check_stage", "wrote 'edges' as .*edge_id: uint64"),
    wrong_dtype3: ("check_stage", "no 'astype'; use the functions of ops .it read edges"),
    no_annotation: ("make", "writes 'edges' without a type; annotate"),
    no_return: ("check_stage", "wrote 'edges' as NoneType"),
    no_return2: ("check_stage", "wrote 'num_loops' as NoneType"),
    twice: ("declare", "expected distinct names for writes, got .'edges', 'edges'"),
    too_few: ("make", "writes 'edges' without a type"),
    side_effect: ("check_stage", "modifies 'seen', which is not a field"),
    side_effect_global: ("check_stage", "modifies 'LOG', which is not a field"),
    use_numpy: ("check_stage", "passed to NumPy; use the functions of ops .it read edges"),
    random_: ("check_stage", "different results for the same input .*it wrote num_r"),
    mutate: ("check_stage", "modifies its inputs: .* failed on edges"),
    mutate2: ("check_stage", "modifies its inputs: .* failed on edges"),
    wrong_length: ("check_stage", r"wrote 'edges' as .*key: uint8\[1\]"),
    wrong_length2: ("check_stage", "wrote 'successor' with 5", "insert_before propagate_colors"),
    reorder: ("check_stage", "writes 'edges' with ids that do not ascend"),
    reverse: ("check_stage", "writes 'edges' with ids that do not ascend"),
    no_combine: ("make", "writes 'num_here', which nothing reads; a report needs combine="),
    bad_combine: ("declare", "combine is 'add'; use a function or one of"),
    wrong_combine: (
        "check_stage",
        "two partitions do not combine to the result for both: 'num_edges'",
        "insert_before contract_fragments",
    ),
    wrong_combine_beside_vertices: (
        "check_stage",
        "two partitions do not combine to the result for both: 'num_edges'",
        "insert_before contract_fragments",
    ),
    not_called: ("declare", "name what it writes"),
    missing_value: ("make", "reads 'limit', which no earlier stage writes"),
    wrong_ops: ("check_stage", "failed on edges: .* no attribute 'filter'"),
    as_verdict: (
        "check_stage",
        "writes 'no_edges_left' as NumPy's bool",
        "replace no_edges_left",
    ),
    exc: ("check_stage", "failed on edges: .*IndexError"),
    wrong_kind: ("make", "reads 'num_vertices' as index along vertices, but it is count"),
    edges_tuple: ("check_stage", "wrote 'edges' as .*, not as edges"),
    drop_random_edges: ("check_algorithm", r"'s' dropped edge 1 from 'edges'; on the graph \(u="),
    position_bug: ("check_stage", "changes 'forest' of 'p' .* in 2 partitions"),
}


@pytest.mark.parametrize("mistake", CASES, ids=lambda make: make.__name__)
def test_mistakes_are_caught(mistake):
    step, message, *place = CASES[mistake]
    edit, name = (*place, "insert_before find_min_edges")[0].split()
    caught, error = catch(mistake, edit, name)
    assert caught == step
    assert re.search(f"^(stage|pipeline) '.*{message}", error)


def catch(mistake, edit, name):
    """Return what notices a mistake, and the message."""
    try:
        found = "declare"
        made = mistake()
        found = "make"
        pipeline = getattr(BORUVKA, edit)(name, made).named("p")
        pipeline.check()
        found = "check_stage"
        check_stage(made, pipeline)
        found = "check_algorithm"
        check_algorithm(pipeline)
    except PipelineError as error:
        return found, str(error)
    return "nothing", ""


def test_counterexamples_have_few_vertices_and_small_weights():
    """The first graph with a wrong forest has 7 edges of weights from -2 to 1, and 7 vertices."""

    @stage(writes="edges")
    def drop_some(ops, edges: Edges) -> Edges:
        return edges if len(edges.u) < 2 else Edges(*ops.compact(edges.v != 3, *edges))

    pipeline = BORUVKA.insert_before("find_min_edges", drop_some)
    with pytest.raises(PipelineError, match=r"weight=int8\[0, 0\]\) of 4 vertices"):
        check_algorithm(pipeline)


@pytest.mark.parametrize("name", mstflow.algorithms())
def test_the_catalogue_makes_none(name):
    check_algorithm(mstflow.algorithm(name))


def test_values_of_the_caller_win():
    """Small graphs reach the stages of large ones by other values, unless the caller chose them."""
    pipeline = mstflow.algorithm("karger-klein-tarjan")
    (sample_half,) = {step for step in pipeline.stages() if step.name == "sample_half"}
    with pytest.raises(PipelineError, match="is never called"):
        check_stage(sample_half, pipeline, small=1_000_000)
