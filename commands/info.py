"""The command `mstflow info`: describe a graph or, without arguments, this installation."""

from __future__ import annotations

import argparse
import math
from typing import Any

from ..progress import set_listener
from .shared.machine import compile_kernels, describe_machine
from .shared.summary import summarise
from .shared.terminal import open_with_sizes, print_lines, report


def run(options: argparse.Namespace) -> None:
    """Print statistics of the graph, or the backends and versions of this machine."""
    if options.compile:
        compile_kernels()
    if not options.inputs:
        facts = describe_machine()
        lines = _machine_lines(facts)
    else:
        with set_listener(True):
            facts = summarise(open_with_sizes(options))
        lines = _graph_lines(facts)
        for name in ("lightest", "heaviest"):  # infinity is not valid JSON
            facts[name] = facts[name] if abs(facts[name] or 0) < math.inf else None
    report(options, facts, lambda: print_lines(lines))


def _graph_lines(facts: dict[str, Any]) -> list[tuple[str, Any]]:
    weights = f"{facts['lightest']} to {facts['heaviest']}, {facts['num_tied']:,} edges tied"
    lines = [
        ("vertices", f"{facts['num_vertices']:,}"),
        ("edges", f"{facts['num_edges']:,}, of which {facts['num_loops']:,} loops"),
        ("components", f"{facts['num_components']:,}"),
        ("weights", weights if facts["num_edges"] else "none"),
    ]
    for smallest, number in facts["degrees"]:
        degrees = str(smallest) if smallest < 2 else f"{smallest} to {2 * smallest - 1}"
        lines.append(("degree", f"{degrees}: {number:,} vertices"))
    return lines


def _kernel_state(kernels: dict[str, Any]) -> str:
    if kernels["folder"] is None:
        return "compiled in each process: the cache folder cannot be written"
    if kernels["are_compiled"]:
        return f"compiled, in {kernels['folder']}"
    advice = "the first large graph compiles them; so does `mstflow info --compile`"
    return f"not compiled yet: {advice}"


def _machine_lines(facts: dict[str, Any]) -> list[tuple[str, Any]]:
    lines = [
        (name, facts[name]) for name in ("mstflow", "python", "platform", "processors", "threads")
    ]
    for name, backend in facts["backends"].items():
        reason = backend["why_not"]
        state = f"is not usable: {reason}" if reason else backend["version"] or "from a plugin"
        lines.append(("backend", f"{name} {state}"))
    if cuda := facts["cuda"]:
        versions = f"driver {cuda['driver']}, runtime {cuda['runtime']}, NVRTC {cuda['nvrtc']}"
        lines.append(("cuda", versions))
        for device in cuda["devices"]:
            memory = f"{device['memory_bytes'] / 1e9:.1f} GB"
            capability = f"compute capability {device['compute_capability']}"
            lines.append(("device", f"{device['name']}, {memory}, {capability}"))
    if kernels := facts["kernels"]:
        lines.append(("kernels", _kernel_state(kernels)))
    lines += [(name, version or "not installed") for name, version in facts["packages"].items()]
    lines.append(("formats", ", ".join(facts["formats"])))
    return lines + [("plugin", plugin) for plugin in facts["plugins"]]
