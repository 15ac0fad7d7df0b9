"""Tables of measurements that papers describe. The code that measured them is in their commits."""

from __future__ import annotations

from .tables import Table, median, milliseconds, ratio

TABLES = {
    "authors": Table(
        ("graph", "threads"),
        ("code",),
        {"ms": milliseconds(), "rounds only, ms": milliseconds("rounds only")},
        lambda row: "edgelist" not in row["code"],
    ),
    "papers-sousa-load": Table(
        ("partitions",), ("round",), {"": lambda row, _: round(row["excess"], 2)}
    ),
    "papers-katsigiannis": Table(
        ("graph",),
        ("code",),
        {
            "ms": milliseconds(),
            "ratio": ratio(),
            "share of the helper's cycle edges that it rejects": median("offloaded"),
            "share of all cycle edges that the main thread rejects": median("main_share"),
        },
    ),
}
