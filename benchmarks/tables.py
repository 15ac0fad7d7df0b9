"""Tables of records in Markdown."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import cells, fused, work
from .device import tables as device_tables
from .graphs import GRAPHS
from .papers import authors
from .runner.figures import Figures, figures

Result = Mapping[str, Any]
Rows = Iterator[Sequence[str]]

#: If other programs used more processors than this, the line below a table reports it.
DISTURBED = 0.1
#: A primitive has a row if it takes at least this many nanoseconds for each element.
SHOWN = 5
README_GRAPHS = ("E", "G", "R", "N")
VERSIONS = ("python", "numpy", "numba", "scipy", "igraph", "networkx")


def markdown(table: str, record: Mapping[str, Any]) -> str:
    """Return a table of a record, and a line with its commit, machine and versions."""
    _, rows = TABLES[table]
    head, *body = rows(record["result"])
    rule = ["---", *("---:" for _ in head[1:])]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]
    return "\n".join([*lines, "", f"*{origin(record)}*"])


def origin(record: Mapping[str, Any]) -> str:
    """Return a line with the commit, the machine and the versions of a record."""
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


def ratios(result: Result) -> Rows:
    """Yield times of the reference, and times of other codes divided by them."""
    measured = figures(result)
    columns = _columns(measured)
    times = [each for each in columns if each[0] == result["reference"]]
    others = [each for each in columns if each[0] != result["reference"]]
    unit, factor = _unit(row for row in measured if row.code == result["reference"])
    yield (
        "graph",
        "edges",
        *(f"{_column(*each, columns)}, {unit}" for each in times),
        *(_column(*each, columns) for each in others),
    )
    for name, facts in result["graphs"].items():
        row_of = {(row.code, row.threads): row for row in measured if row.graph == name}
        yield (
            cells.graph(name),
            f"{facts['edges']:,}",
            *(_time(row_of.get(each), factor) for each in times),
            *(_ratio(row_of.get(each)) for each in others),
        )


def codes(result: Result, names: Sequence[str] = (), with_memory: bool = False) -> Rows:
    """Yield the times of all codes on named graphs, and the bytes that they take for each edge."""
    measured = figures(result)
    columns = _columns(measured)
    unit, factor = _unit(measured)
    with_peak = list(dict.fromkeys(row.code for row in measured if row.peak)) if with_memory else []
    yield (
        "graph",
        "description",
        "edges",
        *(f"{_column(*each, columns)}, {unit}" for each in columns),
        *(f"{cells.code(code)}, bytes per edge" for code in with_peak),
    )
    for name in [each for each in result["graphs"] if not names or each in names]:
        edges = result["graphs"][name]["edges"]
        row_of = {(row.code, row.threads): row for row in measured if row.graph == name}
        yield (
            name,
            GRAPHS[name][0] if name in GRAPHS else "",
            f"{edges:,}",
            *(_time(row_of.get(each), factor) + _star(row_of.get(each)) for each in columns),
            *(_bytes((r for r in row_of.values() if r.code == code), edges) for code in with_peak),
        )


def by_code(result: Result) -> Rows:
    """Yield a row for each code on the only graph: times, and bytes for each edge."""
    measured = figures(result)
    (facts,) = result["graphs"].values()
    unit, factor = _unit(measured)
    threads = sorted({row.threads for row in measured})
    yield "algorithm", *(f"{cells.threads(count)}, {unit}" for count in threads), "bytes per edge"
    for code in dict.fromkeys(row.code for row in measured):
        row_of = {row.threads: row for row in measured if row.code == code}
        times = (_time(row_of.get(count), factor) for count in threads)
        yield cells.code(code), *times, _bytes(row_of.values(), facts["edges"])


def on_disk(result: Result) -> Rows:
    """Yield a row for each strategy on the only graph: times, rates, memory of all processes."""
    measured = figures(result)
    (facts,) = result["graphs"].values()
    threads = sorted({row.threads for row in measured})
    yield (
        "strategy",
        *(f"{cells.threads(count)}, s" for count in threads),
        *(f"{cells.threads(count)}, M edges/s" for count in threads),
        *(f"{cells.threads(count)}, peak MB" for count in threads),
    )
    for code in dict.fromkeys(row.code for row in measured):
        row_of = {row.threads: row for row in measured if row.code == code}
        rows = [row_of.get(count) for count in threads]
        rates = (
            f"{facts['edges'] / row.seconds / 1e6:.0f}" if row and row.seconds else "-"
            for row in rows
        )
        peaks = (f"{row.peak / 1e6:.0f}" if row and row.peak else "-" for row in rows)
        yield cells.code(code), *(_time(row, 1) + _star(row) for row in rows), *rates, *peaks


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
        "share of the helper's cycle edges that it rejects",
        "share of all cycle edges that the main thread rejects",
    )
    for graph in result["graphs"]:
        alone, helped = (times[graph, code] for code in ("kruskal", "kruskal-helpers"))
        runs = [run for run in result["runs"] if run["graph"] == graph and "offloaded" in run]
        shares = (
            statistics.median(run[name] for run in runs) for name in ("offloaded", "main_share")
        )
        yield (
            cells.graph(graph),
            *(f"{each * 1e3:.0f}" for each in (alone, helped)),
            f"{alone / helped:.2f}",
            *(f"{share:.2f}" for share in shares),
        )


def load(result: Result) -> Rows:
    """Yield the excess of the largest partition over the mean, by round."""
    longest = max(map(len, result["rounds"].values()))
    yield "partitions", *(f"round {number}" for number in range(1, longest + 1))
    for partitions, excess in result["rounds"].items():
        yield partitions, *(f"{share:.0%}" for share in excess), *["-"] * (longest - len(excess))


def overrides(result: Result) -> Rows:
    """Yield nanoseconds per element of primitives, by their definition and compiled.

    Primitives below `SHOWN` nanoseconds have no row.
    """
    threads = list(dict.fromkeys(row["threads"] for row in result["rows"]))
    kinds = [("definition", threads[0]), *(("override", count) for count in threads)]
    heads = (f"compiled, {cells.threads(count)}" for count in threads)
    yield "primitive", "definition", *heads, "ratio"
    for name in dict.fromkeys(row["primitive"] for row in result["rows"]):
        row_of = {row["threads"]: row for row in result["rows"] if row["primitive"] == name}
        nanoseconds = [
            statistics.median(row_of[count]["seconds"][kind]) / row_of[count]["elements"] * 1e9
            for kind, count in kinds
        ]
        if nanoseconds[1] >= SHOWN:
            ratio = nanoseconds[0] / nanoseconds[1]
            yield f"`{name}`", *(f"{each:.1f}" for each in nanoseconds), f"{ratio:.1f}"


def readers(result: Result) -> Rows:
    """Yield million edges per second of each file, by mstflow and by another library."""
    threads = list(dict.fromkeys(row["threads"] for row in result["rows"]))
    heads = (f"{by}, {cells.threads(count)}" for count in threads for by in ("mstflow", "other"))
    yield "file", *heads, "other"
    for name in dict.fromkeys(row["file"] for row in result["rows"]):
        times = {row["threads"]: row["seconds"] for row in result["rows"] if row["file"] == name}
        rates = [result["edges"] / statistics.median(s) for c in threads for s in times[c].values()]
        other = list(times[threads[0]])[-1]
        yield f"`{name}`", *(f"{rate / 1e6:.1f}" for rate in rates), other


#: The measured calls of mstflow by networkx, and the heads of their columns.
CALLS = {
    "process": "first call of a process",
    "configured": "by configuration",
    "named": "by name",
    "second": "by name, second call",
}


def networkx_calls(result: Result) -> Rows:
    """Yield the milliseconds of networkx, and how many times faster the calls of mstflow are."""
    names = ("function", "graph", "nodes", "weights", "degree", "edges")
    yield *names, "networkx, ms", *CALLS.values()
    for key, seconds in _medians(result, names):
        theirs = seconds["networkx"]
        ours = (cells.ratio(theirs / seconds[call]) for call in CALLS)
        yield f"`{key[0]}`", *map(cells.number, key[1:]), cells.milliseconds(theirs), *ours


def queries(result: Result) -> Rows:
    """Yield the times of the solve, of replacement edges and of a batch, and pairs a second."""
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
    for (graph, *sizes), seconds in _medians(result, ("graph", "edges", "threads")):
        yield (
            cells.graph(graph),
            *map(cells.number, sizes),
            cells.milliseconds(seconds["solve"]),
            cells.milliseconds(seconds["replacements"]),
            f"{seconds['replacements'] / seconds['solve']:.2g}",
            f"{result['pairs'] / seconds['bottlenecks'] / 1e6:.3g}",
            cells.milliseconds(seconds["add"]),
        )


def _medians(result: Result, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Group rows by the columns `names`; yield these values and the median `seconds` of a group."""
    key_of = operator.itemgetter(*names)
    for key in dict.fromkeys(map(key_of, result["rows"])):
        group = [row["seconds"] for row in result["rows"] if key_of(row) == key]
        yield key, {name: statistics.median(each[name] for each in group) for name in group[0]}


