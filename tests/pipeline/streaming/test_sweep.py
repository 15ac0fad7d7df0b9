"""Sweeps with buckets of a few vertices find the same forest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import edge_lists
from mstflow import algorithm, backends
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.catalogue.strategies import from_columns, strategy_flow
from mstflow.pipeline.execute import execute
from mstflow.pipeline.schedulers.scheduler import Inline
from mstflow.pipeline.streaming.solver import Solver
from mstflow.pipeline.streaming.sweep import Sweeper
from mstflow.primitives import Backend
from mstflow.runtime.device import host_array
from mstflow.runtime.sizes import tuned
from oracle import kruskal

BEYOND = 2**33 + 5


def sweep(graph, folder, capacity, *, maximum=False, backend="numpy", record=None, tile=1):
    """Sweep a graph whose ids begin beyond 32 bits; return its edge ids and the report."""
    source = EdgeSource.of(graph)
    source = EdgeSource(source.segments, graph.num_vertices, first_id=BEYOND).with_sizes()
    flow = strategy_flow("sweep", algorithm("kruskal"))
    solver = Solver(from_columns(algorithm("kruskal")), Backend(backend, 2), maximum)
    sizes = source.num_vertices, source.num_edges, source.first_id, source.weight_dtype
    with tuned(tile=tile, segment=5):
        fields, report = execute(
            flow,
            [{"source": source}],
            {
                "sweeper": Sweeper(solver, capacity, *sizes, str(folder)),
                "num_vertices": source.num_vertices,
                "num_edges": source.num_edges,
            },
            scheduler=Inline(),
            backend=solver.backend,
            checkpoint=record,
        )
    return host_array(fields["forest"]) - BEYOND, report


@pytest.mark.parametrize("backend", backends())
@given(
    graph=edge_lists(),
    capacity=st.integers(4, 60),
    tile=st.sampled_from([1, 2, 4]),
    maximum=st.booleans(),
)
def test_every_capacity_finds_the_same_forest(
    backend, graph, capacity, tile, maximum, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("buckets")
    found, _ = sweep(graph, folder, capacity, maximum=maximum, backend=backend, tile=tile)
    assert np.array_equal(found, kruskal(graph, maximum))
