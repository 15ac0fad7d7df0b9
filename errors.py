"""The exceptions that mstflow raises, all derived from one base class."""


class MstflowError(Exception):
    """Base class of all exceptions that mstflow raises on purpose."""


class GraphError(MstflowError, ValueError):
    """A graph has invalid ids, lengths, dtypes or weights. The message names the edge."""


class FileFormatError(GraphError):
    """A file has invalid content. The message names the file and the line or edge."""


class OptionError(MstflowError, ValueError):
    """An option is unknown, out of range, or conflicts with another."""


class MemoryBoundError(OptionError):
    """A memory bound is too small.

    Attributes
    ----------
    needed : int
        Bytes that would suffice.
    """

    def __init__(self, message: str, needed: int = 0) -> None:
        super().__init__(message)
        self.needed = needed


class VerificationError(MstflowError, ValueError):
    """A forest is not the minimum spanning forest of its graph. The message names an edge."""


class WorkerError(MstflowError, RuntimeError):
    """A worker died, or does not support what the run needs."""


class PipelineError(MstflowError, TypeError):
    """A pipeline or stage cannot run as declared. The message names the stage."""


class PrimitiveError(MstflowError, ValueError):
    """A primitive was called with invalid arguments; raised in debug mode only."""


class KernelError(MstflowError, RuntimeError):
    """A GPU failed, or a kernel did not compile. The message names the task or kernel."""