def programs(result: Result, names: Sequence[str]) -> Rows:
    """Yield the seconds, the ratio to mstflow and the peak memory of each program.

    Rows with the same columns `names` are of the same problem. mstflow is the first of them.
    """
    yield *names, "code", "s", "ratio", "peak, MB"
    reference: dict[tuple[Any, ...], float] = {}
    for row in result["rows"]:
        problem = tuple(row[name] for name in names)
        heads = (*map(cells.number, problem), row["code"])
        rounds = [each for each in row["rounds"] if each is not None]
        if not rounds:
            yield *heads, f"over {result['limit']:.0f}", "-", "-"
            continue
        seconds = statistics.median(each["seconds"] for each in rounds)
        reference.setdefault(problem, seconds)
        peak = max(each["peak"] for each in rounds) / 1e6
        ratio = cells.ratio(seconds / reference[problem])
        yield *heads, f"{seconds:.3g}", ratio, f"{peak:,.0f}"


def grid_times(result: Result) -> Rows:
    """Yield the seconds, the edges in a second and the memory of each volume and code."""
    yield "voxels", "values", "code", "s", "million edges/s", "bytes for each voxel"
    for row in result["rows"]:
        seconds = statistics.median(each["seconds"] for each in row["rounds"])
        used = max(each["bytes"] for each in row["rounds"])
        code = f"{row['code']}, {cells.threads(row['threads'])}"
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
    medians = dict(_medians(result, ("edges", "backend")))
    for edges in dict.fromkeys(edges for edges, _ in medians):
        numpy, numba = medians[edges, "numpy"], medians[edges, "numba"]
        shown = numba["import"], numpy["first"], numba["first"], numba["second"]
        yield f"{edges:,}", *(f"{seconds * 1e3:,.0f}" for seconds in shown)


