"""Verification accepts the minimum spanning forest and names the first error of any other."""

import ast
import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import mstflow
from command_errors import error_of
from graph_strategies import WEIGHT_DTYPES, edge_lists, union_of_many
from mstflow import EdgeList, minimum_spanning_forest, verify
from mstflow.__main__ import main
from mstflow.errors import FileFormatError, GraphError, MstflowError, OptionError, VerificationError
from oracle import Sets, components, kruskal

# Two triangles 0-1-2 and 3-4-5, vertex 6 alone; a loop (1), parallel edges (4, 7), ties.
GRAPH = EdgeList(
    np.array([0, 1, 1, 2, 3, 4, 5, 4]),
    np.array([1, 1, 2, 0, 4, 5, 3, 3]),
    np.array([2.0, -9.0, 2.0, 2.0, 1.0, 3.0, 2.5, 1.0]),
    num_vertices=7,
)
FOREST = [0, 2, 4, 6]

CAPPED = (
    "if the forest was computed with a limit on weights, verify it against the graph without the "
    "edges beyond that limit"
)

maxima = st.booleans()
blocks = st.integers(1, 50)


def problem(graph, edge_ids, **options):
    with pytest.raises(VerificationError) as caught:
        verify(graph, edge_ids, **options)
    return str(caught.value)


def expected_problem(graph, edge_ids, maximum):
    """Return the first error of ascending edge ids: (edge, how, other edge), or None."""
    u, v, weight = graph.u.tolist(), graph.v.tolist(), graph.weight.tolist()
    order = sorted(range(len(u)), key=weight.__getitem__, reverse=maximum)
    rank = {edge: place for place, edge in enumerate(order)}
    sets = Sets(graph.num_vertices)
    by_rank = sorted(edge_ids, key=rank.get)
    closing = [edge for edge in by_rank if not sets.join(u[edge], v[edge], rank[edge])]
    if closing:
        edge = min(closing)
        return edge, "is a loop" if u[edge] == v[edge] else "closes a cycle", None
    for edge in range(len(u)):
        if u[edge] == v[edge]:
            continue
        # Edges were added in order, so the one that joined these ends is the heaviest.
        joined = sets.time_joined(u[edge], v[edge])
        if joined == math.inf:
            return edge, "joins two trees", None
        if rank[edge] < joined:
            how = "has the same weight" if weight[edge] == weight[order[joined]] else "is "
            return edge, how, order[joined]
    return None


def check_against_definition(graph, edge_ids, maximum, block):
    expected = expected_problem(graph, edge_ids, maximum)
    assert (expected is None) == (edge_ids == kruskal(graph, maximum).tolist())
    options = {"maximum": maximum, "block_edges": block}
    if expected is None:
        found = verify(graph, edge_ids, **options)
        assert found.num_components == len(set(components(graph).tolist()))
        return
    edge, how, other = expected
    message = problem(graph, edge_ids, **options)
    assert message.startswith(f"edge {edge} (")
    assert f") {how}" in message
    if other is not None:
        assert f" edge {other} (" in message


@given(edge_lists(), maxima, blocks)
def test_solved_forests_pass(graph, maximum, block):
    forest = minimum_spanning_forest(graph, maximum=maximum)
    found = verify(graph, forest, maximum=maximum, block_edges=block)
    assert found.num_forest_edges == len(forest.edge_ids)
    assert found.num_components == forest.num_components
    assert (found.num_vertices, found.num_edges) == (graph.num_vertices, graph.num_edges)
    assert found.compared == ("u", "v", "weight")
    assert verify(graph, forest.edge_ids, maximum=maximum).compared == ()


@given(edge_lists(), maxima, blocks, st.data())
def test_any_set_of_edges(graph, maximum, block, data):
    ids = data.draw(st.sets(st.integers(0, graph.num_edges - 1))) if graph.num_edges else []
    check_against_definition(graph, sorted(ids), maximum, block)


