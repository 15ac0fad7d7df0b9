"""A campaign: processes run cases until the time is over, and one process counts the results."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from soak.case import Case
from soak.counts import Counts


class Kind(NamedTuple):
    """A kind of case: its function, its share of the time, and the time after which it is hung."""

    function: str
    share: float
    seconds: float


KINDS = {
    "solve": Kind("solve.run", 8, 60),
    "cluster": Kind("solve.run_on_processes", 2, 180),
    "medium": Kind("solve.run_medium", 3, 300),
    "resume": Kind("kills.resume", 3, 600),
    "workers": Kind("kills.workers", 2, 120),
    "changed": Kind("changed.run", 3, 300),
    "malformed": Kind("malformed.run", 2, 600),
    "bomb": Kind("malformed.bomb", 1, 600),
    "cache": Kind("cache.run", 2, 900),
    "table": Kind("tables.run", 3, 60),
    "neighbors": Kind("tables.neighbors", 1, 60),
    "points": Kind("tables.points", 1, 60),
}


def repeat(kind: str, seed: int, number: int) -> str:
    """Return the command that repeats a case."""
    return f"python tests/soak --kind {kind} --seed {seed} --case {number}"


def run_case(kind: str, seed: int, number: int) -> tuple[dict[str, int], dict[str, Any] | None]:
    """Run a case; return what happened and, if it failed, a report."""
    module, _, name = KINDS[kind].function.partition(".")
    case = Case(kind, seed, number)
    try:
        getattr(import_module(f"soak.{module}"), name)(case)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error, limit=-12))
        choices = {key: _plain(value) for key, value in case.choices.items()}
        return dict(case.counts), _report(kind, seed, number, what, choices=choices, trace=trace)
    else:
        return dict(case.counts), None
    finally:
        case.close()


def _plain(value: Any) -> Any:
    """Convert a value to one that JSON supports."""
    return value if isinstance(value, int | float | str | bool | None) else repr(value)


def _report(kind: str, seed: int, number: int, what: str, **more: Any) -> dict[str, Any]:
    found = {"kind": kind, "seed": seed, "case": number, "what": what[:2000]}
    return {**found, "repeat": repeat(kind, seed, number), **more}


class Worker:
    """A process that runs one case after another, and its current case."""

    def __init__(self, messages: str, patience: float) -> None:
        self._patience = patience
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        ended, self._alive = context.Pipe(duplex=False)  # closed when the campaign ends or dies
        self.process = context.Process(target=_work, args=(other, ended, messages))
        self.process.start()
        other.close()
        ended.close()
        self.job: tuple[str, int, int] | None = None
        self.started = 0.0

    def begin(self, kind: str, seed: int, number: int) -> None:
        """Start a case in the process."""
        self.job, self.started = (kind, seed, number), time.monotonic()
        with contextlib.suppress(OSError):  # of one that has died: its end is noticed later
            self.pipe.send(self.job)

    @property
    def limit(self) -> float:
        """Seconds after which the case counts as hung."""
        return KINDS[self.job[0]].seconds * self._patience

    @property
    def is_hung(self) -> bool:
        """Whether the case takes too long."""
        return bool(self.job) and time.monotonic() - self.started > self.limit

    def outcome(self) -> str:
        """Return the outcome of the case; if it hangs, log the stacks of all threads."""
        if self.is_hung:
            os.kill(self.process.pid, signal.SIGUSR1)
            time.sleep(1)
            return f"did not end in {self.limit:.0f} s; see the log"
        self.process.join(60)
        return f"the process died with exit code {self.process.exitcode}; see the log"

    def end(self) -> None:
        """End the process and its children; without a case, let it close its clusters first."""
        self.pipe.close()
        if not self.job:
            self.process.join(10)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()  # it may not lead a group yet
        self.process.join()
        self._alive.close()


def _work(pipe: Connection, ended: Connection, messages: str) -> None:
    """Run the cases that a pipe delivers, until it is closed."""
    os.setsid()  # so that it can be ended with all its processes
    threading.Thread(target=_end_with, args=(ended,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    file = os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    warnings.filterwarnings("error", category=RuntimeWarning)
    with contextlib.suppress(EOFError):
        while True:
            events, failure = run_case(*pipe.recv())
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            pipe.send((events, failure, peak))


def _end_with(ended: Connection) -> None:
    """End this process and its children when the campaign ends, even if it is killed."""
    with contextlib.suppress(EOFError):
        ended.recv()
    os.killpg(0, signal.SIGKILL)


class Campaign:
    """Runs cases in several processes until the time is over.

    Parameters
    ----------
    minutes : float
    processes, seed : int
    shares : dict
        The share of the time for each kind.
    cases : int, optional
        Number of cases after which the campaign also ends.
    patience : float
        Factor for the time after which a case counts as hung; for a busy machine.
    file : Path, optional
        The file of the counts. The campaign continues after these cases and adds to the counts.
    """

    def __init__(
        self,
        minutes: float,
        processes: int,
        seed: int,
        shares: dict[str, float],
        cases: int | None = None,
        patience: float = 1,
        file: Path | None = None,
    ) -> None:
        self.counts = Counts.load(file)
        self._seed, self._shares, self._file = seed, shares, file
        self._start, self._saved = time.monotonic(), 0.0
        self._stop = self._start + 60 * minutes
        self._left = sys.maxsize if cases is None else cases
        self._spent = dict.fromkeys(shares, 0.0)  # seconds of each kind
        self._messages = os.devnull if file is None else str(file.with_suffix(".log"))
        about = {**_software(), "seed": seed, "processes": processes, "shares": shares}
        self._about = {**about, "began": time.strftime("%Y-%m-%d %H:%M:%S %z")}
        self.counts.runs.append(self._about)
        self._patience = patience
        self.workers = [self._new_worker() for _ in range(processes)]

    def run(self) -> Counts:
        """Run cases until the time is over; return all counts."""
        try:
            for worker in self.workers:
                self.begin(worker)
            while busy := [worker for worker in self.workers if worker.job]:
                ready = wait([worker.pipe for worker in busy], timeout=1)
                for worker in busy:
                    if worker.pipe in ready or worker.is_hung:
                        self.begin(self.take(worker))
                self._save(every=10)
        finally:
            for worker in self.workers:
                worker.end()
            self._save()
        return self.counts

    def _new_worker(self) -> Worker:
        return Worker(self._messages, self._patience)

    def begin(self, worker: Worker) -> None:
        """Start the next case in a process, if there is time."""
        worker.job = None
        if self._left and time.monotonic() < self._stop:
            self._left -= 1
            kind = min(self._spent, key=lambda name: self._spent[name] / self._shares[name])
            self._spent[kind] += 1e-3  # so that several processes begin several kinds
            worker.begin(kind, self._seed, self.counts.next_case(kind, self._seed))

    def take(self, worker: Worker) -> Worker:
        """Count the case of a process; return the process, or a new one if it died or hangs."""
        kind, following = worker.job[0], worker
        try:
            if worker.is_hung:
                raise EOFError
            events, failure, peak = worker.pipe.recv()
        except (EOFError, OSError):
            events, failure, peak = {}, _report(*worker.job, worker.outcome()), 0
            worker.end()
            following = self._new_worker()
            self.workers[self.workers.index(worker)] = following
        seconds = time.monotonic() - worker.started
        self._spent[kind] += seconds
        self.counts.add(kind, seconds, events)
        self._about["peak_rss_bytes"] = max(self._about.get("peak_rss_bytes", 0), peak)
        if failure:
            self.counts.add_failure(failure)
            print(f"{failure['repeat']}\n    {failure['what'][:300]}", flush=True)
        return following

    def _save(self, every: float = 0) -> None:
        """Write the counts, at most once in this number of seconds."""
        now = time.monotonic()
        if now - self._saved >= every:
            self._saved = now
            self._about["minutes"] = round((now - self._start) / 60, 2)
            self.counts.save(self._file)


def _software() -> dict[str, Any]:
    """Return the commit of the package, and the versions of Python and its dependencies."""
    import numpy

    package = find_spec("mstflow")
    root = Path(package.origin).parent if package and package.origin else Path()
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    commit = found.stdout.strip() or None
    return {"commit": commit, "python": sys.version.split()[0], "numpy": numpy.__version__}
