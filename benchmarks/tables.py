"""Tables of records in Markdown, and the pages that quote them."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .graphs import GRAPHS, parse_options

Row = Mapping[str, Any]
#: The figure of a row, which may be divided by that of the reference on its line.
Figure = Callable[[Any, Any], Any]

#: If other programs used more processors than this, the line below a table reports it.
DISTURBED = 0.1
#: Tolerance of total weights: sums of floats depend on the order of addition.
TOLERANCE = 1e-6
VERSIONS = ("python", "numpy", "numba", "scipy", "igraph", "networkx")
#: Fields whose values are names in the code.
NAMES = {"algorithm", "strategy", "primitive", "file", "function", "kernel"}
#: A page quotes a table between `<!-- benchmark: TABLE MACHINE -->` and `<!-- end -->`.
QUOTE = re.compile(r"(<!-- benchmark: (\S+) (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class Table(NamedTuple):
    """A table: the fields that name its lines and its columns, and the figures of each column.

    `prepared` returns the rows of a record, of which `chosen` selects some. The reference of a row
    is the first on its line with the same code and the same values of the fields `against`.
    """

    down: Sequence[str]
    across: Sequence[str]
    figures: Mapping[str, Figure]
    chosen: Callable[[Row], bool] = lambda row: True
    against: Sequence[str] = ()
    prepared: Callable[[Any], Iterable[Row]] = lambda rows: rows


def median(name: str = "seconds", factor: float = 1.0) -> Figure:
    """Return a figure: the median of a fact over all rounds, times a factor."""
    return lambda row, _: statistics.median(row[name]) * factor


def milliseconds(name: str = "seconds") -> Figure:
    """Return a figure: the median milliseconds."""
    return median(name, 1e3)


def ratio(name: str = "seconds") -> Figure:
    """Return a figure: the median over the rounds of the value divided by the reference's.

    The reference itself has none.
    """

    def figure(row: Row, reference: Row) -> Any:
        if row is reference:
            return None
        pairs = zip(row[name], reference[name], strict=False)
        return statistics.median(one / other for one, other in pairs)

    return figure


def rate() -> Figure:
    """Return a figure: millions of edges divided by the median seconds."""
    return lambda row, _: row["edges"] / statistics.median(row["seconds"]) * 1e-6


def peak(of: str | None = None) -> Figure:
    """Return a figure: the largest memory in MB, or in bytes for each unit of a size."""
    return lambda row, _: round(max(row["peak"]) / (row[of] if of else 1e6))


def body(table: Table, rows: Any) -> list[list[str]]:
    """Return the head and the lines of a table; a row without the facts of a figure has a dash."""
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in filter(table.chosen, table.prepared(rows)):
        lines.setdefault(_key(row, table.down), []).append(row)
    keys = dict.fromkeys(_key(row, table.across) for of in lines.values() for row in of)
    columns = []
    for head, figure in table.figures.items():
        for key in keys:
            names = map(_head, table.across, key)
            cells = [", ".join([*names, head] if head else names)]
            for of in lines.values():
                found = [each for each in of if _key(each, table.across) == key]
                cells.append(_cell(found[0], of, figure, table.against) if found else "-")
            columns.append(cells)
    columns = [cells for cells in columns if set(cells[1:]) != {"-"}]
    down = [[name, *(shown(name, key[i]) for key in lines)] for i, name in enumerate(table.down)]
    return [list(cells) for cells in zip(*down, *columns, strict=True)]


def among(rows: Iterable[Row], name: str, figure: Figure, least: float) -> list[Row]:
    """Return the rows whose value of a field has a figure of at least `least` in some row."""
    rows = list(rows)
    kept = {row[name] for row in rows if name in row and (figure(row, row) or 0) >= least}
    return [row for row in rows if row.get(name) in kept]


def _key(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row.get(name, "-") for name in names)


def _cell(row: Row, line: Sequence[Row], figure: Figure, against: Sequence[str]) -> str:
    """Return a figure; a star marks a result that differs from the reference's."""
    first = line[0].get("code"), *_key(row, against)
    reference = next((r for r in line if (r.get("code"), *_key(r, against)) == first), line[0])
    try:
        value = figure(row, reference)
    except KeyError:
        return "-"
    star = "\\*" if differs(row, line[0]) else ""
    return "-" if value is None else shown("", value) + star


