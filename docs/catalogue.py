"""Write the rows, sections and pictures of the algorithms on the pages.

Run ``python docs/catalogue.py`` after a change of an algorithm or of its stages. The docstring of
an algorithm is its section; the last lines, "Work", "Span" and "Use it for", are its row.
"""

import importlib
import re
from pathlib import Path

import mstflow
from mstflow.pipeline.catalogue.algorithms import NAMES

ROOT = Path(__file__).parents[1]
#: The first column of the table of algorithms, on every page that has one.
HEAD = "| algorithm |"
CELLS = re.compile(r"\n*^(?:Work|Span|Use it for): (.*)\.$", re.MULTILINE)


def files() -> dict[Path, str]:
    """Return the text of each file that follows from the catalogue."""
    notes = {name: _docstring(name) for name in NAMES}
    readme, page = ROOT / "README.md", ROOT / "docs" / "algorithms.md"
    cells = {name: [f"`{name}`", *CELLS.findall(text)] for name, text in notes.items()}
    summaries = [[f"`{name}`", mstflow.algorithm(name).summary] for name in NAMES]
    written = _with_rows(page.read_text(), list(cells.values())).partition("\n## ")[0]
    written += "".join(_section(name, CELLS.sub("", text)) for name, text in notes.items())
    pictures = {
        ROOT / "docs" / "images" / f"{name}.svg": mstflow.algorithm(name).draw() for name in NAMES
    }
    return {readme: _with_rows(readme.read_text(), summaries), page: written, **pictures}


def _docstring(name: str) -> str:
    file = name.replace("-", "_")
    page = importlib.import_module(f"mstflow.pipeline.catalogue.algorithms.{file}")
    return (page.__doc__ or "").strip()


def _with_rows(text: str, rows: list[list[str]]) -> str:
    """Return a page with other rows in its table of algorithms."""
    before, _, rest = text.partition(HEAD)
    table, blank, after = rest.partition("\n\n")
    head, rule, *_ = table.splitlines()
    lines = [HEAD + head, rule, *(f"| {' | '.join(row)} |" for row in rows)]
    return before + "\n".join(lines) + blank + after


def _section(name: str, text: str) -> str:
    picture = f"[![The data flow of {name}](images/{name}.svg)](images/{name}.svg)"
    return f"\n## {name}\n\n{text}\n\n{picture}\n"


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
