"""What each override of the `numba` array module buys: its time beside the definition's.

The definition of a plain primitive is the `numpy` module's; that of a fused one is written in plain
primitives of the same module, on the same threads. Arguments are those of a round on a random
graph. Usage: python primitives.py [--size N] [--threads T ...] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from machine import about, pinned

from mstflow.primitives.numba.arrays import NumbaArrays
from mstflow.primitives.numpy_arrays import NumpyArrays
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.runtime.memory import keeping_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

Call = tuple[tuple[Any, ...], dict[str, Any]]

ROUNDS = 7
EDGES_PER_VERTEX = 3


def arguments(size: int) -> dict[str, Call]:
    """Return what to call each overridden primitive with, by its name and what is special.

    Parameters
    ----------
    size : int
        Vertices; there are three edges for each.
    """
    random = np.random.default_rng(0)
    count = EDGES_PER_VERTEX * size
    u, v = random.integers(0, size, (2, count), dtype=np.int32)
    v[u == v] ^= 1
    weight = random.random(count, dtype=np.float32) - np.float32(0.5)
    key = random.integers(0, 2**32, count, dtype=np.uint32)
    ids = np.arange(count, dtype=np.int32)
    label = random.integers(0, size // 3, size, dtype=np.int32)
    place = random.permutation(size).astype(np.int32)
    _, best, target = NumpyArrays().scatter_min_pairs(u, v, key, ids, size)
    parent, _ = NumpyArrays().cut_mirrors(target, best)
    order = np.argsort(key[:size])
    calls: dict[str, tuple[Any, ...]] = {
        "gather": (label, u),
        "argsort": (key[: 2**18],),
        "argsort, 64 bits": (key[: 2**18].astype(np.uint64) << np.uint64(30),),
        "order_key": (weight,),
        "pointer_jump": (parent,),
        "compact_pairs": (u, v, key, 2**30, "int32", ids),
        "relabel_pairs": (label, u, v, key, ids),
        "scatter_min_pairs": (u, v, key, ids, size),
        "cut_mirrors": (target, best),
        "number_roots": (NumpyArrays().pointer_jump(parent),),
        "sorted_union": ((place[: size // 2], place[size // 2 :]),),
        "join_in_order": (u[order], v[order], size),
        "join_by_key": (u[:size], v[:size], key[:size], size),
        "join_with_helpers": (u[order], v[order], size),
    }
    found: dict[str, Call] = {name: (given, {}) for name, given in calls.items()}
    node = np.arange(size, dtype=np.int32)
    found["unite"] = ((node, node, target), {"by_rank": True})
    found["unite, no ranks"] = ((node, node, target), {"by_rank": False})
    found["consecutive"] = ((0, size), {"dtype": "int32"})
    found["scatter"] = ((place, label, size, -1), {"dtype": "int32"})
    return found


def overridden() -> list[str]:
    """Return the names of the primitives that the `numba` module defines itself."""
    return [name for name in vars(NumbaArrays) if not name.startswith("_")]


def definition(ops: NumbaArrays, name: str) -> Callable[..., Any]:
    """Return the function that an override must equal, at its best without it."""
    if name in vars(NumpyArrays):
        return getattr(NumpyArrays(), name)  # type: ignore[no-any-return]
    return getattr(ArrayModule, name).__get__(ops)  # type: ignore[no-any-return]


def compare(case: str, call: Call, threads: int) -> dict[str, Any]:
    """Time both in turns and return nanoseconds for each element of the largest array."""
    ops, name = NumbaArrays(threads), case.partition(",")[0]
    functions = definition(ops, name), getattr(ops, name)
    best = [np.inf, np.inf]
    given, options = call
    flat = [part for each in given for part in (each if isinstance(each, tuple | list) else [each])]
    elements = max([len(part) for part in flat if np.ndim(part)] or given)
    with pinned(threads):
        for _ in range(ROUNDS):
            for which, function in enumerate(functions):
                start = time.perf_counter()
                function(*given, **options)
                best[which] = min(best[which], time.perf_counter() - start)
    defined, override = (seconds * 1e9 / elements for seconds in best)
    return {
        "primitive": case,
        "threads": threads,
        "definition_ns": round(defined, 3),
        "override_ns": round(override, 3),
        "ratio": round(defined / override, 2),
    }


def main() -> None:
    """Print a table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=2**20)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--output", type=Path, metavar="JSON")
    options = parser.parse_args()
    calls = arguments(options.size)
    if missing := set(overridden()) - {case.partition(",")[0] for case in calls}:
        parser.error(f"nothing to call {', '.join(missing)} with")
    with keeping_blocks():
        rows = [compare(case, call, t) for case, call in calls.items() for t in options.threads]
    print(f"{'primitive':20} {'threads':>7} {'definition':>10} {'override':>9} {'ratio':>6}")
    for row in rows:
        print("{:20} {:7} {:10.2f} {:9.2f} {:6.2f}".format(*row.values()))
    if options.output:
        record = {"machine": about(), "size": options.size, "rows": rows}
        options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
