"""Tables of named vertices in text and objects, sparse neighbors, and points of any dtype."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
from pyarrow import parquet

import mstflow
from mstflow.errors import MstflowError
from soak import oracle
from soak.case import Case, WrongError

#: Names that may look like a number, a header, a missing value or a line of the format.
_NAMES = [
    "a", "b", "A", " a", "a ", "x y", "u", "v", "weight", "0", "1", "01", "1.0", "-1", "1e3", "nan",
    "NULL", "None", "é", "日本", "a,b", "a;b", 'a"b', "a\tb", "a\nb", "#a", "%", "p", "", " ",
    "9223372036854775808", "99999999999999999999",
]  # fmt: skip
_TITLES = ["u", "v", "left", "right", "id", "to", "0", "1", "x y", "é"]


def run(case: Case) -> None:
    """Solve a table of named vertices, from text in any dialect or from an object of a library."""
    rng = case.rng
    names = rng.sample(_NAMES, rng.randint(1, 9))
    rows = [(rng.choice(names), rng.choice(names)) for _ in range(rng.randint(0, 12))]
    kind, weights = _weights(len(rows), rng)
    titles = [*rng.sample(_TITLES, 2), "weight"]
    form = rng.choice(list(_FORMS))
    case.choices |= {"rows": rows, "weights": weights, "titles": titles, "form": form}
    case.counts[f"table: {form}"] += 1
    given, options, written = _FORMS[form](case, titles, rows, weights)
    case.choices |= {"options": options, "text": written}
    memory = rng.choice([{}, {}, {"memory": "2GB"}])
    try:
        forest = mstflow.minimum_spanning_forest(given, progress=False, **options, **memory)
    except MstflowError as error:
        _check_refusal(case, error, rows, kind, form)
        return
    if "text" in form and any(not name for row in rows for name in row):
        raise WrongError("an empty name was accepted")
    u, v, _ = _numbered(rows)
    exact = [Fraction(weight) if math.isfinite(weight) else weight for weight in weights]
    answer = oracle.solve(u, v, exact, 1 + max([*u, *v], default=-1), maximum=False)
    case.expect("edge ids", forest.edge_ids.tolist(), answer.edge_ids)
    case.expect(
        "names of u",
        forest.names.take(forest.u).to_pylist() if forest.edge_ids.size else [],
        [rows[edge][0] for edge in answer.edge_ids],
    )
    found = [Fraction(each) if math.isfinite(each) else each for each in forest.weight.tolist()]
    nearest = [
        Fraction(float(weight)) if isinstance(weight, Decimal) else exact[edge]
        for edge, weight in enumerate(weights)
    ]
    case.expect("weights", found, [nearest[edge] for edge in answer.edge_ids])


def _weights(count: int, rng: random.Random) -> tuple[str, list[Any]]:
    kind = rng.choice(["small", "large", "float", "decimal", "unsigned"])
    draw = {
        "small": lambda: rng.randint(-3, 3),
        "large": lambda: rng.choice([1, -1]) * (2**53 + rng.randint(0, 4)),
        "float": lambda: rng.choice([0.1, 0.30000000000000004, 0.3, -0.0, 1e-320, 1.5e300]),
        "decimal": lambda: Decimal(rng.randint(-40, 40)) / 10,
        "unsigned": lambda: 2**63 + rng.randint(0, 3),
    }[kind]
    return kind, [draw() for _ in range(count)]


def _numbered(rows: list[tuple[str, str]]) -> tuple[list[int], list[int], list[str]]:
    number: dict[str, int] = {}
    ends = [[number.setdefault(name, len(number)) for name in row] for row in rows]
    return [u for u, _ in ends], [v for _, v in ends], [*number]


def _check_refusal(
    case: Case, error: MstflowError, rows: list[tuple[str, str]], kind: str, form: str
) -> None:
    """A refusal needs a reason that the case has, and names the file."""
    flat = [name for row in rows for name in row]
    is_text = "text" in form
    reasons = [
        any(not name.strip() for name in flat),  # a name without a value
        is_text and any("\n" in name for name in flat),
        is_text and not rows,
        kind == "decimal" and "decimal" in str(error),
        "looks like a header" in str(error) and {"u", "v", "weight"} & set(flat),
    ]
    case.counts["table: refused"] += 1
    if not any(reasons):
        wrong = f"refused without a reason: {error}"
        raise WrongError(wrong)
    if is_text and str(case.folder) not in str(error):
        wrong = f"the error names no file: {error}"
        raise WrongError(wrong)


# Forms: functions of a case, titles, rows and weights, which return a graph, options and its text.


def _text(case: Case, titles: Any, rows: Any, weights: Any) -> tuple[Any, dict[str, Any], str]:
    """Write text with a random delimiter, quotes, spaces, encoding and end of lines."""
    rng, path = case.rng, case.folder / "pairs.csv"
    delimiter = rng.choice([",", ";", "\t"])
    space = rng.choice(["", "", " ", "  "])
    has_header = rng.random() < 0.7

    def field(name: str) -> str:
        needs = name != name.strip() or any(each in name for each in ',;\t\n"#%\ufeff') or not name
        if needs or rng.random() < 0.2:
            name = '"' + name.replace('"', '""') + '"'
        return rng.choice(["", space]) + name

    lines = [delimiter.join(field(title) for title in titles)] if has_header else []
    for (u, v), weight in zip(rows, weights, strict=True):
        shown = repr(weight) if isinstance(weight, float) else str(weight)
        lines.append(delimiter.join([field(u), field(v), rng.choice(["", space]) + shown]))
    end = rng.choice(["\n", "\r\n"])
    text = "".join(line + end for line in lines)
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"])
    path.write_bytes(text.encode(encoding))
    options: dict[str, Any] = {"ends": tuple(titles[:2]), "weight": "weight"}
    if not has_header:
        options = {"ends": (0, 1), "weight": 2}
    if encoding == "utf-16" and rng.random() < 0.5:
        options["encoding"] = encoding
    return str(path), options, text


def _columns(titles: Any, rows: Any, weights: Any) -> dict[str, Any]:
    values = [[row[0] for row in rows], [row[1] for row in rows], weights]
    return dict(zip(titles, values, strict=True))


def _arrow(titles: Any, rows: Any, weights: Any) -> pa.Table:
    u, v, weight = _columns(titles, rows, weights).values()
    ends = [pa.array(end, pa.string()) for end in (u, v)]
    if weight and isinstance(weight[0], int):
        dtype: Any = pa.uint64() if weight[0] >= 2**63 else pa.int64()
    else:
        dtype = pa.decimal128(5, 2) if weight and isinstance(weight[0], Decimal) else pa.float64()
    return pa.table([*ends, pa.array(weight, dtype)], titles)


def _of_library(convert: Any) -> Any:
    def form(case: Case, titles: Any, rows: Any, weights: Any) -> tuple[Any, dict[str, Any], str]:
        table = _arrow(titles, rows, weights)
        return convert(case, table), {"ends": tuple(titles[:2]), "weight": "weight"}, ""

    return form


def _parquet(case: Case, table: pa.Table) -> str:
    parquet.write_table(table, case.folder / "pairs.parquet", row_group_size=case.rng.randint(1, 9))
    return str(case.folder / "pairs.parquet")


def _hive(case: Case, table: pa.Table) -> str:
    """Write two files whose links and hidden files count once, or not."""
    middle = case.rng.randint(0, table.num_rows)
    for number, part in enumerate((table[:middle], table[middle:])):
        folder = case.folder / "pairs" / f"part={number}"
        folder.mkdir(parents=True)
        parquet.write_table(part, folder / "0.parquet")
        (folder / "again").symlink_to(case.folder / "pairs")
    return str(case.folder / "pairs" / "**" / "*.parquet")


_FORMS = {
    "text": _text,
    "arrow": _of_library(lambda _, table: table),
    "pandas": _of_library(lambda _, table: table.to_pandas()),
    "pandas arrow": _of_library(lambda _, table: table.to_pandas(types_mapper=pandas.ArrowDtype)),
    "polars": _of_library(lambda _, table: polars.from_arrow(table)),
    "parquet": _of_library(_parquet),
    "hive": _of_library(_hive),
}


def neighbors(case: Case) -> None:
    """Compare core distances of a graph of neighbors with the definition; arcs may differ."""
    rng = case.rng
    n, min_samples = rng.randint(1, 8), rng.randint(1, 5)
    edges = []
    for u, v in itertools.product(range(n), repeat=2):
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            distance = rng.choice([0.0, 1.0, 2.0, rng.random()])
            edges.append((u, v, rng.choice([distance, math.nextafter(distance, 9)])))
    case.choices |= {"edges": edges, "min_samples": min_samples}
    case.counts["neighbors"] += 1
    columns = [np.array([edge[i] for edge in edges], [int, int, float][i]) for i in range(3)]
    found = mstflow.mutual_reachability(
        tuple(columns), min_samples=min_samples, num_vertices=n,
        backend=rng.choice(["auto", "numpy", "numba"]),
    ).weight  # fmt: skip
    nearest: list[dict[int, float]] = [{each: 0.0} for each in range(n)]
    for u, v, distance in edges:
        for one, other in ((u, v), (v, u)):
            if one != other:
                nearest[one][other] = min(distance, nearest[one].get(other, math.inf))
    core = [sorted(each.values())[min_samples - 1 : min_samples] or [math.inf] for each in nearest]
    expected = [max(distance, core[u][0], core[v][0]) for u, v, distance in edges]
    case.expect("reachability", found.tolist(), expected)


def points(case: Case) -> None:
    """Compare the tree of points of any dtype with Kruskal's on the distances of all pairs."""
    rng = case.rng
    n, axes = rng.randint(1, 12), rng.randint(1, 4)
    dtype = rng.choice([">f4", "<f4", ">f8", "<f8", "<f2", ">f2", "<i4", ">i8", "<u2", "?"])
    scale = rng.choice([1, 1, 1e-3, 1e-20, 1e4])
    values = np.array(
        [[rng.choice([-3, 0, 1, 2.5, rng.random()]) for _ in range(axes)] for _ in range(n)]
    )
    with np.errstate(all="ignore"):
        coordinates = (np.abs(values) if dtype == "<u2" else values * scale).astype(dtype)
    algorithm = rng.choice(["auto", "boruvka-blocks", "boruvka-points"])
    case.choices |= {"values": coordinates.tolist(), "dtype": dtype, "algorithm": algorithm}
    case.counts[f"points: {dtype}"] += 1
    graph = mstflow.points(coordinates)
    forest = mstflow.minimum_spanning_forest(graph, algorithm=algorithm, progress=False)
    squares = [
        (sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(p, q, strict=True)))
        for p, q in itertools.combinations(coordinates.tolist(), 2)
    ]
    u, v = ([pair[i] for pair in itertools.combinations(range(n), 2)] for i in range(2))
    answer = oracle.solve(u, v, squares, n, maximum=False)
    exact = (
        math.sqrt(sum(squares[edge] for edge in answer.edge_ids) or 0)
        if n == 2
        else sum(math.sqrt(squares[edge]) for edge in answer.edge_ids)
    )
    precision = np.finfo(coordinates.dtype if coordinates.dtype.kind == "f" else float).eps
    if not math.isclose(forest.total_weight, exact, rel_tol=64 * float(precision), abs_tol=1e-300):
        wrong = f"total weight: expected {exact!r}, found {forest.total_weight!r}"
        raise WrongError(wrong)
