"""Every error that mstflow raises, under one base class."""


class MstflowError(Exception):
    """Base of everything mstflow raises: on bad input, or where a worker or a compiler fails."""


class GraphError(MstflowError, ValueError):
    """A graph that is not one: bad ids, lengths, dtypes or weights. Names the edge."""


class FileFormatError(GraphError):
    """A file that does not hold what it should. Names the file, and the line or edge."""


class OptionError(MstflowError, ValueError):
    """An option that is unknown, out of range, or at odds with another."""


class MemoryBoundError(OptionError):
    """A bound on memory that is too tight.

    Attributes
    ----------
    needed : int
        Bytes that would do.
    """

    def __init__(self, message: str, needed: int = 0) -> None:
        super().__init__(message)
        self.needed = needed


class VerificationError(MstflowError, ValueError):
    """A forest that is not the minimum spanning forest of its graph. Names the first edge."""


class WorkerError(MstflowError, RuntimeError):
    """Workers that died, or that cannot do what a run needs of them."""


class PipelineError(MstflowError, TypeError):
    """A pipeline or stage that cannot run as declared. Names the stage."""


class PrimitiveError(MstflowError, ValueError):
    """Arguments that break a primitive's contract, found in debug mode. Names the primitive."""


class KernelError(MstflowError, RuntimeError):
    """A GPU that fails, or a kernel that does not compile. Names the task, or what fails."""
