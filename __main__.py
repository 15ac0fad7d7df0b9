"""The command line: `mstflow` and `python -m mstflow`."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

from . import __version__
from .commands import SUMMARIES
from .errors import CheckpointWarning, GraphWarning, MstflowError, OptionError, PluginWarning
from .runtime.host import printable

#: The name of the temporary file with a copy of standard input.
_INPUT_COPY = "standard-input"


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
    options = argparse.Namespace()
    try:
        if arguments is None:
            _reserve_standard_streams()
            _silence_libraries()
        _raise_on_signals()
        try:
            options = _parse(_expand_family(sys.argv[1:] if arguments is None else arguments))
            _check_standard_output(options)
            with _standard_input(options):
                code: int | None = _command(options.command).run(options)
        finally:
            _flush()
    except BrokenPipeError:  # as in `mstflow algorithms | head -1`
        return 128 + signal.SIGPIPE
    except (MstflowError, OSError) as error:
        return _fail("", error, vars(options))
    except MemoryError as error:
        return _fail("not enough memory", error)
    except ImportError as error:
        cause = str(error).strip().splitlines()[-1:]  # NumPy puts a page of advice before it
        return _fail("cannot load a library", ImportError(*cause))
    except KeyboardInterrupt:
        _fail("interrupted")
        return 130
    return code or 0


def _fail(problem: str, error: Exception | None = None, options: Iterable[str] = ()) -> int:
    """Print one line about an error, and return the exit code of errors.

    `options` are names of keyword arguments, which the line shows as options of the command.
    """
    reason = "" if error is None else _for_terminal(" ".join(str(error).split()), options)
    message = ": ".join(filter(None, [problem, reason])) or type(error).__name__
    print(f"error: {message}", file=sys.stderr)
    return 2


def _for_terminal(text: str, names: Iterable[str]) -> str:
    """Show keyword arguments of these names as options, and the copy of standard input by name.

    Control characters are shown as escapes, because errors of the system contain names of files.
    """
    text = re.sub(rf"\S*/mstflow-[^/]*/{_INPUT_COPY}", "standard input", printable(text))
    if not names:
        return text
    keyword = rf"""(?<![^\s(])({"|".join(names)})=(\([^)]*\)|["']?[\w-]*["']?)"""
    return re.sub(keyword, lambda found: _option(*found.groups()), text)


def _option(name: str, value: str) -> str:
    """Return a keyword argument as an option of the command line."""
    if (name, value) == ("weight", "None"):
        return "--unweighted"
    words = value.translate(dict.fromkeys(map(ord, "(),\"'")))
    return f"--{name.replace('_', '-')} {words}".rstrip()


def _reserve_standard_streams() -> None:
    """Open the null device in place of each standard stream that is closed.

    Otherwise, an output file would take the number of the stream, and so all that libraries print.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:  # `print` would write to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # until the process ends


def _check_standard_output(options: argparse.Namespace) -> None:
    """Check that standard output is open if the command prints results to it."""
    given = vars(options)
    is_silent = given.get("quiet") or given.get("output")
    prints = given.get("json") or given.get("output") == "-" or not is_silent
    if prints and sys.stdout is None:
        raise OptionError("standard output is closed")


def _silence_libraries() -> None:
    """Hide warnings and logs of libraries, also in child processes; print our warnings in one line.

    The option -W and the environment variables of Python and Dask take precedence.
    """
    os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    if sys.warnoptions:
        return
    os.environ["PYTHONWARNINGS"] = "ignore"
    warnings.simplefilter("ignore")
    for category in (CheckpointWarning, GraphWarning, PluginWarning):
        warnings.filterwarnings("always", category=category)
    warnings.showwarning = _show_warning


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {_for_terminal(str(message), ('ends', 'first_id'))}", file=sys.stderr)


def _raise_on_signals() -> None:
    """Let signals that end the process raise exceptions, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) is signal.SIG_DFL:  # keep the settings of nohup
            signal.signal(number, _terminate)


def _terminate(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _flush() -> None:
    """Flush standard output. If this fails, discard it, because Python flushes again at exit."""
    if sys.stdout is None:  # closed before Python started
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextlib.contextmanager
def _standard_input(options: argparse.Namespace) -> Iterator[None]:
    """Copy standard input to a temporary file if it is an input; graphs may be read repeatedly."""
    inputs = vars(options).get("inputs") or []
    if "-" not in inputs:
        yield
        return
    if inputs.count("-") > 1:
        raise OptionError("-: standard input can be only one of the inputs")
    if sys.stdin is None:
        raise OptionError("-: standard input is closed")
    from .runtime.scratch import scratch_folder  # loads NumPy

    with scratch_folder() as folder:
        path = os.path.join(folder, _INPUT_COPY)
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        options.inputs = [path if each == "-" else each for each in inputs]
        yield


def _expand_family(arguments: Sequence[str]) -> Sequence[str]:
    """Replace a family with parameters, such as ``random:n=9,m=20``, by the family and options."""
    if len(arguments) < 2 or arguments[0] != "generate" or ":" not in arguments[1]:
        return arguments
    family, _, parameters = arguments[1].partition(":")
    options = []
    for each in parameters.split(","):
        name, _, value = each.partition("=")
        name = {"n": "vertices", "m": "edges"}.get(name, name).replace("_", "-")
        flag = {"True": [f"--{name}"], "False": [f"--no-{name}"]}
        options += flag.get(value, [f"--{name}", value])
    return ["generate", family, *options, *arguments[2:]]


class _Parser(argparse.ArgumentParser):
    """A parser that raises OptionError instead of printing its usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)  # --edges is not --edges-per-vertex

    def error(self, message: str) -> NoReturn:
        raise OptionError(message)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; the result has the name of the command."""
    parser = _Parser(prog="mstflow", description="Minimum spanning forests of large graphs.")
    parser.add_argument("--version", action="version", version=f"mstflow {__version__}")
    parser.set_defaults(started=time.perf_counter())
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    chosen = next((argument for argument in arguments if argument in SUMMARIES), None)
    for name, summary in SUMMARIES.items():
        command = commands.add_parser(name, help=summary)
        if chosen == name:
            getattr(_command("arguments"), name)(command)
            command.set_defaults(command=name)
    return parser.parse_args(arguments)


def _command(name: str) -> Any:
    """Import a module of `commands`."""
    return import_module(f"{__package__}.commands.{name}")


if __name__ == "__main__":
    sys.exit(main())