def small_calls(result: Result) -> Rows:
    """Yield the microseconds of a call for one graph, by part, and those of scipy."""
    parts = ("plan", "dispatch", "stages", "answer", "whole")
    yield "edges", "stages", *(f"{part}, µs" for part in parts), "scipy, µs"
    for edges in dict.fromkeys(row["edges"] for row in result["rows"]):
        row_of = {row["code"]: row for row in result["rows"] if row["edges"] == edges}
        medians = [row_of["mstflow"]["median"][part] for part in parts]
        medians.append(row_of["scipy"]["median"]["whole"])
        stages = f"{row_of['mstflow']['calls']}"
        yield f"{edges:,}", stages, *(f"{1e6 * each:,.0f}" for each in medians)


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
            cells.graph(name),
            f"{solved['edges']:,}",
            f"{calls['launches'] + calls['sorts']}",
            f"{calls['sets'] + calls['copies_within']}",
            f"{calls['waits']}",
            f"{calls['bytes_out']}",
            f"{min(seconds) * 1e3:.2f}",
            f"{statistics.median(seconds) * 1e3:.2f}",
        )


def _columns(rows: Iterable[Figures]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((row.code, row.threads) for row in rows))


def _column(code: str, threads: int, columns: Iterable[tuple[str, int]]) -> str:
    """Return the head of a column, with the number of threads if the code has several."""
    several = len([each for each in columns if each[0] == code]) > 1
    return f"{cells.code(code)}, {cells.threads(threads)}" if several else cells.code(code)


def _unit(rows: Iterable[Figures]) -> tuple[str, float]:
    """Return the unit of times, and the number of units in a second."""
    least = min((row.seconds for row in rows if row.seconds is not None), default=1.0)
    return ("ms", 1e3) if least < 0.1 else ("s", 1)


def _time(row: Figures | None, factor: float) -> str:
    if row is None or row.seconds is None:
        return "-"
    return cells.three_digits(row.seconds * factor)


def _ratio(row: Figures | None) -> str:
    if row is None or row.ratio is None:
        return "-"
    return cells.ratio(row.ratio) + _star(row)


def _star(row: Figures | None) -> str:
    """Return a star if a code returns another result than the reference."""
    return "\\*" if row and row.verdict == "differs" else ""


def _bytes(rows: Iterable[Figures], edges: int) -> str:
    """Return the peak of memory in addition to the input, in bytes for each edge."""
    peak = max((row.peak for row in rows if row.peak is not None), default=None)
    return "-" if peak is None else f"{peak / edges:.0f}"


#: The benchmark of each table that a page can quote, and the function of its rows.
TABLES: dict[str, tuple[str, Callable[[Result], Rows]]] = {
    "codes": ("codes", lambda result: codes(result, with_memory=True)),
    "codes-readme": ("codes", lambda result: codes(result, README_GRAPHS)),
    "algorithms": ("algorithms", by_code),
    "disk": ("disk", on_disk),
    "files": ("files", readers),
    "primitives": ("primitives", overrides),
    "fused": ("fused", fused.rows),
    "work-solves": ("work", work.solves),
    "work-primitives": ("work", work.calls),
    "start": ("start", starts),
    "small": ("small", small_calls),
    "small-many": ("small", many_graphs),
    "networkx-calls": ("networkx-calls", networkx_calls),
    "queries": ("queries", queries),
    "clusters": ("clusters", lambda result: programs(result, ["task"])),
    "estimators": ("estimators", lambda result: programs(result, ["points", "dimensions"])),
    "grids": ("grids", grid_times),
    "interpreted-gpu": ("interpreted-gpu", gpu_calls),
    **{name: ("device", rows) for name, rows in device_tables.TABLES.items()},
    "authors": ("authors", authors.rows),
    "papers-sousa-load": ("papers-sousa-load", load),
    "papers-katsigiannis": ("papers-katsigiannis", helpers),
    "papers-bhargava-zaia": ("papers-bhargava-zaia", ratios),
}
