"""Entry points for tests: write the metadata of distributions that are not installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mstflow import plugins

ROOT = Path(__file__).parents[2]


def register(folder, name, version, groups):
    """Write the metadata and entry points of an installed distribution."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata)
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {target}" for point, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def register_checkout(folder, version):
    """Write the entry points of this checkout, which an earlier installation may lack."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    scripts = {"console_scripts": project["scripts"]}
    register(folder, "mstflow", version, {**scripts, **project["entry-points"]})


def forget_plugins():
    """Let mstflow look for entry points again."""
    plugins.plugins.cache_clear()
    plugins.registered.cache_clear()
