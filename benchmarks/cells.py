"""Cells of tables: names, numbers and times as text."""

from __future__ import annotations

from typing import Any

from .graphs import GRAPHS, parse_options


def code(name: str) -> str:
    """Return a short name of a code: the algorithm, or the options that matter."""
    program, _, rest = name.partition(":")
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
    return ", ".join(words) or program


def graph(name: str) -> str:
    """Return the name of a graph, as code if it is not a named graph."""
    return name if name in GRAPHS else f"`{name}`"


def threads(count: int) -> str:
    """Return a number of threads, such as "2 threads"."""
    return "1 thread" if count == 1 else f"{count} threads"


def number(value: Any) -> str:
    """Return an integer with separators, and any other value as text."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def three_digits(value: float) -> str:
    """Return a value with at least three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def milliseconds(seconds: float) -> str:
    """Return seconds in milliseconds."""
    return three_digits(seconds * 1e3)


def ratio(value: float) -> str:
    """Return a ratio with at least two digits."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
