"""The command line: `mstflow` and `python -m mstflow`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from . import __version__
from .commands import COMMANDS
from .errors import MstflowError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its arguments; by default those of the process.

    Returns
    -------
    int
        0 on success; 1 if `verify` found a wrong forest; 2 after a line ``error: ...`` on standard
        error; 130 after an interrupt; 128 plus the number of any other signal.
    """
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):  # unwind, so that temporary files are removed
            number = getattr(signal, name, None)
            if number and signal.getsignal(number) is signal.SIG_DFL:  # keep the settings of nohup
                signal.signal(number, _terminate)
    try:
        try:
            options = _parser().parse_args(arguments)
            code: int | None = options.run(options)
        finally:
            _flush()
    except BrokenPipeError:  # as in `mstflow algorithms | head -1`
        return 128 + signal.SIGPIPE
    except (MstflowError, OSError, MemoryError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"error: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return code or 0


def _flush() -> None:
    """Flush standard output; if that fails, discard it, or Python would flush again at exit."""
    if sys.stdout is None:  # closed before Python started
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _terminate(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


class _Parser(argparse.ArgumentParser):
    """A parser that raises OptionError instead of printing its usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)  # or --edges would mean --edges-per-vertex

    def error(self, message: str) -> NoReturn:
        raise OptionError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mstflow", description="Minimum spanning forests of large graphs.")
    parser.add_argument("--version", action="version", version=f"mstflow {__version__}")
    parser.set_defaults(parser=parser)  # the command completion prints it
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.SUMMARY)
        command.set_defaults(run=module.run)
        module.add_arguments(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
