"""The searches for points by kernels, one thread for each point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ....primitives.cuda.arrays import CudaArrays
from ....primitives.cuda.compiler import SOURCES, Compiler
from ....primitives.cuda.device import CupyDevice
from ....primitives.cuda.kernels import kernels_in
from ...distances import METRICS
from ..blocks import Blocks
from ..searches import Lightest, Proximity, Tree, choose_edges

Array = Any

#: The compiler of these kernels.
NVRTC = Compiler(Path(__file__).parent / "sources", headers=SOURCES)
#: The instances of all kernels, by file.
KERNELS = kernels_in(NVRTC.sources)


def cupy_points(threads: int = 1) -> CudaPoints:
    """Return the array module of the current GPU; `threads` has no effect."""
    return CudaPoints(CupyDevice())


class CudaPoints(Proximity, Blocks, CudaArrays):
    """The primitives for points on one device.

    The searches of `primitives.searches`; have kernels; other primitives are the definitions.
    """

    def __init__(self, device: CupyDevice) -> None:
        CudaArrays.__init__(self, device)  # protocols come first in the order of classes
        self._searches = CupyDevice(NVRTC)

    def nearest_neighbors(
        self: Any, tree: Tree, boxes: Array, k: int, rank: int, /
    ) -> tuple[Array, Array, Array]:
        size = len(tree.ids)
        distances, neighbor = self.empty(size * k, "float64"), self.empty(size * k, "int64")
        core, reach = self.empty(size, "float64"), self.empty(size, "float64")
        arguments = k, rank, distances, neighbor, core, reach
        self._searches.launch(
            "points", "find_neighbors", size, *_space(self, tree, boxes), *arguments
        )
        return core, reach, self.asarray(neighbor, self.index_dtype(size))

    def nearest_outside(
        self: Any,
        tree: Tree,
        boxes: Array,
        core: Array,
        reach: Array,  # searches are as fast
        neighbor: Array,
        fragment: Array,
        count: int,
        nearest: Array,
        bound: Array,
        /,
    ) -> Lightest:
        size = len(tree.ids)
        source = self.asarray(fragment, "int64")
        nearest, bound = nearest.astype("int64"), bound.copy()
        lightest = self.full(count, self.largest("float64"), "float64")
        arguments = core, source, _labels(self, tree, source), lightest, nearest, bound
        self._searches.launch(
            "points", "search_outside", size, *_space(self, tree, boxes), *arguments
        )
        nearest = self.asarray(nearest, self.index_dtype(size))
        return choose_edges(self, tree, fragment, count, nearest, bound)


def _space(ops: Any, tree: Tree, boxes: Array) -> tuple[Any, ...]:
    """Return the first arguments of kernels."""
    arrays = tree.coordinates, ops.asarray(tree.ids, "int64"), boxes
    numbers = tree.num_ids, tree.num_axes, tree.depth, *METRICS[tree.metric]
    return *arrays, *numbers, tree.dtype == "float32"


def _labels(ops: Any, tree: Tree, fragment: Array) -> Array:
    """Return the fragment of each node, or -1 if it has several."""
    size, leaves = len(tree.ids), 2**tree.depth
    starts = ops.asarray([size * leaf >> tree.depth for leaf in range(leaves + 1)], "int64")
    low = ops.segmented_reduce(fragment, starts, "min", 0)
    high = ops.segmented_reduce(fragment, starts, "max", 0)
    label = ops.full(2 * leaves, -1, "int64")
    while leaves:
        label[leaves : 2 * leaves] = ops.where(low == high, low, -1)
        low, high = ops.minimum(low[::2], low[1::2]), ops.maximum(high[::2], high[1::2])
        leaves //= 2
    return label