@given(edge_lists(), maxima, blocks, st.data())
def test_a_forest_with_one_edge_changed(graph, maximum, block, data):
    forest = set(kruskal(graph, maximum).tolist())
    others = sorted(set(range(graph.num_edges)) - forest)
    change = data.draw(st.sampled_from(["exchange", "drop", "add"]))
    if change != "add" and forest:
        forest.remove(data.draw(st.sampled_from(sorted(forest))))
    if change == "exchange":  # restore a spanning forest with an edge that is not lighter
        ids = np.array(sorted(forest), dtype=np.int64)
        label = components(EdgeList(graph.u[ids], graph.v[ids], num_vertices=graph.num_vertices))
        others = [edge for edge in others if label[graph.u[edge]] != label[graph.v[edge]]]
    if change != "drop" and others:
        forest.add(data.draw(st.sampled_from(others)))
    check_against_definition(graph, sorted(forest), maximum, block)


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
@pytest.mark.parametrize("maximum", [False, True])
def test_large_unions(dtype, maximum):
    graph = union_of_many(60, dtype)
    forest = kruskal(graph, maximum)
    verify(graph, forest, maximum=maximum, block_edges=97)
    for place in (0, len(forest) // 2, len(forest) - 1):
        assert "joins two trees" in problem(graph, np.delete(forest, place), maximum=maximum)


@pytest.mark.parametrize(
    ("edge_ids", "message"),
    [
        ([0, 2, 4], f"edge 5 (4-5, weight 3.0) joins two trees of the forest; {CAPPED}"),
        ([], "edge 0 (0-1, weight 2.0) joins two trees of the forest"),
        ([0, 2, 4, 5], "edge 6 (5-3, weight 2.5) is lighter than edge 5 (4-5, weight 3.0) on the "
         "path between its ends"),
        ([0, 3, 4, 6], "edge 2 (1-2, weight 2.0) has the same weight and a smaller id than edge 3 "
         "(2-0, weight 2.0) on the path between its ends"),
        ([0, 2, 6, 7], "edge 4 (3-4, weight 1.0) has the same weight and a smaller id than edge 7 "
         "(4-3, weight 1.0) on the path between its ends"),
        ([0, 2, 3, 4, 6], "edge 3 (2-0, weight 2.0) closes a cycle with other edges of the forest"),
        ([0, 2, 4, 6, 7], "edge 7 (4-3, weight 1.0) closes a cycle with other edges of the forest"),
        ([0, 1, 2, 4, 6], "edge 1 (1-1, weight -9.0) is a loop"),
        ([0, 2, 4, 4, 6], "edge id 4 occurs twice"),
        ([0, 4, 6, 4], "edge id 4 occurs twice"),
        ([0, 4, 2, 6], "edge id 2 follows 4, but edge ids must be ascending"),
        ([0, 2, 4, 8], "edge id 8 does not exist: the graph has 8 edges"),
        ([-1, 2, 4, 6], "edge id -1 does not exist: the graph has 8 edges"),
    ],
)  # fmt: skip
def test_messages(edge_ids, message):
    for block in (1, 2, 3, 8, 100):
        verify(GRAPH, FOREST, block_edges=block)
        assert problem(GRAPH, edge_ids, block_edges=block) == message


def test_maximum():
    verify(GRAPH, [0, 2, 5, 6], maximum=True)
    lighter = problem(GRAPH, FOREST, maximum=True)
    assert lighter.startswith("edge 5 (4-5, weight 3.0) is heavier than edge 4 (3-4, weight 1.0)")
    tied = problem(GRAPH, [0, 3, 5, 6], maximum=True)
    assert tied.startswith(
        "edge 2 (1-2, weight 2.0) has the same weight and a smaller id than edge 3"
    )
    assert "is lighter than" in problem(GRAPH, [0, 2, 5, 6])


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", ">i8"])
def test_ids_of_any_integer_dtype(dtype):
    verify(GRAPH, np.array(FOREST, dtype))
    assert "edge id 9 does" in problem(GRAPH, np.array([0, 2, 9], dtype))
    star = EdgeList(np.zeros(300, int), np.arange(1, 301))  # more edges than int8 can represent
    assert "edge 3 (0-4, weight 1) joins" in problem(star, np.array([0, 1, 2], dtype))


def test_weights_are_not_rounded():
    u, v = [0, 1, 2], [1, 2, 0]
    for low, high in ((2**53, 2**53 + 1), (2**63 - 2, 2**63 - 1), (-(2**63), 1 - 2**63)):
        graph = EdgeList(u, v, np.array([high, low, low]))
        verify(graph, [1, 2])
        assert problem(graph, [0, 1]).startswith("edge 2 (2-0")
    signs = EdgeList(u, v, [0.0, -0.0, 0.0])  # equal weights, but a sign bit in one block
    verify(signs, [0, 1], block_edges=1)
    assert "has the same weight and a smaller id" in problem(signs, [1, 2], block_edges=1)


def test_keys_of_blocks_compare():
    """One block has negative weights, the other none."""
    graph = EdgeList([0, 1, 0, 1], [1, 2, 2, 2], [-5, 4, 3, -1])
    verify(graph, [0, 3], block_edges=2)
    assert problem(graph, [0, 1], block_edges=2).startswith("edge 2 (0-2, weight 3) is lighter")


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_edges(n):
    found = verify(([], []), [], num_vertices=n)
    assert (found.num_components, found.num_edges) == (n, 0)
    assert "edge id 0 does not exist" in problem(([], []), [0], num_vertices=n)


def test_a_first_block_without_edges(tmp_path):
    for name, size in (("empty", 0), ("rest", 8)):
        columns = {"u": GRAPH.u[:size], "v": GRAPH.v[:size], "weight": GRAPH.weight[:size]}
        parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    paths = [tmp_path / "empty.parquet", tmp_path / "rest.parquet"]
    assert verify(paths, FOREST, num_vertices=7).num_forest_edges == 4
    assert problem(paths, [0, 2, 4, 5], num_vertices=7).startswith("edge 6 ")
    assert verify(paths[:1], []).num_vertices == 0


def test_deep_trees():
    """On a path with the weights of a ruler, each round only halves the number of fragments."""
    n = 2**10
    inner = np.arange(1, n)
    ruler = np.log2(inner & -inner)
    far = np.array([[0, n // 2 - 1, 3], [n - 1, n // 2, n - 7]])
    for added, is_right in ((10, True), (8.5, False)):
        ends = np.concatenate([[inner - 1, inner], far], axis=1)
        graph = EdgeList(*ends, np.append(ruler, [added] * 3))
        if is_right:
            verify(graph, inner - 1)
        else:
            middle = f"edge {n // 2 - 1} ({n // 2 - 1}-{n // 2}, weight 9.0)"
            assert f"is lighter than {middle}" in problem(graph, inner - 1)


def test_an_edge_slightly_lighter_than_the_shortcut():
    graph = EdgeList([0, 1, *[0] * 5], [1, 2, *[2] * 5], [1, 5, 9, 9, 9, 3, 9])
    assert problem(graph, [0, 1]) == (
        "edge 5 (0-2, weight 3) is lighter than edge 1 (1-2, weight 5) on the path between its ends"
    )


def test_memory_is_proportional_to_vertices_and_block():
    random = np.random.default_rng(2)
    n, m = 1000, 500_000
    graph = EdgeList(*random.integers(0, n, (2, m)), random.random(m), num_vertices=n)
    edge_ids = minimum_spanning_forest(graph).edge_ids
    tracemalloc.start()
    verify(graph, edge_ids, block_edges=n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < m


def test_forms_of_a_graph(tmp_path):
    np.savez(tmp_path / "g.npz", u=GRAPH.u, v=GRAPH.v, w=GRAPH.weight, n=7)
    path = tmp_path / "g.npz"
    columns = (GRAPH.u, GRAPH.v, GRAPH.weight)
    mapped = save(tmp_path / "g", u=columns[0], v=columns[1], weight=columns[2])
    for graph in (GRAPH, columns, list(columns), path, str(path), [path], mapped):
        assert verify(graph, FOREST, num_vertices=9).num_components == 5
    assert verify([path, path], FOREST).num_edges == 16
    assert verify(columns[:2], [0, 2, 4, 5]).num_edges == 8


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((GRAPH, [0.0, 2.0]), {}, GraphError, "edge_id must hold integers, not float64"),
        ((GRAPH, [True, False]), {}, GraphError, "edge_id must hold integers, not bool"),
        ((GRAPH, [[0, 2]]), {}, GraphError, "edge_id must be one-dimensional"),
        ((GRAPH, [[0], [1, 2]]), {}, GraphError, "edge ids must be integers"),
        ((GRAPH, FOREST), {"block_edges": 0}, OptionError, "block_edges must be an integer"),
        ((GRAPH, FOREST), {"block_edges": True}, OptionError, "block_edges must be an integer"),
        ((GRAPH, FOREST), {"maximum": "no"}, OptionError, "maximum must be True or False"),
        ((GRAPH, FOREST), {"num_vertices": 3}, GraphError, "but there are 3 vertices"),
        ((GRAPH.u, FOREST), {}, GraphError, "expected a graph: an EdgeList, a tuple"),
        (((GRAPH.u,), FOREST), {}, GraphError, "expected a graph: an EdgeList, a tuple"),
        ((([0], [1], [np.nan]), [0]), {}, GraphError, "the weight is NaN"),
        (("absent.gr", [0]), {}, FileFormatError, "No such file"),
        ((GRAPH, "absent.npz"), {}, FileFormatError, "absent.npz: No such file"),
        ((GRAPH, "absent.csv"), {}, FileFormatError, "absent.csv: No such file"),
        ((GRAPH, "absent"), {}, FileFormatError, "absent: No such file"),
    ],
)
def test_bad_input(arguments, options, error, message):
    with pytest.raises(error, match=message):
        verify(*arguments, **options)
    assert issubclass(error, MstflowError)


# Files.

SUFFIXES = ["", ".npz", ".csv", ".parquet"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
def test_every_saved_forest_passes(tmp_path, dtype, suffix):
    graph = union_of_many(30, dtype)
    path = tmp_path / f"forest{suffix}"
    minimum_spanning_forest(graph).save(path)
    assert verify(graph, path).compared == ("u", "v", "weight")
    empty = EdgeList([], [], np.empty(0, dtype), num_vertices=3)
    path = tmp_path / f"empty{suffix}"
    minimum_spanning_forest(empty).save(path)
    assert verify(empty, path).num_components == 3


def save(path, **columns):
    columns = {name: np.asarray(column) for name, column in columns.items()}
    if path.suffix == ".npz":
        np.savez(path, **columns)
    elif path.suffix == ".csv":
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
    else:
        path.mkdir()
        for name, column in columns.items():
            np.save(path / f"{name}.npy", column)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_are_compared(tmp_path, suffix):
    right = {"u": GRAPH.u[FOREST], "v": GRAPH.v[FOREST], "weight": GRAPH.weight[FOREST]}
    only_ids = save(tmp_path / f"ids{suffix}", edge_id=FOREST)
    assert verify(GRAPH, only_ids).compared == ()
    for place, (name, column) in enumerate(right.items()):
        other = column.copy()
        other[2] += 7
        path = save(tmp_path / f"{name}{suffix}", edge_id=FOREST, **{**right, name: other})
        message = f"edge 4: {name} is {other[2]} in the forest, but {column[2]} in the graph"
        assert problem(GRAPH, path) == message
        swapped = save(tmp_path / f"s{place}{suffix}", edge_id=FOREST, **{name: column})
        assert verify(GRAPH, swapped).compared == (name,)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        (np.int64(2**53), np.float64(2**53), True),
        (np.int64(2**53 + 1), np.float64(2**53), False),
        (np.float64(2**53), np.int64(2**53 + 1), False),
        (np.uint64(2**64 - 1), np.int64(-1), False),
        (np.uint64(2**64 - 1), np.float64(2**64), False),
        (np.int64(2), np.float64(2.5), False),
        (np.float64(1), np.float64(np.nan), False),
        (np.float64(np.inf), np.float64(-np.inf), False),
        (np.float64(-0.0), np.float64(0.0), True),
        (np.True_, np.uint8(1), True),
        (np.True_, np.uint8(2), False),
    ],
)
def test_weights_of_another_dtype(tmp_path, suffix, ours, theirs, equal):
    graph = EdgeList([0], [1], np.array([ours]))
    path = save(tmp_path / f"forest{suffix}", edge_id=[0], weight=[theirs])
    # Weights in text are parsed with the graph's dtype, so they round like the graph's own text.
    is_rounded = suffix == ".csv" and (ours.dtype.kind, theirs.dtype.kind) == ("f", "i")
    if equal or is_rounded:
        verify(graph, path)
    else:
        assert problem(graph, path).startswith("edge 0: weight is ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.csv", b"", "Empty CSV file"),
        ("f.csv", b"u,v\n1,2\n", "expected columns edge_id and optionally u, v, weight; found u"),
        ("f.csv", b"edge_id,w\n1,2\n", "found edge_id, w"),
        ("f.csv", b"edge_id\n1.5\n", "invalid value '1.5'"),
        ("f.csv", b"edge_id,u\n1\n", "Expected 2 columns, got 1"),
        ("f.csv", b"edge_id,edge_id\n1,2\n", "two columns have the same name"),
        ("f.csv", b"edge_id,weight\n1,heavy\n", "weight must hold numbers, not object"),
        ("f.csv", b"edge_id\n\xff\xfe\n", "f.csv: "),
        ("f.npz", b"", "f.npz: is not a .npz file"),
        ("f.npz", b"PK\x05\x06" + bytes(18), "found nothing"),
        (
            "f.parquet",
            b"",
            "f.parquet: is damaged or has another format (Parquet file size is 0 bytes)",
        ),
        ("f.txt", b"0\n", "expected a forest as .npz, .parquet, .csv or a folder of .npy columns"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=f"{name}: ") as caught:
        verify(GRAPH, tmp_path / name)
    assert message in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".npz"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"edge_id": [0, 2], "u": [0]}, "the columns differ in length"),
        ({"edge_id": [[0, 2]]}, r"edge_id(\.npy:)? must be one-dimensional, not of shape"),
        ({"edge_id": 4}, r"edge_id(\.npy:)? must be one-dimensional, not of shape"),
        ({"edge_id": [0.0]}, "edge_id must hold integers, not float64"),
        ({"edge_id": [0], "weight": ["2"]}, r"weight(\.npy:)? must hold numbers, not <U1"),
        ({"edge_id": [0], "weight": [None]}, "Object arrays|must hold numbers, not object"),
        ({"ids": [0]}, "expected columns edge_id and optionally u, v, weight; found ids"),
        ({}, "found nothing"),
    ],
)
def test_bad_columns(tmp_path, suffix, columns, message):
    path = save(tmp_path / f"forest{suffix}", **columns)
    with pytest.raises(FileFormatError, match=message):
        verify(GRAPH, path)


