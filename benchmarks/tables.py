"""Tables of records in Markdown."""

from __future__ import annotations

import itertools
import re
import statistics
from typing import TYPE_CHECKING, Any

from . import fused
from .clusters import PUBLISHED
from .device import tables as device_tables
from .graphs import GRAPHS, parse_options
from .papers import authors
from .runner.figures import Figures, figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Result = Mapping[str, Any]
    Rows = Iterator[Sequence[str]]

#: If other programs used more processors than this, the line below a table reports it.
DISTURBED = 0.1
#: A stage has a row if it takes at least this share of the time on some graph.
SHOWN = 0.05
#: The model of a GPU: the bandwidth in the data sheet of an H100 (SXM), the bytes that a random
#: access moves, and the passes of a radix sort and the bytes of an element in each.
H100_BYTES_PER_SECOND, SECTOR = 3.35e12, 32
SORT_PASSES, SORT_BYTES = 8, 16
README_GRAPHS = ("E", "G", "R", "N")
VERSIONS = ("python", "numpy", "numba", "scipy", "igraph", "networkx")


def markdown(table: str, record: Mapping[str, Any]) -> str:
    """Return a table of a record, and a line that names the origin of its figures."""
    _, rows = TABLES[table]
    head, *body = rows(record["result"])
    rule = ["---", *("---:" for _ in head[1:])]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]
    return "\n".join([*lines, "", f"*{origin(record)}*"])


def origin(record: Mapping[str, Any]) -> str:
    """Return a sentence that names the commit, the machine and the versions of a record."""
    machine, versions = record["machine"], dict(record["versions"])
    shown = [f"{name} {versions[name]}" for name in VERSIONS if name in versions]
    text = (
        f"Commit {record['commit'][:7] or 'unknown'}, {record['date']}: {machine['cpu']} "
        f"(family {machine['cpu_family']}, model {machine['cpu_model']}), "
        f"{machine['processors']} processors (together {machine['parallel_arithmetic']:.1f} "
        f"times as fast as one), {machine['memory_gb']:.0f} GB; {', '.join(shown)}."
    )
    if record["others"] > DISTURBED:
        text += f" Other programs kept {record['others']:.1f} processors busy."
    return text


def label(code: str) -> str:
    """Return a short name of a code: the algorithm, or the options that matter."""
    name, _, rest = code.partition(":")
    options = {
        key: value
        for key, value in parse_options(rest).items()
        if key not in ("backend", "threads")
    }
    if options.keys() == {"algorithm"}:
        return f"`{options['algorithm']}`"
    words = (
        str(value) if key == "strategy" else f"{key} {value}" for key, value in options.items()
    )
    return ", ".join(words) or name


def ratios(result: Result, graphs: Iterable[str] = ()) -> Rows:
    """Yield times of the reference, and those of other codes divided by them."""
    found, names = figures(result), list(graphs) or list(result["graphs"])
    columns = _columns(found)
    times = [each for each in columns if each[0] == result["reference"]]
    others = [each for each in columns if each[0] != result["reference"]]
    unit, factor = _unit(row for row in found if row.code == result["reference"])
    described = any(name in GRAPHS for name in names)
    yield (
        "graph",
        *(["description"] if described else []),
        "edges",
        *(f"{_column(*each, columns)}, {unit}" for each in times),
        *(_column(*each, columns) for each in others),
    )
    for name in names:
        if name not in result["graphs"]:
            continue
        own = {(row.code, row.threads): row for row in found if row.graph == name}
        yield (
            _graph(name),
            *([GRAPHS[name][0] if name in GRAPHS else ""] if described else []),
            f"{result['graphs'][name]['edges']:,}",
            *(_time(own.get(each), factor) for each in times),
            *(_ratio(own.get(each)) for each in others),
        )


