"""Faults to plant: each replaces an expression that occurs once, and names tests that catch it.

`python tests/support/plant_faults.py` plants them, one at a time, in a copy of the repository.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """A wrong expression in place of a right one.

    Attributes
    ----------
    title : str
        The effect of the fault.
    file : str
    old, new : str
    tests : str
        Files and folders of tests, of which at least one test must fail.
    only : str
        An expression that chooses among these tests, as pytest's option -k.
    """

    title: str
    file: str
    old: str
    new: str
    tests: str
    only: str = ""


EQUALITY = "tests/test_equality.py"
CONFORMANCE = "tests/primitives/test_conformance.py"
SCANS = "tests/pipeline/streaming/test_scans.py"
STREAMING = "tests/pipeline/streaming/test_streaming.py"
PIPELINE = "tests/pipeline/test_pipeline.py"

FAULTS = [
    # Stages.
    Fault(
        "loops stay, and edges with descending ends go",
        "stages/edges.py", "ops.not_equal(edges.u, edges.v)", "edges.u <= edges.v", EQUALITY,
        "numpy and boruvka-edgelist",
    ),
    Fault(
        "of equal weights in two partitions the larger id wins",
        "stages/combine.py", "(tie[1] < tie[0])", "(tie[1] > tie[0])", EQUALITY,
        "numpy and boruvka-edgelist",
    ),
    Fault(
        "of equal weights in one partition the larger id wins",
        "stages/csr.py", "ops.argsort(edges.key)", "ops.argsort(~edges.key)[::-1]", EQUALITY,
        "numpy and boruvka-csr",
    ),
    Fault(
        "rounds end while two trees can still join",
        "stages/trees.py", "return num_active <= 1", "return num_active <= 2", EQUALITY,
        "numpy and boruvka-unionfind",
    ),
    Fault(
        "a parameter below zero is accepted",
        "stages/fields.py", "value >= self.least", "True", PIPELINE,
    ),
    Fault(
        "labels begin at 1",
        "stages/fragments.py", 'dtype="int64", exclusive=True', 'dtype="int64"', EQUALITY,
        "derived",
    ),
    Fault(
        "labels of several rounds are composed in the wrong order",
        "stages/fragments.py", "reversed(levels[:-1])", "levels[:-1]", PIPELINE,
        "three_rounds",
    ),
    Fault(
        "the sample has the first id of each block",
        "stages/filter.py", "(block << bits) + (hashed(block) >> (63 - bits))", "block << bits",
        "tests/stages/test_filter.py", "regular",
    ),
    Fault(
        "few light edges are chosen of many",
        "stages/filter.py", "num_edges, MIN_LIGHT_SHARE)", "num_edges, 0)",
        "tests/stages/test_filter.py", "passes",
    ),
    Fault(
        "the edges of a later graph keep the vertices of an earlier one",
        "graphs/disjoint_union.py", "np.add(graph.v, first,", "np.add(graph.v, 0,",
        "tests/graphs/test_many.py",
    ),
    # Primitives: the order of weights.
    Fault(
        "-0.0 comes before 0.0",
        "primitives/numpy_arrays.py", "weights.dtype.type(0))", "weights.dtype.type(-0.0))",
        CONFORMANCE,
        "numpy and order_key",
    ),
    Fault(
        "negative integers come last",
        "primitives/numpy_arrays.py", "key = key ^ sign", "key = key.copy()", CONFORMANCE,
        "numpy and order_key",
    ),
    Fault(
        "a limit below all weights selects the smallest",
        "primitives/weight_order.py", "if low >= first else -1", "if low >= first else first",
        "tests/primitives/test_weight_order.py",
    ),
    Fault(
        "NaN is accepted",
        "graphs/edge_list.py", "if extent.has_nan:", "if False:",
        "tests/test_solve.py",
    ),
    # Primitives: NumPy.
    Fault(
        "a sort is not stable",
        "primitives/numpy_arrays.py", 'np.argsort(values, kind="stable")', "np.argsort(values)",
        CONFORMANCE,
        "numpy and argsort",
    ),
    Fault(
        "the last position has no bits beside a value",
        "primitives/numpy_arrays.py", "len(values).bit_length()", "(len(values) - 1).bit_length()",
        CONFORMANCE,
        "numpy and argmin",
    ),
    Fault(
        "an empty segment takes the value after it",
        "primitives/numpy_arrays.py", "starts < offsets[1:]", "starts <= offsets[1:]", CONFORMANCE,
        "numpy and segmented",
    ),
    Fault(
        "ids beyond 31 bits get 32",
        "primitives/numpy_arrays.py", "size < 2**31", "size <= 2**32",
        CONFORMANCE,
        "index_dtype",
    ),
    Fault(
        "a set is named by its largest node",
        "primitives/joins.py", 'scatter_reduce(root, node, size, "min", size)',
        'scatter_reduce(root, node, size, "max", 0)', CONFORMANCE,
        "numpy and join",
    ),
    # Primitives: Numba.
    Fault(
        "of two pairs at a place the last one wins",
        "primitives/compiled/pairs.py",
        "records[end] = min(record, now)", "records[end] = record",
        CONFORMANCE,
        "numba and scatter_min_pairs",
    ),
    Fault(
        "of equal keys in two threads' shares the first row wins",
        "primitives/compiled/pairs.py", "(pair < there))", "(pair > there))", CONFORMANCE,
        "numba and scatter_min_pairs",
    ),
    Fault(
        "keys whose bits were cut off are not compared",
        "primitives/compiled/kruskal.py", "if len(key) and a >> _HALF == b >> _HALF:", "if False:",
        CONFORMANCE,
        "numba and (join_by_key or keys)",
    ),
    Fault(
        "a root that has a parent by now is joined again",
        "primitives/compiled/shared_trees.py",
        "u, rank_u, v, rank_u):", "u, rank_u, v, rank_u) or True:",
        "tests/primitives/test_union_find.py tests/primitives/test_shared_trees.py",
    ),
    # Pipelines.
    Fault(
        "a field that only the body of a loop reads is dropped",
        "pipeline/steps.py", "needed_before(step.steps, frozenset())", "frozenset()",
        PIPELINE,
    ),
    Fault(
        "a check follows loops once",
        "pipeline/dataflow.py", "range(2 if isinstance(step, Loop) else 1)", "range(1)", PIPELINE,
    ),
    Fault(
        "partitions that are left over join in the wrong order",
        "pipeline/execute.py", "for rest in range(size, 0, -1)", "for rest in [1] * size",
        EQUALITY,
        "numpy and boruvka-edgelist",
    ),
    Fault(
        "a pipeline of one's own is merged like forests",
        "pipeline/planning/plan.py", "at.request.is_custom and at.is_split", "False",
        PIPELINE,
    ),
    Fault(
        "a partition's edges are numbered from 0",
        "graphs/source.py", "first_id=self.first_id + start", "first_id=self.first_id", SCANS,
    ),
    # Streaming.
    Fault(
        "of equal weights a full buffer keeps the last",
        "pipeline/streaming/buffer.py",
        "[: count - ops.count(kept)]", "[ops.count(kept) - count :]",
        SCANS,
    ),
    Fault(
        "blocks that were read before the limit fell are not filtered again",
        "pipeline/streaming/buffer.py", "self.limit < limit", "False", SCANS,
    ),
    Fault(
        "edges as heavy as that at a cut are merged, though their ids are larger",
        "pipeline/streaming/solver.py", " & (columns.edge_id <= cut.edge_id)", "", SCANS,
    ),
    Fault(
        "partitions with different cuts are merged as they are",
        "stages/strategies/scan.py", "len(cuts) == 1 and", "", SCANS,
    ),
    Fault(
        "partitions are merged up to the latest cut",
        "stages/strategies/scan.py", "cut = min(", "cut = max(", SCANS,
    ),
    Fault(
        "a run that goes on forgets its cut",
        "pipeline/streaming/buffer.py", 'if state["cut"] is not None:', "if False:", SCANS,
    ),
    Fault(
        "a checkpoint does not belong to the pipeline's values",
        "pipeline/streaming/checkpoint.py", ".describe(), stages, values)", ".describe(), stages)",
        STREAMING, "checkpoint",
    ),
    Fault(
        "eight bytes of each edge that is held are not counted",
        "pipeline/streaming/facts.py", "self.columns_bytes + 8", "self.columns_bytes",
        "tests/pipeline/test_plan.py", "bytes",
    ),
    # Graphs and formats.
    Fault(
        "DIMACS ids are read from 0",
        "doors/formats/text/gr.py", "tag, 1, num_vertices", "tag, 0, num_vertices",
        "tests/doors/test_read.py",
    ),
    Fault(
        "DIMACS ids are written from 0",
        "doors/formats/text/gr.py", ".astype(np.int64) + 1", ".astype(np.int64)",
        "tests/doors/test_write.py",
    ),
    Fault(
        "Matrix Market ids are read from 0",
        "doors/formats/text/mtx.py", "first_id=1", "first_id=0", "tests/doors/test_formats.py",
    ),
    Fault(
        "a symmetric matrix is written above its diagonal",
        "doors/formats/text/mtx.py", "np.maximum(*ends), np.minimum(*ends)",
        "np.minimum(*ends), np.maximum(*ends)", "tests/doors/test_write.py",
    ),
    Fault(
        "a METIS vertex without neighbours takes no line",
        "doors/formats/text/metis.py",
        "np.repeat(np.arange(vertex, vertex + len(degree)), degree)",
        "np.repeat(np.arange(vertex, vertex + (degree > 0).sum()), degree[degree > 0])",
        "tests/doors/test_formats.py",
    ),
    Fault(
        "a file that changed is read as if it had not",
        "doors/file_checks.py", "if state == known._replace", "if state or known._replace",
        "tests/doors/test_changes.py",
    ),
    Fault(
        "large integers are rounded beside floats",
        "doors/weights.py", "column.itemsize == 8 or ", "",
        "tests/doors",
    ),
    Fault(
        "integers are exact up to 2^54 as floats",
        "doors/weights.py", "(-(2**53), 2**53)", "(-(2**54), 2**54)", "tests/doors",
    ),
    Fault(
        "negative ids are accepted",
        "graphs/edge_list.py", "if top > np.iinfo(ids.dtype).max:", "if False:",
        "tests/test_solve.py",
    ),
    Fault(
        "a missing weight of networkx is 0",
        "doors/libraries/networkx.py",
        "data.get(weight, 1) for data", "data.get(weight, 0) for data",
        "tests/doors/test_adopt.py",
    ),
    Fault(
        "a dtype is taken for a scalar",
        "pipeline/tasks.py", "has_no_axes and hasattr(", "has_no_axes or hasattr(", PIPELINE,
        "scalars",
    ),
    # Joins.
    Fault(
        "a pair that closes a cycle outside a subgraph is certain",
        "primitives/joins.py", "contracted & is_inside)", "is_inside)", CONFORMANCE,
        "numpy and contract_tile",
    ),
    Fault(
        "a pair of two open fragments is certain",
        "primitives/compiled/trees.py",
        "if is_open[a] & is_open[b]:", "if is_open[a] > is_open[b]:",
        CONFORMANCE, "numba and contract_tile",
    ),
    # Forests.
    Fault(
        "sums of weights wrap around",
        "forest/edges.py", "else _sum_integers(values)", "else int(values.sum())",
        "tests/test_solve.py tests/queries",
    ),
    Fault(
        "a threshold excludes edges of its own weight",
        "primitives/weight_order.py", "return keys <= last if", "return keys < last if",
        "tests/queries/test_dendrogram.py",
    ),
    Fault(
        "a table of clusters excludes edges of a threshold's own weight",
        "queries/thresholds.py", "(key > limit)", "(key >= limit)",
        "tests/queries/test_cluster_table.py",
    ),
    Fault(
        "the larger cluster comes first in a linkage",
        "queries/dendrogram.py", '"min", ops.largest(node.dtype)', '"max", 0',
        "tests/queries/test_dendrogram.py",
    ),
    Fault(
        "an edge is its own parent where its chain ends",
        "primitives/hierarchies.py", "ops.where(chains.is_head, chains.holder, following)",
        "following", "tests/queries/test_dendrogram.py",
    ),
    Fault(
        "a range of gaps takes one too many",
        "stages/heavy.py", "ops.maximum(high - 1, low)", "high",
        "tests/queries/test_dendrogram.py",
    ),
    Fault(
        "an edge of the forest may replace another",
        "graphs/source.py", "out[place] = u[place]", "pass",
        "tests/queries/test_replacement.py",
    ),
    Fault(
        "a path of two ends is covered from the lower one only",
        "queries/stages/replacement.py", "climb(level, low, differ), climb(level, high, differ)",
        "climb(level, low, differ), ops.gather(climbs[level], high)",
        "tests/queries/test_replacement.py",
    ),
    Fault(
        "a neighbour that was found is found again",
        "pointsets/stages/reachability.py", "neighbor != ops.gather(core_neighbor, sample)",
        "neighbor != sample", "tests/queries/test_hdbscan.py",
    ),
    Fault(
        "verification ignores ties",
        "queries/verify.py", "((key == path_key) & (edge_id < path_id))", "False",
        "tests/queries/test_verify.py",
    ),
    Fault(
        "verification accepts an id twice",
        "queries/verify.py", "edge_ids[1:] <= edge_ids[:-1]", "edge_ids[1:] < edge_ids[:-1]",
        "tests/queries/test_verify.py",
    ),
    Fault(
        "paths are climbed from one end only",
        "queries/path_maxima.py", "np.maximum(heaviest, self.chosen[v], out=heaviest)", "pass",
        "tests/queries/test_verify.py",
    ),
    # Commands and progress.
    Fault(
        "a wrong forest exits with 0",
        "commands/verify.py", "return 1\n", "return 0\n", "tests/queries/test_verify.py",
        "command",
    ),
    Fault(
        "bad input exits with 1",
        "__main__.py", "return 2\n", "return 1\n", "tests/commands",
    ),
    Fault(
        "the memory that the command holds is not counted",
        "commands/shared/terminal.py", "max(1, bound - held)", "max(1, bound)", "tests/commands",
    ),
    Fault(
        "a bar appears at once",
        "progress.py", "if now < due:", "if False:", "tests/test_progress.py",
    ),
    # Kernels and memory.
    Fault(
        "kernels are loaded that the user's group could have written",
        "runtime/host.py", "status.st_mode & 0o022", "status.st_mode & 0o002",
        "tests/primitives/test_cuda_device.py",
    ),
    Fault(
        "blocks of the pool overlap",
        "runtime/memory.py", "_joined([(start + size, stop)])", "_joined([(start, stop)])",
        "tests/runtime/test_memory.py",
    ),
    # Layering and packaging.
    Fault(
        "a stage imports NumPy",
        "stages/trees.py", "from .declare import stage", "import numpy\nfrom .declare import stage",
        "tests/test_layering.py",
    ),
    Fault(
        "the core imports a wing",
        "forest/results.py", "if TYPE_CHECKING:\n", "if True:\n", "tests/test_layering.py",
    ),
    Fault(
        "a folder is missing from the distribution",
        "pyproject.toml", '    "stages/**/*.py",\n', "", "tests/test_layering.py",
    ),
]  # fmt: skip
