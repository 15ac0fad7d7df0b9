"""Tables of the run on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from .. import cells
from .checks import TOOLS

Rows = Iterator[Sequence[str]]
Result = Mapping[str, Any]

#: A kernel has a row if it takes at least this share of the time on some graph.
SHOWN = 0.03


def facts(result: Result) -> Rows:
    """Yield facts of the device and the outcome of all checks."""
    merged = {name: fact for row in _rows(result, "facts") for name, fact in row.items()}
    cuda, bus = merged["cuda"], merged["gpu"]["bus_bytes_per_second"]
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
        row_of = {row["code"]: row for row in rows if row["graph"] == name}
        medians = (
            _milliseconds(row_of[code]["seconds"]) if code in row_of else "-" for code in codes
        )
        first = row_of[codes[0]]
        yield name, f"{first['edges']:,}", *medians, f"{first['peak'] / first['edges']:.0f}"


def kernels(result: Result) -> Rows:
    """Yield launches, microseconds and bandwidth of each kernel by graph."""
    rows = _rows(result, "kernels")
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    total, share = Counter[str](), Counter[str]()
    for row in rows:
        total[row["graph"]] += row["nanoseconds"]
    for row in rows:
        share[row["kernel"]] = max(share[row["kernel"]], row["nanoseconds"] / total[row["graph"]])

    def columns(kernel: str | None) -> Iterator[str]:
        for name in graphs:
            yield from _kernel(
                [row for row in rows if row["graph"] == name and kernel in (None, row["kernel"])]
            )

    yield "kernel", *(f"{name}: {head}" for name in graphs for head in ("launches", "µs", "GB/s"))
    for kernel, most in share.most_common():
        if most >= SHOWN:
            yield f"`{kernel.rpartition('::')[2]}`", *columns(kernel)
    yield "**all**", *columns(None)


def sizes(result: Result) -> Rows:
    """Yield the milliseconds of a solve on the GPU and with kernels, by number of edges."""
    rows = [row for row in _rows(result, "limits") if "on_device" in row]
    others = [name for name in rows[0] if name.startswith("numba")]
    heads = {"on_device": "arrays on the GPU", "from_host": "arrays on the host"}
    heads |= {name: name for name in others}
    yield "edges", *(f"{head}, ms" for head in heads.values())
    for row in rows:
        yield f"{row['edges']:,}", *(_milliseconds(row[name]) for name in heads)


def filters(result: Result) -> Rows:
    """Yield the milliseconds of a solve by the parameter `small` of `filter-kruskal`."""
    rows = [row for row in _rows(result, "limits") if "small" in row]
    values = list(dict.fromkeys(row["small"] for row in rows))
    yield "graph", *(f"`small` = {value:,}, ms" for value in values)
    for name in dict.fromkeys(row["graph"] for row in rows):
        yield name, *(_milliseconds(row["seconds"]) for row in rows if row["graph"] == name)


def joins(result: Result) -> Rows:
    """Yield the milliseconds of joining the lightest edges in order, by variant of the kernels."""
    rows = _rows(result, "joins")
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    yield "graph", "pairs", *(f"{variant}, ms" for variant in variants)
    for name in dict.fromkeys(row["graph"] for row in rows):
        of_graph = [row for row in rows if row["graph"] == name]
        times = (_milliseconds(row["seconds"]) for row in of_graph)
        yield name, f"{of_graph[0]['pairs']:,}", *times


def threads(result: Result) -> Rows:
    """Yield the milliseconds of each algorithm by number of threads, and the best ratio."""
    rows = _rows(result, "threads")
    counts = list(dict.fromkeys(row["threads"] for row in rows))
    times_of: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        name = row.get("algorithm") or row["strategy"]
        times_of.setdefault((name, row["graph"]), []).append(row["seconds"])
    yield "algorithm", "graph", *(f"T = {count}, ms" for count in counts), "best / T = 1"
    for (name, graph), times in times_of.items():
        best = min(map(median, times)) / median(times[0])
        yield f"`{name}`", graph, *map(_milliseconds, times), f"{best:.2f}"


def _rows(result: Result, step: str) -> list[dict[str, Any]]:
    return result["steps"][step]["rows"] if step in result["steps"] else []


def _milliseconds(seconds: Sequence[float]) -> str:
    """Return the median in milliseconds."""
    return cells.milliseconds(median(seconds))


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
    "device-joins": joins,
    "device-threads": threads,
}
