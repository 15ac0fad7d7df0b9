"""All measurements of a GPU: equality of edge ids, then times and memory."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from .. import graphs as graph_list
from ..runner import turns
from . import equality, timing
from .device import Gpu

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROADS = graph_list.ROOT / "examples" / "data" / "USA-road-d.NY.gr.gz"


def measure(
    small: Sequence[str] = equality.GRAPHS,
    large: Sequence[str] = timing.GRAPHS,
    stream: str = "rmat:scale=24",
    pool: int = 4 * 10**9,
    rounds: int = 7,
    external: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Compare the edges of small graphs, time large ones, and stream one.

    Parameters
    ----------
    small, large : sequence of str
    stream : str
        The graph that is solved from the host's memory with a small pool on the device.
    pool : int
        The size of this pool in bytes.
    rounds : int
    external : mapping of str to str, optional
        Commands of other programs by name; each solves every large graph.

    Raises
    ------
    OptionError
        If no GPU is usable. Names the reason.
    """
    gpu = Gpu()
    result: dict[str, Any] = {"gpu": gpu.about(), "timing": {}}
    result["equality"] = list(_equality(gpu, small))
    for facts in result["equality"]:
        if not facts["is_equal"]:
            print(f"DIFFERENT EDGES: {facts}", file=sys.stderr)
    for spec in large:
        folder = graph_list.ensure(spec)
        facts = timing.measure(gpu, graph_list.load(folder), rounds)
        gpu.free()  # other programs need memory, too
        facts["others"] = {
            name: turns.measure([*shlex.split(command), str(folder)], 1, limit=60)
            for name, command in (external or {}).items()
        }
        result["timing"][spec] = facts
    graph = graph_list.load(graph_list.ensure(stream))
    result["stream"] = {stream: timing.measure_stream(gpu, graph, pool)}
    return result


def _equality(gpu: Gpu, specs: Sequence[str]) -> Iterator[dict[str, Any]]:
    graphs = {spec: graph_list.load(graph_list.ensure(spec)) for spec in specs}
    yield from equality.compare_all(gpu, graphs)
    yield from equality.compare_strategies(gpu, graphs)
    yield from equality.compare_files(gpu, [ROADS])
