"""Graphs solved in this process or on a cluster, compared with the oracle."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mstflow
from mstflow.testing import EVERY_STAGE
from soak import inputs, oracle
from soak.case import Case
from soak.clusters import two_workers
from soak.graphs import medium_graph, random_graph
from soak.inputs import Input
from strategy_names import ANY_GRAPH, SINGLE, STREAMING, UNBOUNDED

#: By default Kruskal's join alone solves small graphs; these parameters make every stage run.
EVERY = ", every stage"
THROUGH_ALL = [f"filter-boruvka{EVERY}", f"filter-kruskal{EVERY}"]
ALGORITHMS = ["auto", *THROUGH_ALL, *mstflow.algorithms()]


def run(case: Case) -> None:
    """Solve a small graph in this process."""
    rng = case.rng
    graph = random_graph(rng)
    if rng.random() < 0.04:
        name, given = inputs.in_files(graph, rng, case.folder)
        name = f"file {name}"
    else:
        name, given = inputs.in_memory(graph, rng)
    options = draw_options(case, given)
    _choose_scheduler(options, rng, {"inline": 96, "synchronous": 2, "threads": 2})
    case.choices["input"] = name
    case.counts[f"input: {name}"] += 1
    check(case, given, options)


def run_on_processes(case: Case) -> None:
    """Solve a small graph on processes of a cluster, rarely on processes of the call."""
    rng = case.rng
    graph = random_graph(rng)
    make = rng.choice([inputs.in_memory, functools.partial(inputs.in_files, folder=case.folder)])
    name, given = make(graph, rng)
    if given.is_read_once:  # no task of another process can read it
        name, given = "edge list", inputs.Input(mstflow.EdgeList(*inputs.arrays(graph)), graph)
        given.options["num_vertices"] = graph.num_vertices
    options = draw_options(case, given)
    _choose_scheduler(options, rng, {"client": 10, "address": 2, "processes": 1})
    case.choices["input"] = name
    case.counts[f"input: {name}"] += 1
    check(case, given, options)


def run_medium(case: Case) -> None:
    """Solve a graph of up to 200,000 edges in several ways, and compare them with each other."""
    rng = case.rng
    graph = medium_graph(rng)
    if rng.random() < 0.5:
        given = inputs.Input(tuple(inputs.arrays(graph)), graph, {}, keeps_checkpoint=True)
    else:
        inputs.write_npy(case.folder / "graph", graph, rng)
        given = inputs.Input(case.folder / "graph", graph, keeps_checkpoint=True)
    common = {"maximum": rng.random() < 0.3, "num_vertices": graph.num_vertices}
    if rng.random() < 0.1:
        common["weight"] = None
    case.counts["edges"] += len(graph.edges)
    expected = None
    if rng.random() < 0.25:
        meant = graph if "weight" not in common else graph.unweighted()
        columns = (meant.column(place) for place in range(3))
        n, maximum = graph.num_vertices, common["maximum"]
        expected = oracle.solve(*columns, n, maximum=maximum).edge_ids
        case.counts["compared with the oracle"] += 1
    for _ in range(4):
        options = {**draw_options(case, given), **common}
        options.pop("checkpoint", None)  # of one run; here are several
        _choose_scheduler(options, rng, {"inline": 4, "threads": 1})
        if "weight" not in common:
            options.pop("weight", None)
        case.choices["options"] = options
        found = mstflow.minimum_spanning_forest(given.given, **_resolved(options))
        expected = found.edge_ids.tolist() if expected is None else expected
        case.expect("edge ids", found.edge_ids.tolist(), expected)
        case.counts["solves"] += 1


def _choose_scheduler(options: dict[str, Any], rng: Any, shares: dict[str, int]) -> None:
    """Draw a scheduler; a sweep is one task, and an exchange runs, in this process."""
    if options["strategy"] in ("sweep", "exchange"):
        options["scheduler"] = "inline"
    else:
        (options["scheduler"],) = rng.choices([*shares], [*shares.values()])


def draw_options(case: Case, given: Input) -> dict[str, Any]:
    """Draw options that are compatible with each other and with those of the input."""
    rng = case.rng
    strategy = rng.choice(["auto", *ANY_GRAPH])
    options: dict[str, Any] = dict(given.options)
    if given.is_read_once:
        strategy = rng.choice(["auto", "fold"])
    elif strategy not in SINGLE:
        options["partitions"] = rng.choice([None, *range(1, 8)])
    options |= {
        "maximum": rng.random() < 0.3,
        "algorithm": rng.choice(ALGORITHMS),
        "backend": rng.choice(mstflow.backends()),
        "threads": rng.choice([None, 1, 1, *range(2, 9)]),
        "strategy": strategy,
        "split_every": rng.randint(2, 4),
    }
    if strategy in ("sweep", "exchange"):
        options["algorithm"] = "auto"  # they have steps of their own
    if strategy not in UNBOUNDED and rng.random() < 0.2:
        options["memory"] = rng.choice(["8GB", 10**10])
    keeps = given.keeps_checkpoint and strategy in STREAMING
    if keeps and rng.random() < 0.05:
        options["checkpoint"] = str(case.folder / "kept")
    if rng.random() < 0.05:
        options["weight"] = None
    return options


def check(
    case: Case,
    given: Input,
    options: dict[str, Any],
    solver: Callable[..., Any] = mstflow.minimum_spanning_forest,
) -> None:
    """Solve, and compare all attributes of the forest with the oracle."""
    case.choices["options"] = options
    meant = given.meant if options.get("weight", "") is not None else given.meant.unweighted()
    for name in ("algorithm", "backend", "strategy", "scheduler"):
        case.counts[f"{name}: {options[name]}"] += 1
    case.counts.update({name: 1 for name in ("memory", "checkpoint") if name in options})
    has_labels = case.rng.random() < 0.3  # which take as long as the forest
    calls = 2 if "checkpoint" in options else 1  # the second takes up the records of the first
    for _ in range(calls):
        forest = solver(given.given, **_resolved(options))
        compare(case, forest, meant, options["maximum"], labels=has_labels)
        case.counts["solves"] += 1


def compare(case: Case, forest: Any, meant: Any, maximum: bool, *, labels: bool = True) -> None:
    """Compare a forest with the oracle's."""
    u, v, weight = (meant.column(place) for place in range(3))
    answer = oracle.solve(u, v, weight, meant.num_vertices, maximum=maximum)
    ids = answer.edge_ids
    case.expect("edge ids", forest.edge_ids.tolist(), ids)
    case.expect("number of vertices", forest.num_vertices, meant.num_vertices)
    case.expect("number of components", forest.num_components, answer.num_components)
    if labels:
        case.expect("labels", forest.labels.tolist(), answer.labels)
    case.expect("total weight", forest.total_weight, answer.total_weight)
    for name, column in (("u", u), ("v", v), ("weight", weight)):
        case.expect(name, getattr(forest, name).tolist(), [column[edge] for edge in ids])


def _resolved(options: dict[str, Any]) -> dict[str, Any]:
    """Replace names by a pipeline and a cluster."""
    resolved = {**options, "progress": False}
    if options["algorithm"] in THROUGH_ALL:
        resolved["algorithm"] = _through_all(options["algorithm"].removesuffix(EVERY))
    if options["scheduler"] in ("client", "address"):
        client = two_workers()
        is_address = options["scheduler"] == "address"
        resolved["scheduler"] = client.scheduler.address if is_address else client
    if options["scheduler"] == "processes":
        resolved["threads"] = 2
    return resolved


@functools.cache
def _through_all(name: str) -> Any:
    return mstflow.algorithm(name).given(**EVERY_STAGE)