def differs(row: Row, reference: Row) -> bool:
    """Return whether a code found another forest than the reference."""
    if "checksum" in row and "checksum" in reference:
        return len({*row["checksum"], *reference["checksum"]}) > 1
    both = [each for each in ("found", "weight") if each in row and each in reference]
    return not all(math.isclose(row[n][0], reference[n][0], rel_tol=TOLERANCE) for n in both)


def _head(name: str, value: Any) -> str:
    """Return a value of a field as part of the head of a column."""
    is_number = isinstance(value, int) and name != "threads"
    return f"{name} = {shown(name, value)}" if is_number else shown(name, value)


def shown(name: str, value: Any) -> str:
    """Return a value of a field as text: numbers have three digits or separators."""
    if name == "threads":
        return f"T = {value}"
    if name == "code":
        return code_title(str(value))
    if name in NAMES or (name == "graph" and value not in GRAPHS and ":" in value):
        return f"`{value}`"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def code_title(name: str) -> str:
    """Return a short name of a code: the algorithm, or the options that matter."""
    given, _, rest = name.partition(":")
    options = {k: v for k, v in parse_options(rest).items() if k not in ("backend", "threads")}
    if options.keys() == {"algorithm"}:
        return f"`{options['algorithm']}`"
    words = (str(v) if k == "strategy" else f"{k} {v}" for k, v in options.items())
    return ", ".join(words) or given


def markdown(table: Table, record: Mapping[str, Any]) -> str:
    """Return a table of a record, and a line with its commit, machine and versions."""
    head, *lines = body(table, record["rows"])
    rule = ["---", *("---:" for _ in head[1:])]
    text = [f"| {' | '.join(cells)} |" for cells in (head, rule, *lines)]
    return "\n".join([*text, "", f"*{origin(record)}*"])


def origin(record: Mapping[str, Any]) -> str:
    """Return a line with the commit, the machine and the versions of a record."""
    machine, versions, commit = record["machine"], record["versions"], record["commit"]
    known = [f"{name} {versions[name]}" for name in VERSIONS if name in versions]
    text = (
        f"Commit {commit[:7]}{'+' * commit.endswith('+')}, {record['date']}: {machine['cpu']} "
        f"(family {machine['cpu_family']}, model {machine['cpu_model']}), "
        f"{machine['processors']} processors (together {machine['parallel_arithmetic']:.1f} "
        f"times as fast as one), {machine['memory_gb']:.0f} GB; {', '.join(known)}."
    )
    if record["others"] is None:
        text += " The use by other programs was not measured."
    elif record["others"] > DISTURBED:
        text += f" Other programs kept {record['others']:.1f} processors busy."
    return text


def all_pages(root: Path) -> list[Path]:
    """Return the pages that may quote tables."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def quotes(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the machine of each table that a page quotes."""
    yield from ((table, machine) for _, table, machine, *_ in QUOTE.findall(page.read_text()))


def written(
    page: Path, of_table: Mapping[str, tuple[str, Table]], record_of: Callable[[str, str], Any]
) -> str:
    """Return the text of a page with its tables written from the records.

    `of_table` has the benchmark of each table. `record_of` returns the record of a benchmark on a
    machine, or None.
    """

    def replaced(match: re.Match[str]) -> str:
        benchmark, table = of_table[match[2]]
        record = record_of(benchmark, match[3])
        missing = f"*Not measured yet: `python -m benchmarks record {benchmark}`.*"
        return f"{match[1]}\n{markdown(table, record) if record else missing}\n\n{match[5]}"

    return QUOTE.sub(replaced, page.read_text())
