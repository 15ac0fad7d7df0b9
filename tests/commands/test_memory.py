"""The bound of --memory holds for a whole command, and the least bound of an error works."""

import pytest

from benchmarks.bounds import command_in_least_memory
from mstflow.__main__ import main

SPARSE = "random --vertices 2e6 --edges 2e6"
DENSE = "random --vertices 1e6 --edges 4e6"
SWEEP = "solve --strategy sweep"


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    for words in (SPARSE, DENSE):
        main(["generate", *words.split(), "-o", str(folder / str(len(words))), "--quiet"])
    return {words: str(folder / str(len(words))) for words in (SPARSE, DENSE)}


@pytest.mark.parametrize(
    ("graph", "command", "suffix"),
    [
        *[(SPARSE, SWEEP, suffix) for suffix in (".mtx", ".gr", ".parquet", ".csv", ".npz", "")],
        (DENSE, "solve", ".mtx"),
        (DENSE, "clusters --at 1e5 5e5", ".parquet"),
        (DENSE, "clusters --at 1e5 5e5", ".csv"),
    ],
)
def test_a_command_keeps_to_the_least_bound(graph, command, suffix, graphs, tmp_path):
    name, *options = command.split()
    output = ["-o", str(tmp_path / f"out{suffix}"), "--threads", "1", "--quiet"]
    facts = command_in_least_memory([name, graphs[graph], *options, *output])
    assert facts["status"] == 0, facts["error"]
    assert facts["peak"] <= facts["least"], facts
