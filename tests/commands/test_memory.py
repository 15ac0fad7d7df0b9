"""The bound of --memory holds for a whole command, and the least bound of an error works."""

import re

import pytest

from least_memory import command_in_least_memory
from mstflow.__main__ import main
from mstflow.doors.files import open_files
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.options import parse_bytes
from mstflow.pipeline.schedulers.scheduler import Workers
from mstflow.pipeline.streaming.bounds import ScanMemory
from mstflow.pipeline.streaming.facts import GraphFacts

SPARSE = "random --vertices 1e6 --edges 1e6"
DENSE = "random --vertices 1e6 --edges 4e6"
#: Has too few edges to load kernels.
ON_NUMPY = "random --vertices 15e5 --edges 3e6"
SWEEP = "solve --strategy sweep"


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    paths = {words: str(folder / words.replace(" ", "")) for words in (SPARSE, DENSE, ON_NUMPY)}
    for words, path in paths.items():
        main(["generate", *words.split(), "-o", path, "--quiet"])
    return paths


@pytest.mark.parametrize(
    ("graph", "command", "suffix"),
    [
        *[(SPARSE, SWEEP, suffix) for suffix in (".mtx", ".gr", ".parquet", ".csv", ".npz", "")],
        (DENSE, "solve", ".mtx"),
        (DENSE, "clusters --at 1e5 5e5", ".parquet"),
        (DENSE, "clusters --at 1e5 5e5", ".csv"),
        (ON_NUMPY, "clusters --at 1e5 5e5", ".parquet"),
    ],
)
def test_a_command_keeps_to_the_least_bound(graph, command, suffix, graphs, tmp_path):
    name, *options = command.split()
    output = ["-o", str(tmp_path / f"out{suffix}"), "--threads", "1", "--quiet"]
    facts = command_in_least_memory([name, graphs[graph], *options, *output])
    assert facts["status"] == 0, facts["error"]
    assert facts["peak"] <= facts["least"], facts


def test_threads_share_a_file_that_is_read_as_a_whole(graphs, tmp_path):
    archive = str(tmp_path / "graph.npz")
    assert main(["convert", graphs[DENSE], "-o", archive, "--quiet"]) == 0
    leasts = []
    for threads in (1, 8):
        source = EdgeSource.of(open_files([archive], is_bounded=True)).with_sizes()
        workers = Workers(task_threads=threads)
        scans = ScanMemory(GraphFacts.of(source), "scan", True, 1, 4, workers)
        leasts.append(scans.least_memory)
    per_thread = (leasts[1] - leasts[0]) / 7
    assert per_thread < 25_000_000  # a block


@pytest.mark.parametrize("bound", ["5GB", "6234.56MB", "5.236GB"])
def test_a_plan_never_prints_a_peak_above_the_bound(bound, capsys):
    assert main(["plan", "--vertices", "1e8", "--edges", "2e8", "--memory", bound]) == 0
    (peak,) = re.findall(r"peak memory +(.*)", capsys.readouterr().out)
    assert parse_bytes(bound) - 2 * 10**7 < parse_bytes(peak) <= parse_bytes(bound)
