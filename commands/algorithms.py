"""The command `mstflow algorithms`: their names, and what each does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import OptionError
from ..pipeline.catalogue import algorithm, algorithms

if TYPE_CHECKING:
    import argparse

SUMMARY = "list the algorithms"


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Give the command nothing: it has no options."""


def run(_: argparse.Namespace) -> None:
    """Print a line for each."""
    width = max(map(len, algorithms()))
    for name in algorithms():
        try:
            summary = algorithm(name).summary
        except OptionError as error:  # a plugin's
            summary = f"({error})"
        print(f"{name:<{width}}  {summary}")
