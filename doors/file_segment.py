"""The edges of a file that each scan reads from its beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..graphs.segments import ArraySegment, Sequential
from ..runtime.identity import identify
from .file_checks import FileState, check_state, file_fingerprint, unchanged
from .places.url import Place


@dataclass(frozen=True)
class File(Sequential):
    """A file that each scan reads from its beginning."""

    path: Place
    #: The name of its format.
    format: str
    #: Yields the edges in order.
    read: Callable[[Place], Iterator[ArraySegment]]
    state: FileState
    is_in_blocks: bool = False
    most_edges: int = 0
    is_weighted: bool = True

    @property
    def format_name(self) -> str:
        """The name of its format."""
        return self.format

    @property
    def file_bytes(self) -> int:
        """The size of the file, which is read from its beginning."""
        return self.state.size

    @property
    def origin(self) -> tuple[str, int]:
        """The file, and the row of the first edge."""
        return str(self.path), self.start

    def arrays(self) -> Iterator[ArraySegment]:
        """Read the file."""
        with unchanged(self.path, self.state):
            for block in self.read(self.path):
                check_state(self.path, self.state)  # check here, because a scan may end early
                yield block

    def identity(self) -> str:
        """Return the fingerprint of the file, with the identity of its reader and its options."""
        return f"{file_fingerprint(self.path)} {self.format} {identify(self.read)}"
