"""The benchmarks: the function, the options, and the measured code of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mstflow.errors import OptionError
from mstflow.interop.networkx.info import FUNCTIONS
from mstflow.pipeline.catalogue.algorithms import NAMES

from . import (
    bounds,
    clusters,
    estimators,
    files,
    fused,
    grids,
    networkx_calls,
    points,
    primitives,
    queries,
    small,
    start,
    work,
)
from .device import model
from .papers import helpers, imbalance
from .runner.turns import compare

#: The code that a solve in memory runs, from the call to the edge ids.
SOLVE = (
    "solve.py",
    "doors/read.py",
    "doors/adopters.py",
    "graphs/edge_list.py",
    "pipeline",
    "pipeline/catalogue",
    "pipeline/schedulers",
    "stages",
    "primitives",
    "primitives/compiled",
    "runtime",
)
#: The code that a solve from disk runs.
STREAM = (
    *SOLVE,
    "doors/formats/npy.py",
    "doors/file_checks.py",
    "graphs/segments.py",
    "graphs/source.py",
    "pipeline/streaming",
)
READ = ("graphs", "doors/formats", "doors/formats/text", "runtime")
KERNELS = ("primitives", "primitives/compiled", "runtime")
DEVICE = (*SOLVE, "primitives/cuda")

TINY = {"graphs": ["tiny"], "threads": [1], "rounds": 1}


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: a function, its options, and the files and folders of the measured code.

    `tiny` replaces options to try the benchmark in seconds. `record` without names measures the
    `usual` benchmarks.
    """

    about: str
    measure: Callable[..., dict[str, Any]]
    measured: tuple[str, ...]
    options: dict[str, Any]
    tiny: dict[str, Any] = field(default_factory=lambda: dict(TINY))
    usual: bool = True


def compiled_code(algorithm: str) -> str:
    """Return the name of the code that runs an algorithm on compiled kernels."""
    return f"mstflow:algorithm={algorithm},backend=numba"


def sequential_code(algorithm: str) -> str:
    """Return the name of the code that runs an algorithm on compiled kernels and one thread."""
    return f"{compiled_code(algorithm)},threads=1"


SEQUENTIAL = ("filter-kruskal", "kruskal", "prim")
PARALLEL = [name for name in NAMES if name not in SEQUENTIAL]
ONE_TO_1000 = "weights=int:1:1000"

