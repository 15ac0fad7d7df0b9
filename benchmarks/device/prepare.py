"""Facts about the device, and preparation of graphs for later steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from .. import graphs as graph_list
from ..measure import Row, timed
from .gpu import Gpu


def facts() -> Iterator[Row]:
    """Yield the device, and the first solves of a small graph on it.

    The first solve of a machine compiles kernels.
    """
    import mstflow
    from mstflow.primitives.cuda import device

    yield {"gpu": {"bus_bytes_per_second": Gpu().copy_rate()}, "cuda": device.describe_devices()}
    random = np.random.default_rng(0)
    u, v = random.integers(0, 1000, (2, 5000), dtype=np.int32)
    graph = u, v, random.random(5000, dtype=np.float32)
    solve = timed(lambda: mstflow.minimum_spanning_forest(graph, backend="cupy"))
    for name in ("first", "second"):
        yield {"solve": name, **solve()}


def prepare(graphs: Sequence[str]) -> Iterator[Row]:
    """Generate graphs in several processes."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, _ in zip(graphs, pool.map(graph_list.ensure, graphs), strict=True):
            yield {"graph": name}