def seconds(result: Result) -> Rows:
    """Yield the times of every code, and the speed-up of those that use several threads."""
    found = figures(result)
    columns = _columns(found)
    unit, factor = _unit(found)
    codes = list(dict.fromkeys(code for code, _ in columns))
    threads = {code: [count for each, count in columns if each == code] for code in codes}
    heads = []
    for code in codes:
        heads += [f"{_column(code, count, columns)}, {unit}" for count in threads[code]]
        heads += ["speed-up"] * (len(threads[code]) > 1)
    yield "graph", "edges", *heads
    for name, facts in result["graphs"].items():
        own = {(row.code, row.threads): row for row in found if row.graph == name}
        cells = []
        for code in codes:
            rows = [own.get((code, count)) for count in threads[code]]
            cells += [_time(row, factor) for row in rows]
            cells += [_speed_up(rows)] * (len(rows) > 1)
        yield _graph(name), f"{facts['edges']:,}", *cells


def memory(result: Result) -> Rows:
    """Yield the peak of memory beyond the input, in bytes for each edge."""
    peaks: dict[tuple[str, str], int] = {}
    for row in figures(result):
        if row.peak is not None:
            peaks[row.graph, row.code] = max(row.peak, peaks.get((row.graph, row.code), 0))
    codes = list(dict.fromkeys(code for _, code in peaks))
    yield "graph", *map(label, codes)
    for name, facts in result["graphs"].items():
        shares = (peaks.get((name, code)) for code in codes)
        yield _graph(name), *("-" if p is None else f"{p / facts['edges']:.0f}" for p in shares)


def stages(result: Result) -> Rows:
    """Yield the milliseconds of the reference's stages, by number of threads."""
    runs = [run for run in result["runs"] if run["code"] == result["reference"] and "stages" in run]
    threads = sorted({run["threads"] for run in runs})
    graphs = list(dict.fromkeys(run["graph"] for run in runs))
    yield "stage", *graphs
    for stage in dict.fromkeys(name for run in runs for name in run["stages"]):
        cells, share = [], 0.0
        for graph in graphs:
            medians = []
            for count in threads:
                own = [r for r in runs if (r["graph"], r["threads"]) == (graph, count)]
                if own:
                    medians.append(statistics.median(r["stages"].get(stage, 0.0) for r in own))
                    whole = statistics.median(sum(r["stages"].values()) for r in own)
                    share = max(share, medians[-1] / max(whole, 1e-9))
            shown = " / ".join(f"{each * 1e3:.1f}" for each in medians)
            cells.append(shown if any(medians) else "-")
        if share >= SHOWN:
            yield f"`{stage}`", *cells


def by_code(result: Result) -> Rows:
    """Yield a row for each code on the only graph: times, and bytes for each edge."""
    found = figures(result)
    (facts,) = result["graphs"].values()
    unit, factor = _unit(found)
    threads = sorted({row.threads for row in found})
    yield "algorithm", *(f"{_threads(count)}, {unit}" for count in threads), "bytes per edge"
    for code in dict.fromkeys(row.code for row in found):
        own = {row.threads: row for row in found if row.code == code}
        peak = max((row.peak for row in own.values() if row.peak is not None), default=None)
        bytes_an_edge = "-" if peak is None else f"{peak / facts['edges']:.0f}"
        yield label(code), *(_time(own.get(count), factor) for count in threads), bytes_an_edge


def on_disk(result: Result) -> Rows:
    """Yield a row for each strategy on the only graph: times, rates, memory of all processes."""
    found = figures(result)
    (facts,) = result["graphs"].values()
    threads = sorted({row.threads for row in found})
    yield (
        "strategy",
        *(f"{_threads(count)}, s" for count in threads),
        *(f"{_threads(count)}, M edges/s" for count in threads),
        *(f"{_threads(count)}, peak MB" for count in threads),
    )
    for code in dict.fromkeys(row.code for row in found):
        own = {row.threads: row for row in found if row.code == code}
        rows = [own.get(count) for count in threads]
        rates = (
            f"{facts['edges'] / row.seconds / 1e6:.0f}" if row and row.seconds else "-"
            for row in rows
        )
        peaks = (f"{row.peak / 1e6:.0f}" if row and row.peak else "-" for row in rows)
        star = "\\*" if any(row and row.verdict == "differs" for row in rows) else ""
        yield label(code) + star, *(_time(row, 1) for row in rows), *rates, *peaks


