"""What the papers' scripts share: their options, and the way to the runner beside them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

BENCHMARKS = Path(__file__).parents[1]
sys.path.insert(0, str(BENCHMARKS))

import compare  # noqa: E402  # found there
import figures  # noqa: E402
import plot  # noqa: E402

import graphs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NEW_YORK", "arguments", "figures", "graphs", "measure", "plot"]

NEW_YORK = BENCHMARKS.parent / "examples" / "data" / "USA-road-d.NY.gr.gz"


def arguments(name: str, about: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return a parser of the options all scripts have; figures and picture are called `name`."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    add = parser.add_argument
    add("--threads", nargs="+", type=int, default=[1, 2], metavar="T")
    add("--rounds", type=int, default=rounds, metavar="K")
    add("--patience", default="0", metavar="SECONDS", help="as for compare.py")
    add("--cache", type=Path, default=graphs.CACHE, help="where graphs lie; default: %(default)s")
    add("--output", type=Path, default=BENCHMARKS / "results" / f"papers_{name}.json")
    picture = BENCHMARKS.parent / "docs" / "images" / f"papers-{name}.svg"
    add("--plot", type=Path, default=picture, metavar="PICTURE")
    return parser


def measure(
    options: argparse.Namespace, names: Sequence[str], codes: Sequence[str], *others: str
) -> dict[str, Any]:
    """Let the runner measure the codes on the graphs, and return its record.

    The first code is the reference; `others` are further options of the runner.
    """
    own = {
        "graphs": names,
        "codes": codes,
        "threads": map(str, options.threads),
        "rounds": [str(options.rounds)],
        "patience": [options.patience],
        "cache": [str(options.cache)],
        "output": [str(options.output)],
    }
    given = (word for name, words in own.items() for word in (f"--{name}", *words))
    compare.main([*given, "--no-floor", *others])
    record: dict[str, Any] = json.loads(options.output.read_text())
    return record
