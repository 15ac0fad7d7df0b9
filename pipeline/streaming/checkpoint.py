"""Checkpoints: records of tasks in a folder, from which a killed run resumes.

A record is written atomically, and its archive has checksums. All records of a folder belong to one
run. The folder stores the identity of this run: the version of this package, the steps, the code
and the values of the stages, the input, and the partitions. A run with another identity is refused.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import threading
import uuid
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CheckpointWarning, OptionError
from ...runtime.identity import digest, identify
from ...runtime.scratch import LOCK, NUMBERED_FOLDER, HeldError, locked_folder, try_lock
from ...runtime.sizes import sizes
from ..dataflow import Dataflow

_PACKAGE = __name__.partition(".")[0]
_IDENTITY = "identity.json"
_DRAFT = "{}-{}.draft"
#: Held while headers of arrays are parsed: in CPython 3.11, threads that do this at once may get a
#: SystemError (python/cpython#106905).
_PARSING = threading.Lock()


@dataclass(frozen=True)
class Record:
    """A file with the work of one task, finished or not: arrays and a state."""

    #: A path that all workers can read and write.
    path: str
    #: The interval at which a task saves unfinished work.
    seconds: float = field(default_factory=lambda: sizes().seconds_unsaved)

    def load(self) -> tuple[tuple[NDArray[Any], ...], dict[str, Any]] | None:
        """Return the arrays and the state, or None without a valid record."""
        try:
            with (
                _PARSING,
                Path(self.path).open("rb") as file,  # np.load does not close a damaged file
                np.load(file, allow_pickle=False) as archive,
            ):
                arrays = tuple(archive[f"arr_{place}"] for place in range(len(archive.files) - 1))
                return arrays, json.loads(archive["state"].item())
        except (KeyError, ValueError, EOFError, zipfile.BadZipFile):
            return None
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EINVAL):  # offsets of a damaged archive
                raise OptionError(
                    f"{self.path}: cannot read the checkpoint: {error.strerror}; make it readable, "
                    "or remove it and repeat the call, which then computes it again"
                ) from error
            return None

    def save(self, arrays: Iterable[NDArray[Any]], state: dict[str, Any]) -> None:
        """Replace the record; `state` has numbers and booleans that JSON can store."""
        path = Path(self.path)
        draft = path.with_name(_DRAFT.format(path.stem, uuid.uuid4().hex))
        try:
            with draft.open("wb") as file:
                np.savez(file, *arrays, state=np.array(json.dumps(state)))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise OptionError(
                f"{path}: cannot write the checkpoint: {error.strerror or error}; earlier saves "
                "are kept: repeat the call when the folder can be written"
            ) from error


def fingerprint(flow: Dataflow) -> str:
    """Return a digest of the steps of a dataflow, the functions of its stages, and its values."""
    stages = [(stage.name, identify(stage)) for stage in flow.stages()]
    values = [(name, identify(value)) for name, value in sorted(flow.values.items())]
    return digest(repr((flow.name, flow.describe(), stages, values)).encode())


@contextlib.contextmanager
def hold_checkpoint(
    folder: str | os.PathLike[str] | None, lock: Callable[[int], bool] = try_lock
) -> Iterator[None]:
    """Return a context in which no other run can use a checkpoint; None stands for none.

    The lock of a killed run does not count.
    """
    if folder is None:
        yield
        return
    path = Path(folder)
    if not path.parent.is_dir():
        raise OptionError(f"{path}: the folder {path.parent} does not exist")
    with contextlib.ExitStack() as stack:
        try:
            has_locks = stack.enter_context(locked_folder(path, lock))
        except HeldError as error:
            raise OptionError(
                f"{path}: another run is using the checkpoint ({error}); wait until it ends, or "
                "choose another folder"
            ) from error
        except OSError as error:
            raise OptionError(f"{path}: cannot create a checkpoint: {error}") from error
        if not has_locks:
            warnings.warn(
                f"{path}: the file system has no locks; make sure that no other run uses the "
                "checkpoint at the same time",
                CheckpointWarning,
                stacklevel=2,
            )
        yield


def open_checkpoint(
    folder: str | os.PathLike[str], identity: dict[str, Any]
) -> Callable[[str], Record]:
    """Create a checkpoint, or open one of a run with the same identity, which JSON can store.

    Return a function from the name of a task to its record.
    """
    path = Path(folder)
    identity = {"version": str(sys.modules[_PACKAGE].__version__), **identity}
    stored = _stored_identity(path, identity)
    differ = [name for name in identity if stored.get(name) != identity[name]]
    if differ:
        raise OptionError(
            f"{path}: the checkpoint is of another run: {', '.join(differ)} differ; "
            "choose another folder or remove this one"
        )
    records = path.absolute()
    return lambda task: Record(str(records / f"{task}.npz"))


def _stored_identity(path: Path, identity: dict[str, Any]) -> dict[str, Any]:
    """Return the identity that a folder stores; store it first if the folder is new."""
    try:
        path.mkdir(exist_ok=True)
        draft = path / f"{_IDENTITY}.draft"
        if {other.name for other in path.iterdir()} <= {draft.name, NUMBERED_FOLDER, LOCK}:
            draft.write_text(json.dumps(identity))
            draft.replace(path / _IDENTITY)
        stored = dict(json.loads((path / _IDENTITY).read_text()))
        for draft in path.glob(_DRAFT.format("*", "?" * 32)):  # drafts of a killed run
            draft.unlink()
    except FileNotFoundError as error:
        raise OptionError(f"{path}: the folder is not empty, and is not a checkpoint") from error
    except OptionError:
        raise
    except (OSError, TypeError, ValueError) as error:
        raise OptionError(f"{path}: cannot create a checkpoint: {error}") from error
    return stored


def recorded_partitions(folder: str | os.PathLike[str]) -> int | None:
    """Return the number of partitions that a checkpoint states; None without a checkpoint."""
    try:
        return int(json.loads(Path(folder, _IDENTITY).read_text())["partitions"])
    except (OSError, TypeError, ValueError, KeyError):
        return None  # `open_checkpoint` finds the error


def check_shared(folder: str) -> None:
    """Check that this worker sees a checkpoint that the caller opened, and can write to it."""
    draft = Path(folder, _DRAFT.format("probe", uuid.uuid4().hex))
    try:
        Path(folder, _IDENTITY).read_bytes()
        draft.touch()
        draft.unlink()
    except OSError as error:
        raise OptionError(
            f"{folder}: this worker cannot use the checkpoint: {error.strerror}; checkpoint= must "
            "be a folder that the caller and all workers see under the same absolute path, such as "
            "one on a network file system"
        ) from error
