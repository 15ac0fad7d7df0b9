"""The host's time to launch a kernel: by CuPy, and by cuda.core."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KERNEL = "gather<u32, u32>"
_BLOCK = 256
ROUNDS = 5


def rows(launches: int = 2000) -> Iterator[dict[str, Any]]:
    """Yield the microseconds of a launch in each way, and of the product's own call."""
    import cupy

    from mstflow.primitives.cuda.device import CupyDevice, cached_kernel

    architecture = f"sm_{cupy.cuda.Device().compute_capability}"
    name, cubin = cached_kernel("arrays", KERNEL, architecture)
    values, index, out = (cupy.zeros(_BLOCK, "u4") for _ in range(3))
    device = CupyDevice()
    module = cupy.cuda.function.Module()
    module.load(cubin)
    function = module.get_function(name)
    words = [_BLOCK, values, index, out]
    ways: dict[str, Callable[[], object]] = {
        "CupyDevice.launch": lambda: device.launch("arrays", KERNEL, _BLOCK, values, index, out),
        "CuPy": lambda: function((1,), (_BLOCK,), words),
    }
    for way, launch in ways.items():
        yield _measured(way, launch, launches)
    yield _measured("cuda.core", _by_cuda_core(name, cubin, values, index, out), launches)


def _by_cuda_core(name: str, cubin: bytes, *arrays: Any) -> Callable[[], object]:
    """Return a launch by cuda.core on CuPy's stream."""
    import cupy
    from cuda.core import LaunchConfig, ObjectCode, Stream, launch

    kernel = ObjectCode.from_cubin(cubin).get_kernel(name)
    config = LaunchConfig(grid=1, block=_BLOCK)
    stream = Stream.from_handle(cupy.cuda.get_current_stream().ptr)

    def call() -> None:
        pointers = [array.data.ptr for array in arrays]
        launch(stream, config, kernel, _BLOCK, *pointers)

    return call


def _measured(way: str, launch: Callable[[], object], launches: int) -> dict[str, Any]:
    import cupy

    host, whole = [], []
    for _ in range(ROUNDS):
        cupy.cuda.runtime.deviceSynchronize()
        start = time.perf_counter()
        for _ in range(launches):
            launch()
        host.append((time.perf_counter() - start) / launches * 1e6)
        cupy.cuda.runtime.deviceSynchronize()
        whole.append((time.perf_counter() - start) / launches * 1e6)
    return {"way": way, "host_microseconds": host, "microseconds": whole}
