"""The steps and values that several algorithms share: rounds of Boruvka, and filters by weight."""

from ...stages import edges, filter, fragments  # noqa: A004
from ..dataflow import ByBackend

#: Join the vertices by their lightest edges to fragments, and label each vertex with its fragment.
LABEL = (
    fragments.remove_mirrored_edges,
    fragments.propagate_colors,
    fragments.create_new_vertex_ids,
)
#: The two halves of a round: join the vertices to fragments, then build the graph of the fragments.
#: `contract_fragments` comes last: fields along the vertices, such as labels, are lost when the
#: number of vertices changes.
JOIN = (edges.find_min_edges, *LABEL)
CONTRACT = (edges.relabel_edges, edges.count_edges, fragments.contract_fragments)

#: Select the light edges.
SELECT_LIGHT = (filter.sample_keys, filter.choose_pivot, filter.select_light_edges)

#: The fastest values, by `python -m benchmarks run --codes mstflow mstflow:NAME=VALUE`:
#:
#: - `light_per_vertex`: number of light edges per vertex. If there are fewer, fragments are smaller
#:   and more heavy edges remain. If there are more, they take longer to join.
#: - `dense`, `small`: a graph is filtered if it has more edges per vertex, and more edges.
#: - `sample_size`: the sample has at least this number of edges, and less than twice this number.
#:
#: The value for "cupy" is not measured. It is large because a pass waits for the device several
#: times.
PARAMETERS = {
    "light_per_vertex": 1.75,
    "dense": 3.0,
    "small": ByBackend(2**16, {"numba": 2**19, "cupy": 2**22}),
    "sample_size": 2**13,
}