def helpers(result: Result) -> Rows:
    """Yield times of Kruskal's loop without and with a helper, and the shares of rejected edges."""
    times = {
        (graph, code): statistics.median(
            run["seconds"]
            for run in result["runs"]
            if (run["graph"], run["code"]) == (graph, code)
            and (run["threads"] == 1) == (code == "kruskal")
        )
        for graph in result["graphs"]
        for code in ("kruskal", "kruskal-helpers")
    }
    yield (
        "graph",
        "alone, ms",
        "with a helper, ms",
        "speed-up",
        "share of the helper's part that it rejects",
        "share of all edges that the main thread rejects",
    )
    for graph in result["graphs"]:
        alone, helped = (times[graph, code] for code in ("kruskal", "kruskal-helpers"))
        runs = [run for run in result["runs"] if run["graph"] == graph and "offloaded" in run]
        shares = (
            statistics.median(run[name] for run in runs) for name in ("offloaded", "main_share")
        )
        milliseconds = (f"{each * 1e3:.0f}" for each in (alone, helped))
        yield (
            _graph(graph),
            *milliseconds,
            f"{alone / helped:.2f}",
            *(f"{share:.2f}" for share in shares),
        )


def load(result: Result) -> Rows:
    """Yield the excess of the largest partition over the mean, by round."""
    longest = max(map(len, result["rounds"].values()))
    yield "partitions", *(f"round {number}" for number in range(1, longest + 1))
    for partitions, excess in result["rounds"].items():
        cells = [f"{share:.0%}" for share in excess]
        yield partitions, *cells, *["-"] * (longest - len(cells))


def overrides(result: Result) -> Rows:
    """Yield nanoseconds per element of the definition and the compiled version of primitives."""
    threads = list(dict.fromkeys(row["threads"] for row in result["rows"]))
    heads = (
        f"{kind}, {_threads(count)}" for count in threads for kind in ("definition", "compiled")
    )
    yield "primitive", *heads, *(f"ratio, {_threads(count)}" for count in threads)
    for name in dict.fromkeys(row["primitive"] for row in result["rows"]):
        own = {row["threads"]: row for row in result["rows"] if row["primitive"] == name}
        medians = [
            [statistics.median(own[count]["seconds"][kind]) for kind in ("definition", "override")]
            for count in threads
        ]
        elements = own[threads[0]]["elements"]
        times = (f"{each / elements * 1e9:.1f}" for pair in medians for each in pair)
        yield f"`{name}`", *times, *(f"{before / after:.1f}" for before, after in medians)


def readers(result: Result) -> Rows:
    """Yield million edges per second of each file, by mstflow and by another library."""
    threads = list(dict.fromkeys(row["threads"] for row in result["rows"]))
    heads = (f"{who}, {_threads(count)}" for count in threads for who in ("mstflow", "other"))
    yield "file", *heads, "other"
    for name in dict.fromkeys(row["file"] for row in result["rows"]):
        own = {row["threads"]: row["seconds"] for row in result["rows"] if row["file"] == name}
        rates = [result["edges"] / statistics.median(s) for c in threads for s in own[c].values()]
        other = list(own[threads[0]])[-1]
        yield f"`{name}`", *(f"{rate / 1e6:.1f}" for rate in rates), other


#: The calls that are compared with networkx, and the heads of their columns.
CALLS = {
    "process": "first call of a process",
    "configured": "by configuration",
    "named": "by name",
    "second": "by name, second call",
}


