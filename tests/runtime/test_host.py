"""The processors and the memory that a process may use."""

import os

import pytest

from mstflow.runtime import host

V1 = "4:memory:/group\n3:cpu,cpuacct:/outer/inner\n0::/\n"


@pytest.mark.parametrize(
    ("groups", "files", "allowed"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 3),
        ("0::/\n", {"cpu.max": "1000 100000\n"}, 1),
        ("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}, 2),
        ("0::/of/the/host\n", {"cpu.max": "400000 100000\n"}, 4),  # as a container sees it
        (V1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        (V1, {"cpu/outer/cpu.cfs_quota_us": "50000\n", "cpu/outer/cpu.cfs_period_us": "20000"}, 3),
        (V1, {"cpu/cpu.cfs_quota_us": "50000\n"}, None),
        ("", {}, None),
    ],
)
def test_a_quota_limits_processors(groups, files, allowed, tmp_path, monkeypatch):
    write_groups(tmp_path, groups, files)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    assert host.processors(tmp_path) == (allowed or 8)


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {"memory.max": "1000000\n"}, 10**6),
        ("0::/a/b\n", {"a/memory.max": "500000\n", "a/b/memory.max": "900000\n"}, 500_000),
        (V1, {"memory/group/memory.limit_in_bytes": "700000\n"}, 700_000),
        ("", {}, None),
    ],
)
def test_a_limit_of_memory(groups, files, limit, tmp_path):
    write_groups(tmp_path, groups, files)
    available = host.available_bytes(tmp_path)
    assert available == limit if limit else available > 10**6


def write_groups(root, groups, files):
    """Write the settings of control groups as Linux shows them."""
    texts = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in {**texts, "proc/self/cgroup": groups}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
