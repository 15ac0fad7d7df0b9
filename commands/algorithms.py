"""The command `mstflow algorithms`: algorithms and strategies, and what each does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import OptionError
from ..pipeline.catalogue import algorithm, algorithms, strategies, strategy

if TYPE_CHECKING:
    import argparse

SUMMARY = "list the algorithms and the strategies"


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Give the command nothing: it has no options."""


def run(_: argparse.Namespace) -> None:
    """Print a line for each."""
    width = max(map(len, (*algorithms(), *strategies())))
    for name in algorithms():
        try:
            summary = algorithm(name).summary
        except OptionError as error:  # a plugin's
            summary = f"({error})"
        print(f"{name:<{width}}  {summary}")
    print("\nstrategies:")
    for name in strategies():
        print(f"{name:<{width}}  {strategy(name).summary}")