def networkx_calls(result: Result) -> Rows:
    """Yield the milliseconds of networkx, and how many times faster the calls of mstflow are."""
    first = result["rows"][0]
    known = ("function", "graph", "nodes", "weights", "degree", "edges")
    names = [name for name in known if name in first]
    calls = [call for call in first["seconds"] if call != "networkx"]
    yield (*names, "networkx, ms", *(CALLS.get(call, call) for call in calls))
    for key in dict.fromkeys(tuple(row[name] for name in names) for row in result["rows"]):
        own = [row["seconds"] for row in result["rows"] if tuple(row[n] for n in names) == key]
        theirs, *ours = (
            statistics.median(each[who] for each in own) for who in ("networkx", *calls)
        )
        function, *graph, edges = key
        yield (
            f"`{function}`",
            *map(str, graph),
            f"{edges:,}",
            _milliseconds(theirs),
            *map(_times, (theirs / each for each in ours)),
        )


def queries(result: Result) -> Rows:
    """Yield the times of replacement edges and of a batch beside the solve, and pairs a second."""
    yield (
        "graph",
        "edges",
        "threads",
        "solve, ms",
        "replacement edges, ms",
        "replacement edges / solve",
        "million bottlenecks a second",
        f"add {result['batch']:,} edges, ms",
    )
    names = ("graph", "edges", "threads")
    for key in dict.fromkeys(tuple(row[name] for name in names) for row in result["rows"]):
        own = [row["seconds"] for row in result["rows"] if tuple(row[n] for n in names) == key]
        solve, replacements, bottlenecks, add = (
            statistics.median(each[question] for each in own)
            for question in ("solve", "replacements", "bottlenecks", "add")
        )
        graph, edges, threads = key
        yield (
            _graph(graph),
            f"{edges:,}",
            str(threads),
            _milliseconds(solve),
            _milliseconds(replacements),
            f"{replacements / solve:.2g}",
            f"{result['pairs'] / bottlenecks / 1e6:.3g}",
            _milliseconds(add),
        )


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cluster_times(result: Result) -> Rows:
    """Yield the seconds, the ratio to mstflow and the peak memory of each task and code.

    The last row is a published figure for another task.
    """
    yield "task", "code", "s", "ratio", "peak, MB"
    own: dict[str, float] = {}
    for row in result["rows"]:
        rounds = [each for each in row["rounds"] if each is not None]
        if not rounds:
            yield row["task"], row["code"], f"over {result['limit']:.0f}", "-", "-"
            continue
        seconds = statistics.median(each["seconds"] for each in rounds)
        own.setdefault(row["task"], seconds)  # mstflow comes first
        peak = max(each["peak"] for each in rounds) / 1e6
        ratio = f"{seconds / own[row['task']]:.1f}"
        yield row["task"], row["code"], f"{seconds:.3g}", ratio, f"{peak:,.0f}"
    task, code, published = PUBLISHED
    yield task, code, str(published), "-", "-"


def estimator_times(result: Result) -> Rows:
    """Yield the seconds, the ratio to mstflow and the peak memory of each size and code."""
    yield "points", "dimensions", "code", "s", "ratio", "peak, MB"
    own: dict[tuple[int, int], float] = {}
    for row in result["rows"]:
        size = row["points"], row["dimensions"]
        rounds = [each for each in row["rounds"] if each is not None]
        names = f"{size[0]:,}", str(size[1]), row["code"]
        if not rounds:
            yield *names, f"over {result['limit']:.0f}", "-", "-"
            continue
        seconds = statistics.median(each["seconds"] for each in rounds)
        own.setdefault(size, seconds)  # mstflow comes first
        peak = max(each["peak"] for each in rounds) / 1e6
        yield *names, f"{seconds:.3g}", _times(seconds / own[size]), f"{peak:,.0f}"


def grid_times(result: Result) -> Rows:
    """Yield the seconds, the edges in a second and the memory of each volume and code."""
    yield "voxels", "values", "code", "s", "million edges/s", "bytes for each voxel"
    for row in result["rows"]:
        seconds = statistics.median(each["seconds"] for each in row["rounds"])
        used = max(each["bytes"] for each in row["rounds"])
        code = f"{row['code']}, {_threads(row['threads'])}"
        speed = f"{row['edges'] / seconds / 1e6:.3g}"
        yield (
            f"{row['side']} x {row['side']} x {row['side']}",
            row["dtype"],
            code,
            f"{seconds:.3g}",
            speed,
            f"{used:.0f}",
        )


