"""The command `mstflow completion`: print a completion script for a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ..errors import OptionError


def run(options: argparse.Namespace) -> None:
    """Print the completion script of the whole command line."""
    try:
        import shtab
    except ImportError as error:
        message = "completion needs the package shtab; install mstflow[completion]"
        raise OptionError(message) from error
    for action in _actions(options.parser):
        if action.metavar in ("INPUT", "OUT", "FOREST", "FILE", "DIR"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(options.parser, options.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
