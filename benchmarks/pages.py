"""Tables on pages: write them from records between two marks, and find tables of stale records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from . import records, tables
from .suite import SUITE

#: A page quotes a table between `<!-- benchmark: TABLE MACHINE -->` and `<!-- end -->`.
_QUOTE = re.compile(r"(<!-- benchmark: (\S+) (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class Quote(NamedTuple):
    """A table on a page: its name, and the machine of its record."""

    page: Path
    table: str
    machine: str

    @property
    def benchmark(self) -> str:
        """The benchmark of the table."""
        return tables.TABLES[self.table][0]

    def record(self, root: Path) -> Path:
        """Return the path of the record in a working tree."""
        return root / records.RESULTS / self.machine / f"{self.benchmark}.json"


def all_pages(root: Path) -> list[Path]:
    """Return the pages that may quote tables."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def quotes(page: Path) -> list[Quote]:
    """Return the tables that a page quotes."""
    return [
        Quote(page, table, machine) for _, table, machine, *_ in _QUOTE.findall(page.read_text())
    ]


def written(page: Path, root: Path) -> str:
    """Return the text of a page with its tables written from the records."""

    def table(match: re.Match[str]) -> str:
        quote = Quote(page, match[2], match[3])
        path = quote.record(root)
        if path.exists():
            body = tables.markdown(quote.table, records.read(path))
        else:
            body = f"*Not measured yet: `python -m benchmarks record {quote.benchmark}`.*"
        return f"{match[1]}\n{body}\n\n{match[5]}"

    return _QUOTE.sub(table, page.read_text())


def stale_records(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield every record and the reasons why it is stale; a current record has no reasons."""
    for path in sorted((root / records.RESULTS).glob("*/*.json")):
        options = SUITE[path.stem].options if path.stem in SUITE else None
        yield path, list(records.reasons(records.read(path), options, root))


def stale_quotes(root: Path) -> Iterator[tuple[Quote, str]]:
    """Yield every quoted table whose record is stale or missing, and the reason."""
    reasons_of = dict(stale_records(root))
    for page in all_pages(root):
        for quote in quotes(page):
            if reasons := reasons_of.get(quote.record(root), ["it was never measured"]):
                yield quote, "; ".join(reasons)