def starts(result: Result) -> Rows:
    """Yield the milliseconds of the import and of first solves, by number of edges."""
    yield (
        "edges",
        "import, ms",
        "NumPy, first solve, ms",
        "kernels, first solve, ms",
        "kernels, second solve, ms",
    )
    for edges in dict.fromkeys(row["edges"] for row in result["rows"]):
        own = [row for row in result["rows"] if row["edges"] == edges]
        numpy, numba = (
            [row["seconds"] for row in own if row["backend"] == backend]
            for backend in ("numpy", "numba")
        )
        medians = (
            statistics.median(each[name] for each in some)
            for some, name in (
                (numpy + numba, "import"),
                (numpy, "first"),
                (numba, "first"),
                (numba, "second"),
            )
        )
        yield f"{edges:,}", *(f"{median * 1e3:,.0f}" for median in medians)


def small_calls(result: Result) -> Rows:
    """Yield the microseconds of calls for one graph, by part; the median of the rounds."""
    parts = ("plan", "dispatch", "stages", "answer", "whole")
    yield "edges", "code", "stages", *(f"{part}, µs" for part in parts)
    for row in result["rows"]:
        medians = (row["median"].get(part, 0) for part in parts)
        yield (
            f"{row['edges']:,}",
            row["code"],
            f"{row.get('calls', '')}",
            *(f"{1e6 * each:,.0f}" if each else "" for each in medians),
        )


def many_graphs(result: Result) -> Rows:
    """Yield the microseconds of each graph of a call for many graphs."""
    yield "graphs", "edges of each", "µs a graph, least", "median"
    for row in result["many"]:
        each = (row[name]["whole"] / row["graphs"] * 1e6 for name in ("least", "median"))
        yield f"{row['graphs']:,}", f"{row['edges']:,}", *(f"{figure:.3g}" for figure in each)


def gpu_calls(result: Result) -> Rows:
    """Yield the calls of a solve on a GPU, and the milliseconds of Python and CuPy."""
    yield (
        "graph",
        "edges",
        "kernels and sorts",
        "memsets and copies on the device",
        "waits",
        "bytes read back",
        "host's time, least, ms",
        "median, ms",
    )
    for name, solved in result["graphs"].items():
        calls, seconds = solved["calls"], solved["seconds"]
        yield (
            _graph(name),
            f"{solved['edges']:,}",
            f"{calls['launches'] + calls['sorts']}",
            f"{calls['sets'] + calls['copies_within']}",
            f"{calls['waits']}",
            f"{calls['bytes_out']}",
            f"{min(seconds) * 1e3:.2f}",
            f"{statistics.median(seconds) * 1e3:.2f}",
        )


def gpu_traffic(result: Result) -> Rows:
    """Yield bytes and random accesses for each edge, by kernel, and the floor of an H100."""
    heads = ("launches", "bytes", "random", "floor, ns")
    solves = result["graphs"].values()
    yield "kernel", *(f"{_graph(name)}: {head}" for name in result["graphs"] for head in heads)
    found = [_by_kernel(solved) for solved in solves]
    totals = [tuple(map(sum, zip(*kernels.values(), strict=True))) for kernels in found]
    names = {name: -counted[1] for kernels in found for name, counted in kernels.items()}
    for name in sorted(names, key=lambda name: names[name]):
        counted = [kernels.get(name, (0, 0, 0)) for kernels in found]
        yield name, *itertools.chain(*map(_floor, counted, solves))
    yield "**all**", *itertools.chain(*map(_floor, totals, solves))


