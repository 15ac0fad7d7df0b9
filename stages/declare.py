"""The stage protocol: how a plain function over arrays says what it reads and writes.

A stage is a function one of whose parameters may be ``ops``, the array module, and whose other
parameters name the fields it reads. `stage` declares the fields it writes. Annotations from
`fields` say what each field holds::

    @stage(writes="num_light", combine="sum")
    def count_light_edges(edges: Edges, limit: Count) -> Count:
        return int((edges.key <= limit).sum())

A stage that reads a field that lies in partitions runs once for each partition. With `combine` the
results become one shared field; without it they stay in the partitions.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from ..errors import PipelineError
from .combine import COMBINE
from .fields import ANYTHING, EDGES, Edges, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .combine import Combine

_PACKAGE = f"{__package__.partition('.')[0]}."

#: Parameters that are not fields: the array module, and where a task keeps unfinished work.
INJECTED = ("ops", "record")


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of an algorithm, with its declaration; call it like the function it wraps.

    Attributes
    ----------
    function : callable
        Pure: takes fields and returns one field, or a tuple with one value for each it writes.
    reads, writes : dict of str to Field
        The fields it takes and gives, in order.
    combine : str or callable, optional
        How the partitions' results join into one: a name in `combine.COMBINE`, or a function of
        ``ops``, the list of results, and any shared fields that it names as parameters.
    """

    function: Callable[..., Any]
    reads: Mapping[str, Field]
    writes: Mapping[str, Field]
    combine: str | Combine | None

    @cached_property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def injected(self) -> tuple[str, ...]:
        """The parameters of the function that are not fields."""
        parameters = inspect.signature(self.function).parameters
        return tuple(name for name in INJECTED if name in parameters)

    @cached_property
    def combiner(self) -> Combine | None:
        """The function that joins the results of several partitions."""
        return COMBINE[self.combine] if isinstance(self.combine, str) else self.combine

    @cached_property
    def combiner_reads(self) -> tuple[str, ...]:
        """The shared fields that the combination reads."""
        if self.combiner is None:
            return ()
        _, _, *names = inspect.signature(self.combiner).parameters
        return tuple(name for name in names if name not in INJECTED)

    @cached_property
    def combiner_keeps(self) -> bool:
        """Whether the combination keeps unfinished work."""
        return self.combiner is not None and "record" in inspect.signature(self.combiner).parameters

    @cached_property
    def combine_name(self) -> str:
        """The name of the combination in pictures, reports and on dashboards."""
        if isinstance(self.combine, str):
            return f"{self.combine.replace(' ', '_')}_of_{self.name}"
        return getattr(self.combine, "__name__", "")

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **options)

    def __repr__(self) -> str:
        return f"<stage {self.name}({', '.join(self.reads)}) -> {', '.join(self.writes)}>"

    def __reduce__(self) -> Any:
        # Every process finds a stage of this package under its name; others are sent whole.
        module, name = self.function.__module__, self.function.__qualname__
        if module.startswith(_PACKAGE) and _find(module, name) is self:
            return _find, (module, name)
        return Stage, (self.function, dict(self.reads), dict(self.writes), self.combine)


def stage(
    *, writes: str | tuple[str, ...], combine: str | Combine | None = None
) -> Callable[[Callable[..., Any]], Stage]:
    """Declare a function a stage; see `Stage` for the parameters.

    Raises
    ------
    PipelineError
        If the declaration contradicts itself or the function. Names the stage.
    """
    names = writes if isinstance(writes, tuple | list) else (writes,)
    if not all(isinstance(name, str) for name in names):
        message = f"writes must be a name or a tuple of names, not {writes!r}"
        raise PipelineError(message)

    def declare(function: Callable[..., Any]) -> Stage:
        name = getattr(function, "__name__", None)
        if name is None:
            message = f"a stage needs a function with a name, not {function!r}"
            raise PipelineError(message)
        try:
            parameters = inspect.signature(function).parameters.values()
            hints = get_type_hints(function, include_extras=True)
        except Exception as error:  # any expression may be a hint; max, for one, has no signature
            message = f"stage {name!r}: its declaration must be readable when it runs: {error}"
            raise PipelineError(message) from error
        outputs = _outputs(hints.get("return"), len(names))
        problem = _contradiction(tuple(names), combine, parameters, outputs)
        if problem:
            message = f"stage {name!r}: {problem}"
            raise PipelineError(message)
        reads = {p.name: _field(hints.get(p.name)) for p in parameters if p.name not in INJECTED}
        return Stage(function, reads, dict(zip(names, outputs, strict=True)), combine)

    return declare


def _contradiction(
    names: tuple[str, ...],
    combine: str | Combine | None,
    parameters: Iterable[Parameter],
    outputs: list[Field],
) -> str | None:
    """Say what is wrong with a declaration, if anything is."""
    unnamed = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    if not names or len(set(names)) < len(names):
        return f"writes must be distinct names, not {names!r}"
    if not (combine is None or callable(combine) or combine in COMBINE):
        return f"combine must be a function or one of: {', '.join(COMBINE)}, not {combine!r}"
    if combine == "lexicographic minimum" and len(names) < 2:
        return f"combine={combine!r} compares two fields, so write two"
    if any(parameter.kind in unnamed for parameter in parameters):
        return "reads must be named, not positional-only, *args or **kwargs"
    if len(outputs) != len(names):
        return f"returns {len(outputs)} fields, but writes {len(names)}"
    return None


def _find(module: str, name: str) -> Stage:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _field(hint: Any) -> Field:
    if hint is Edges:
        return EDGES
    found = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Field)]
    return found[0] if found else ANYTHING


def _outputs(hint: Any, written: int) -> list[Field]:
    if get_origin(hint) is tuple:
        return [_field(part) for part in get_args(hint)]
    # Without an annotation any number of fields is accepted.
    return [_field(hint)] * (written if hint is None else 1)
