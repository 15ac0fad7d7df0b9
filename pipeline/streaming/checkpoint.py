"""Checkpoints: what scans have found so far, in files, so that a run that was killed goes on.

A file appears whole or not at all, and its archive carries checksums. All belong to one input and
one choice of the options that say which parts are joined, written beside them; nothing else is
taken up.
"""

from __future__ import annotations

import json
import os
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_IDENTITY = "identity.json"
_DRAFT = "{}-{}.draft"


@dataclass(frozen=True)
class Checkpoint:
    """A folder of named records, each of some arrays and a state.

    Parameters
    ----------
    folder : str
        All workers must see it.
    seconds : float
        How long a task works before it leaves a record of what is not finished.
    """

    folder: str
    seconds: float = 20.0

    def load(self, name: str) -> tuple[tuple[NDArray[Any], ...], dict[str, Any]] | None:
        """Return the arrays and the state of a record, or None if there is none that is whole."""
        try:
            with (
                self._path(name).open("rb") as file,  # np.load leaves open what is damaged
                np.load(file, allow_pickle=False) as archive,
            ):
                arrays = tuple(archive[f"arr_{place}"] for place in range(len(archive.files) - 1))
                return arrays, json.loads(archive["state"].item())
        except (FileNotFoundError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, name: str, arrays: Iterable[NDArray[Any]], state: dict[str, Any]) -> None:
        """Write a record in place of the one before.

        Parameters
        ----------
        state : dict
            Numbers and flags, as JSON has them.

        Raises
        ------
        OptionError
            If it cannot be written. Names the file.
        """
        path = self._path(name)
        draft = path.with_name(_DRAFT.format(path.stem, uuid.uuid4().hex))
        try:
            with draft.open("wb") as file:
                np.savez(file, *arrays, state=np.array(json.dumps(state)))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            message = f"{path}: the checkpoint cannot be written: {error.strerror}"
            raise OptionError(message) from error

    def _path(self, name: str) -> Path:
        return Path(self.folder, f"{name}.npz")


def open_checkpoint(folder: str | os.PathLike[str], identity: dict[str, Any]) -> Checkpoint:
    """Begin a checkpoint, or go on with one of the same input and options.

    Parameters
    ----------
    identity : dict
        What tells the input and the options that matter from others, as JSON has it.

    Raises
    ------
    OptionError
        If the folder holds anything else, or cannot be made. Names what differs.
    """
    path = Path(folder)
    try:
        if not path.parent.is_dir():
            message = f"{path}: there is no folder {path.parent}"
            raise OptionError(message)
        path.mkdir(exist_ok=True)
        draft = path / f"{_IDENTITY}.draft"
        if {other.name for other in path.iterdir()} <= {draft.name}:
            draft.write_text(json.dumps(identity))
            draft.replace(path / _IDENTITY)
        known = dict(json.loads((path / _IDENTITY).read_text()))
        for draft in path.glob(_DRAFT.format("*", "?" * 32)):  # of a run that was killed
            draft.unlink()
    except FileNotFoundError as error:
        message = f"{path}: is no checkpoint, and not empty"
        raise OptionError(message) from error
    except OptionError:
        raise
    except (OSError, TypeError, ValueError) as error:
        message = f"{path}: no checkpoint can be kept there: {error}"
        raise OptionError(message) from error
    differ = [name for name in identity if known.get(name) != identity[name]]
    if differ:
        message = (
            f"{path}: the checkpoint is of another run: {', '.join(differ)} differ; "
            "name another folder, or remove it"
        )
        raise OptionError(message)
    return Checkpoint(str(path.absolute()))
