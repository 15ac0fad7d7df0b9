"""The command `mstflow algorithms`: list algorithms and strategies with a summary of each."""

from __future__ import annotations

import argparse

from ..errors import OptionError
from ..pipeline.catalogue.names import algorithm, algorithms, strategies, strategy


def run(_: argparse.Namespace) -> None:
    """Print one line for each algorithm and strategy."""
    width = max(map(len, (*algorithms(), *strategies())))
    for name in algorithms():
        try:
            summary = algorithm(name).summary
        except OptionError as error:  # a plugin that cannot be loaded
            summary = f"({error})"
        print(f"{name:<{width}}  {summary}")
    print("\nstrategies:")
    for name in strategies():
        print(f"{name:<{width}}  {strategy(name).summary}")