def _by_kernel(solved: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return launches, bytes and random accesses by the name of the kernel."""
    sorted_bytes = solved["calls"]["sorts"] * solved["edges"] * SORT_PASSES * SORT_BYTES
    found: dict[str, tuple[int, ...]] = {
        "sort (estimated)": (solved["calls"]["sorts"], sorted_bytes, 0)
    }
    for symbol, counted in solved["kernels"].items():
        mangled = re.match(r"_Z(\d+)", symbol)
        start = mangled.end() if mangled else 0
        name = f"`{symbol[start : start + int(mangled[1])]}`" if mangled else "kernels of CuPy"
        sums = zip(found.get(name, (0, 0, 0)), counted, strict=True)
        found[name] = tuple(map(sum, sums))
    return found


def _floor(figures: Sequence[int], solved: Mapping[str, Any]) -> tuple[str, ...]:
    launches, num_bytes, random = figures
    edges = solved["edges"]
    nanoseconds = (num_bytes + SECTOR * random) / H100_BYTES_PER_SECOND * 1e9
    each = f"{num_bytes / edges:.0f}", f"{random / edges:.1f}", f"{nanoseconds / edges:.3f}"
    return f"{launches}", *each


def _columns(found: Iterable[Figures]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((row.code, row.threads) for row in found))


def _column(code: str, threads: int, columns: Iterable[tuple[str, int]]) -> str:
    """Return the head of a column, with the number of threads if the code has several."""
    several = len([each for each in columns if each[0] == code]) > 1
    return f"{label(code)}, {_threads(threads)}" if several else label(code)


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _graph(name: str) -> str:
    return name if name in GRAPHS else f"`{name}`"


def _unit(found: Iterable[Figures]) -> tuple[str, float]:
    """Return the unit of times, and the number of units in a second."""
    least = min((row.seconds for row in found if row.seconds is not None), default=1.0)
    return ("ms", 1e3) if least < 0.01 else ("s", 1)


def _time(row: Figures | None, factor: float) -> str:
    if row is None or row.seconds is None:
        return "-"
    value = row.seconds * factor
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(row: Figures | None) -> str:
    if row is None or row.ratio is None:
        return "-"
    return _times(row.ratio) + ("\\*" if row.verdict == "differs" else "")


def _speed_up(rows: Sequence[Figures | None]) -> str:
    first, last = rows[0], rows[-1]
    if first is None or last is None or first.seconds is None or last.seconds is None:
        return "-"
    return f"{first.seconds / last.seconds:.2f}"


#: The benchmark of each table that a page can quote, and the function of its rows.
TABLES: dict[str, tuple[str, Callable[[Result], Rows]]] = {
    "codes": ("codes", ratios),
    "codes-readme": ("codes", lambda result: ratios(result, README_GRAPHS)),
    "codes-memory": ("codes", memory),
    "codes-stages": ("codes", stages),
    "sizes": ("sizes", ratios),
    "algorithms": ("algorithms", by_code),
    "disk": ("disk", on_disk),
    "files": ("files", readers),
    "primitives": ("primitives", overrides),
    "fused": ("fused", fused.rows),
    "start": ("start", starts),
    "small": ("small", small_calls),
    "small-many": ("small", many_graphs),
    "networkx-calls": ("networkx-calls", networkx_calls),
    "queries": ("queries", queries),
    "clusters": ("clusters", cluster_times),
    "estimators": ("estimators", estimator_times),
    "grids": ("grids", grid_times),
    "interpreted-gpu-calls": ("interpreted-gpu", gpu_calls),
    "interpreted-gpu-traffic": ("interpreted-gpu", gpu_traffic),
    **{name: ("device", rows) for name, rows in device_tables.TABLES.items()},
    "authors": ("authors", authors.rows),
    "authors-codes": ("authors", seconds),
    "papers-sousa": ("papers-sousa", seconds),
    "papers-sousa-load": ("papers-sousa-load", load),
    "papers-katsigiannis": ("papers-katsigiannis", helpers),
    "papers-algowiki": ("papers-algowiki", seconds),
    "papers-bhargava-zaia": ("papers-bhargava-zaia", ratios),
    "papers-parallel-boruvka": ("papers-parallel-boruvka", seconds),
}