def test_a_forest_of_another_graph():
    other = EdgeList(GRAPH.u, GRAPH.v, GRAPH.weight + 1, num_vertices=7)
    forest = minimum_spanning_forest(other)
    assert forest.edge_ids.tolist() == FOREST
    message = "edge 0: weight is 3.0 in the forest, but 2.0 in the graph"
    assert problem(GRAPH, forest) == message


def test_verification_imports_no_algorithm():
    folder = Path(mstflow.__file__).with_name("queries")
    trees = [ast.parse((folder / name).read_text()) for name in ("verify.py", "path_maxima.py")]
    nodes = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    neighbours = {n.module for n in nodes if n.level == 1}
    others = {n.module for n in nodes if n.level == 2}
    assert neighbours == {"path_maxima"}
    found = {name for name in others if name.startswith(("forest", "pipeline", "stages"))}
    # forest only for the class Forest; edges imports nothing of mstflow
    assert found == {"forest.edges", "forest.forest", "pipeline.options"}


# The command line.


@pytest.fixture
def solved(tmp_path):
    """A graph as text and its forest as solve writes it, in every form."""
    graph = tmp_path / "graph.txt"
    graph.write_text("0 1 3\n1 2 1\n2 0 2\n0 3 5\n")
    for suffix in SUFFIXES:
        assert main(["solve", str(graph), "-o", str(tmp_path / f"f{suffix}"), "--quiet"]) == 0
    return tmp_path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_command_right(capsys, solved, suffix):
    graph, forest = str(solved / "graph.txt"), str(solved / f"f{suffix}")
    assert main(["verify", graph, forest]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "right: this is the minimum spanning forest, edge for edge" in out
    assert "compared      edge ids, u, v, weight" in out
    assert main(["verify", graph, forest, "--quiet", "--format", "txt"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["verify", graph, forest, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert list(facts.pop("seconds")) == ["start", "read", "verify"]
    assert facts.pop("peak_rss_bytes") > 0
    assert facts == {
        "right": True,
        "vertices": 4,
        "edges": 4,
        "components": 1,
        "forest_edges": 3,
        "compared": ["u", "v", "weight"],
        "maximum": False,
    }


def test_command_wrong(capsys, solved):
    graph, forest = str(solved / "graph.txt"), str(solved / "f.npz")
    message = "edge 0 (0-1, weight 3) is heavier than edge 1 (1-2, weight 1) on the path between"
    assert main(["verify", graph, forest, "--maximum", "--json"]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"wrong: {forest}: {message}")
    assert err.count("\n") == 1
    facts = json.loads(out)
    assert facts["right"] is False
    assert facts["problem"].startswith(message)
    assert main(["verify", graph, forest, "--maximum", "--quiet"]) == 1
    assert capsys.readouterr().out == ""
    assert main(["verify", graph, graph, forest]) == 0  # the copy's edges lose all ties
    assert main(["solve", graph, "--maximum", "-o", forest, "--quiet"]) == 0
    for options in ([], ["--maximum"]):
        assert main(["verify", graph, forest, *options]) == 0
        assert "the maximum spanning forest" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}/f.npz"], "the following arguments are required: FOREST"),
        (["{folder}/graph.txt", "{folder}/absent.csv"], "absent.csv: No such file"),
        (["{folder}/absent.txt", "{folder}/f.npz"], "absent.txt: No such file"),
        (["{folder}/graph.txt", "{folder}/graph.txt"], "graph.txt: expected a forest as .npz"),
        (["{folder}/graph.txt", "{folder}/f", "--format", "gr"], "graph.txt: line 1: "),
    ],
)
def test_command_bad_input(capsys, solved, arguments, message):
    words = [word.format(folder=solved) for word in arguments]
    assert message in error_of(capsys, solved, ["verify", *words])


def test_new_york(new_york):
    forest = minimum_spanning_forest(new_york)
    assert verify(new_york, forest).num_components == 1
    assert "joins two trees" in problem(new_york, forest.edge_ids[1:])


def test_a_forest_knows_whether_it_is_maximum():
    for maximum in (False, True):
        forest = minimum_spanning_forest(GRAPH, maximum=maximum)
        verify(GRAPH, forest)
        verify(GRAPH, forest, maximum=maximum)
        with pytest.raises(VerificationError):
            verify(GRAPH, forest, maximum=not maximum)