#: The most important come first, because `record` can be stopped and continued later.
SUITE = {
    "codes": Benchmark(
        "mstflow, scipy, igraph and networkx on the named graphs",
        compare,
        SOLVE,
        {
            "graphs": ["E", "Ei", "E64", "E64i", "G", "G64", "Gs", "R", "C", "K", "N"],
            "codes": ["mstflow", "scipy", "igraph", "networkx"],
            "threads": [1, 2],
            "rounds": 3,
            "budget": 5,
        },
    ),
    "disk": Benchmark(
        "strategies and schedulers on 100 million edges on disk",
        compare,
        STREAM,
        {
            "graphs": ["D"],
            "codes": [
                "mstflow:strategy=two-scan,partitions=1",
                "mstflow:strategy=two-scan,partitions=1,memory=500MB",
                "mstflow:strategy=two-scan,partitions=8",
                "mstflow:strategy=two-scan,partitions=8,scheduler=threads",
                "mstflow:strategy=two-scan,partitions=8,scheduler=distributed",
                "mstflow:strategy=fold",
                "mstflow:strategy=tree,partitions=8",
                "mstflow:strategy=iterate,partitions=1",
            ],
            "threads": [1, 2],
            "rounds": 2,
            "on_disk": True,
        },
    ),
    "algorithms": Benchmark(
        "all algorithms on E, with weights of 32 and 64 bits",
        compare,
        SOLVE,
        {
            "graphs": ["E", "E64"],
            "codes": [*map(compiled_code, PARALLEL), *map(sequential_code, SEQUENTIAL)],
            "threads": [1, 2],
            "rounds": 3,
            "budget": 20,
        },
    ),
    "primitives": Benchmark(
        "compiled primitives, compared with their definitions",
        primitives.measure,
        KERNELS,
        {"size": 2_700_000, "threads": [1, 2], "rounds": 7},
        {"size": 3000, "rounds": 1},
    ),
    "fused": Benchmark(
        "whole runs with fused primitives, and with their definitions instead",
        fused.measure,
        SOLVE,
        {"graphs": ["E", "E64i", "N"], "threads": [1, 2], "rounds": 7},
    ),
    "work": Benchmark(
        "wall and processor time of solves and primitives by number of threads",
        work.measure,
        SOLVE,
        {
            "graphs": ["E", "G", "R", "N", "E64", "G64"],
            "algorithms": ["filter-kruskal", "filter-boruvka", "boruvka-edgelist"],
            "elements": [3 * 2**20],
            "threads": [1, 2, 4, 16],
        },
        {**TINY, "algorithms": [work.DEFAULT], "elements": [3000], "threads": [1, 2]},
    ),
    "start": Benchmark(
        "import and first solves in fresh processes",
        start.measure,
        ("__init__.py", *SOLVE),
        {"edges": [10**3, 10**4, 10**5, 5 * 10**5, 10**6], "rounds": 5},
        {"edges": [10**3], "rounds": 1},
    ),
    "small": Benchmark(
        "small graphs: a call by part, and many graphs in one call",
        small.measure,
        ("pipeline/report", "graphs/source.py", "forest/forest.py", "progress.py", *SOLVE),
        {
            "edges": [10**2, 10**3, 10**4, 10**5, 10**6],
            "many": [(10**4, 10**2), (10**3, 10**3), (10**2, 10**4)],
            "rounds": 200,
        },
        {"edges": [10**2], "many": [(2, 50)], "rounds": 1},
    ),
    "networkx-calls": Benchmark(
        "whole calls of networkx, with and without the backend",
        networkx_calls.measure,
        ("interop/networkx", "doors/libraries", *KERNELS),
        {
            "edges": [10**3, 10**4, 10**5, 10**6],
            "functions": list(FUNCTIONS),
            "graphs": [
                ("Graph", "strings", "floats", 8),
                ("MultiGraph", "integers", "integers", 2),
            ],
            "rounds": 3,
            "budget": 2,
        },
        {
            "edges": [50],
            "functions": ["minimum_spanning_tree", "maximum_spanning_edges"],
            "rounds": 1,
        },
        usual=False,  # takes minutes
    ),
    "queries": Benchmark(
        "replacement edges, bottlenecks and added edges, compared with the solve",
        queries.measure,
        (
            "forest",
            "forest/hierarchy",
            "pipeline/catalogue/queries",
            "stages/queries",
            "graphs/source.py",
            *SOLVE,
        ),
        {
            "graphs": ["E", "N"],
            "threads": [1, 2],
            "pairs": 4_000_000,
            "batch": 100_000,
            "rounds": 5,
        },
        {**TINY, "pairs": 100, "batch": 10},
    ),
    "files": Benchmark(
        "reading files, compared with pandas, scipy and pyarrow",
        files.measure,
        READ,
        {"edges": 2_000_000, "threads": [1, 2], "rounds": 5},
        {"edges": 50, "rounds": 1},
    ),
    "clusters": Benchmark(
        "clusters of 20 million pairs at ten thresholds",
        clusters.measure,
        (*STREAM, "forest", "forest/hierarchy", "doors/names"),
        {"pairs": 20_000_000, "names": 5_000_000, "threads": 2, "rounds": 1},
        {"pairs": 1600, "names": 400},
        usual=False,  # takes minutes
    ),
    "estimators": Benchmark(
        "HDBSCAN of points, compared with other packages",
        estimators.measure,
        (*SOLVE, "pointsets", "forest", "forest/hierarchy"),
        {"sizes": [[20_000, 2], [200_000, 2]], "threads": 2, "limit": 40},
        {"sizes": [[2000, 2]], "codes": ["mstflow", "scikit-learn"]},
        usual=False,  # takes minutes
    ),
    "bounds": Benchmark(
        "the smallest memory= of every family of graphs, and the peak of a run with it",
        bounds.measure,
        STREAM,
        {
            "vertices": [4_000_000],
            "ratios": [4],
            "families": list(bounds.FAMILIES),
            "cases": [
                {"strategy": strategy, "partitions": partitions, "threads": 2}
                for strategy, partitions in (
                    ("fold", 1),
                    ("tree", 2),
                    ("tree", 16),
                    ("two-scan", 1),
                    ("two-scan", 16),
                    ("iterate", 4),
                    ("sweep", 1),
                )
            ],
        },
        {
            "vertices": [300],
            "ratios": [2],
            "families": ["random"],
            "cases": [{"strategy": "fold", "threads": 1}],
        },
        usual=False,
    ),
    "grids": Benchmark(
        "random volumes of up to 512 voxels along each axis, compared with Higra",
        grids.measure,
        ("graphs/generate", "graphs/source.py", "pipeline/streaming", *SOLVE),
        {"sides": [128, 256, 512], "dtypes": ["uint8", "float32"], "threads": [1, 2], "rounds": 3},
        {"sides": [9], "dtypes": ["uint8", "float32"], "rounds": 1},
        usual=False,  # takes minutes
    ),
    "points": Benchmark(
        "trees of points, compared with quitefastmst and fast_hdbscan",
        points.measure,
        (
            "graphs/generate",
            "primitives",
            "pointsets/primitives/compiled",
            "pointsets/stages",
            *SOLVE,
        ),
        {"threads": [1, 2], "rounds": 3},
        {"cases": [["2-D normal", 300, 1], ["line", 300, 2]], "codes": ["mstflow"], "rounds": 1},
        usual=False,  # takes minutes
    ),
    "papers-sousa-load": Benchmark(
        "load of boruvka-csr by rounds and partitions",
        imbalance.measure,
        ("pipeline/catalogue", "pipeline/schedulers", "stages"),
        {"graph": "N", "partitions": [2, 4, 8, 16]},
        {"graph": "tiny", "partitions": [2]},
    ),
    "papers-katsigiannis": Benchmark(
        "Kruskal's loop with a helper thread by density",
        helpers.measure,
        (*KERNELS, "stages"),
        {
            "graphs": [
                *(f"random:n=1000000,m={m}000000" for m in (5, 10, 20)),
                *(f"rmat:scale=20,edges_per_vertex={k}" for k in (5, 10, 20)),
            ],
            "threads": [1, 2],
            "rounds": 15,
        },
        {"graphs": ["random:n=300,m=40000"], "rounds": 1},
    ),
    "papers-bhargava-zaia": Benchmark(
        "boruvka-edgelist on five families, compared with sequential Kruskal",
        compare,
        SOLVE,
        {
            "graphs": [
                f"{graph},{ONE_TO_1000}"
                for graph in (
                    "circulant:n=500000,degree=5",
                    "hypercube:dimension=18",
                    "caveman:cliques=7500,size=50",
                    "connected-caveman:cliques=7500,size=50",
                    "complete:n=350000,keep=8e-5",
                    "circulant:n=100000,degree=3",
                    "circulant:n=3000000,degree=3",
                    "connected-caveman:cliques=100,size=45",
                    "connected-caveman:cliques=100,size=448",
                    "circulant:n=500000,degree=5,arcs=True",
                    "complete:n=350000,keep=8e-5,arcs=True",
                )
            ],
            "codes": [sequential_code("kruskal"), compiled_code("boruvka-edgelist")],
            "threads": [1, 2],
            "rounds": 3,
        },
    ),
    "authors": Benchmark(
        "boruvka-csr and boruvka-sorted, compared with the programs of their authors",
        compare,
        SOLVE,
        {
            "graphs": [
                "simple:N",
                f"simple:grid:rows=1250,columns=1250,keep=0.64,{ONE_TO_1000}",
                f"simple:random:n=250000,m=1250000,{ONE_TO_1000}",
            ],
            "codes": [
                compiled_code("boruvka-csr"),
                compiled_code("boruvka-sorted"),
                compiled_code("boruvka-edgelist"),
                "mstflow",
                "scipy",
            ],
            "threads": [1, 2],
            "rounds": 3,
        },
        usual=False,  # needs --external
    ),
    "interpreted-gpu": Benchmark(
        "calls of a GPU and the host's time of solves, with interpreted kernels",
        model.measure,
        (*DEVICE, "tests/support/interpreted_gpu.py"),
        {"graphs": ["N", "rmat:scale=16"], "replays": 300},
        {"graphs": ["tiny"], "replays": 1},
        usual=False,  # needs mstflow[gpu-test]
    ),
}


def named(names: list[str], benchmarks: Mapping[str, Benchmark] = SUITE) -> dict[str, Benchmark]:
    """Return benchmarks by name; `papers` stands for all whose names begin with `papers-`.

    Without names, return the usual benchmarks.
    """
    if not names:
        return {name: benchmark for name, benchmark in benchmarks.items() if benchmark.usual}
    chosen: dict[str, Benchmark] = {}
    for name in names:
        matching = [each for each in benchmarks if each == name or each.startswith(f"{name}-")]
        if not matching:
            message = f"benchmark {name!r} is not known; choose from: {', '.join(benchmarks)}"
            raise OptionError(message)
        chosen |= {each: benchmarks[each] for each in matching}
    return chosen
