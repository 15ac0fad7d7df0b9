"""Tables of the run on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from .checks import TOOLS

Rows = Iterator[Sequence[str]]
Result = Mapping[str, Any]

#: A kernel has a row if it takes at least this share of the time on some graph.
SHOWN = 0.03


def facts(result: Result) -> Rows:
    """Yield facts of the device and the outcome of all checks."""
    found = {name: fact for row in _rows(result, "facts") for name, fact in row.items()}
    cuda, bus = found["cuda"], found["gpu"]["bus_bytes_per_second"]
    (gpu, *_) = cuda["devices"]
    first = next(row for row in _rows(result, "facts") if row.get("solve") == "first")
    forests = Counter(row["is_equal"] for row in _rows(result, "equality"))
    yield "fact", "value"
    yield "device", f"{gpu['name']}, {gpu['memory_bytes'] / 1e9:.0f} GB"
    yield (
        "CUDA of the driver, of CuPy, of NVRTC",
        ", ".join(cuda[name] for name in ("driver", "runtime", "nvrtc")),
    )
    yield "copies from pinned memory", f"{bus / 1e9:.0f} GB/s"
    yield "first solve of the machine, compiling", f"{first['seconds']:.1f} s"
    yield "forests equal to NumPy's", f"{forests[True]} of {forests.total()}"
    for step in ("primitives", *TOOLS):
        rows = _rows(result, step)
        tests = Counter(row["outcome"] for row in rows if "outcome" in row)
        faults = [row["fault"] for row in rows if "fault" in row]
        refused = sum("API call" in fault for fault in faults)
        text = f"{tests['PASSED']} of {tests.total()} passed"
        if step in TOOLS:
            text += f"; {len(faults) - refused} findings, {refused} refused calls of the driver"
        yield f"tests of primitives{f', {step}' if step in TOOLS else ''}", text


def times(result: Result) -> Rows:
    """Yield the milliseconds of each code by graph, and bytes of the device for each edge."""
    rows = _rows(result, "times")
    codes = list(dict.fromkeys(row["code"] for row in rows))
    yield "graph", "edges", *(f"{code}, ms" for code in codes), "bytes of an edge"
    for name in dict.fromkeys(row["graph"] for row in rows):
        own = {row["code"]: row for row in rows if row["graph"] == name}
        first = own[codes[0]]
        cells = (_ms(own[code]["seconds"]) if code in own else "-" for code in codes)
        yield name, f"{first['edges']:,}", *cells, f"{first['peak'] / first['edges']:.0f}"


def kernels(result: Result) -> Rows:
    """Yield launches, microseconds and bandwidth of each kernel by graph."""
    rows = _rows(result, "kernels")
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    whole, share = Counter[str](), Counter[str]()
    for row in rows:
        whole[row["graph"]] += row["nanoseconds"]
    for row in rows:
        share[row["kernel"]] = max(share[row["kernel"]], row["nanoseconds"] / whole[row["graph"]])

    def cells(kernel: str | None) -> Iterator[str]:
        for name in graphs:
            yield from _kernel(
                [row for row in rows if row["graph"] == name and kernel in (None, row["kernel"])]
            )

    yield "kernel", *(f"{name}: {head}" for name in graphs for head in ("launches", "µs", "GB/s"))
    for kernel, most in share.most_common():
        if most >= SHOWN:
            yield f"`{kernel.rpartition('::')[2]}`", *cells(kernel)
    yield "**all**", *cells(None)


def sizes(result: Result) -> Rows:
    """Yield the milliseconds of a solve on the device and beside it, by number of edges."""
    rows = [row for row in _rows(result, "limits") if "on_device" in row]
    others = [name for name in rows[0] if name.startswith("numba")]
    heads = {"on_device": "arrays on the GPU", "from_host": "arrays on the host"}
    heads |= {name: name for name in others}
    yield "edges", *(f"{head}, ms" for head in heads.values())
    for row in rows:
        yield f"{row['edges']:,}", *(_ms(row[name]) for name in heads)


def filters(result: Result) -> Rows:
    """Yield the milliseconds of a solve by the number of edges from which a filter runs."""
    rows = [row for row in _rows(result, "limits") if "small" in row]
    values = list(dict.fromkeys(row["small"] for row in rows))
    yield "graph", *(f"`small` = {value:,}, ms" for value in values)
    for name in dict.fromkeys(row["graph"] for row in rows):
        yield name, *(_ms(row["seconds"]) for row in rows if row["graph"] == name)


def threads(result: Result) -> Rows:
    """Yield the milliseconds of each algorithm by number of threads, and the speed-up."""
    rows = _rows(result, "threads")
    counts = list(dict.fromkeys(row["threads"] for row in rows))
    found: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        name = row.get("algorithm") or row["strategy"]
        found.setdefault((name, row["graph"]), []).append(row["seconds"])
    yield "algorithm", "graph", *(f"T = {count}, ms" for count in counts), "best / T = 1"
    for (name, graph), own in found.items():
        best = min(map(median, own)) / median(own[0])
        yield f"`{name}`", graph, *map(_ms, own), f"{best:.2f}"


def _rows(result: Result, step: str) -> list[dict[str, Any]]:
    return result["steps"][step]["rows"] if step in result["steps"] else []


def _ms(seconds: Sequence[float]) -> str:
    """Return the median in milliseconds, with three digits at least."""
    value = 1e3 * median(seconds)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _kernel(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    """Return launches, microseconds and bandwidth of these rows together."""
    if not rows:
        return "-", "-", "-"
    nanoseconds = sum(row["nanoseconds"] for row in rows)
    moved = sum(row["bytes_read"] + row["bytes_written"] for row in rows)
    number = sum(row["launches"] for row in rows)
    return f"{number}", f"{nanoseconds / 1e3:,.0f}", f"{moved / nanoseconds:,.0f}"


#: The tables by name.
TABLES = {
    "device": facts,
    "device-times": times,
    "device-kernels": kernels,
    "device-sizes": sizes,
    "device-filters": filters,
    "device-threads": threads,
}
