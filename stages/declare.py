"""The stage protocol: how a plain function over arrays says what it reads, writes and may split.

A stage is a function one of whose parameters may be ``ops``, the array module, and whose other
parameters name the fields it reads. `stage` declares the fields it writes. Annotations from
`fields` say along what axis each field runs and what it holds::

    @stage(writes="is_light", over="edges")
    def mark_light_edges(weight: EdgeWeights, limit: float) -> EdgeFlags:
        return weight <= limit
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from ..errors import PipelineError
from .combine import COMBINE
from .fields import ANYTHING, AXES, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .combine import Combine

Over = Literal["edges", "vertices"]

_PACKAGE = f"{__package__.partition('.')[0]}."


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of an algorithm, with its declaration; call it like the function it wraps.

    Attributes
    ----------
    function : callable
        Pure: takes fields, returns one field, or a tuple of as many as it writes.
    reads, writes : dict of str to Field
        The fields it takes and gives, in order.
    over : {"edges", "vertices"}
        "edges" may run on any part of the edge list; "vertices" runs once.
    combine : str, optional
        How the parts' results join into one (a name in `combine.COMBINE`). Without it what a
        stage over edges writes stays in the parts.
    resizes : tuple of str
        The axes whose length it changes: older fields along those are gone after it.
    """

    function: Callable[..., Any]
    reads: Mapping[str, Field]
    writes: Mapping[str, Field]
    over: Over
    combine: str | None
    resizes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def stays_in_parts(self) -> bool:
        """Whether each part of the edge list keeps its own result."""
        return self.over == "edges" and self.combine is None

    @cached_property
    def takes_ops(self) -> bool:
        """Whether the function asks for the array module."""
        return "ops" in inspect.signature(self.function).parameters

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
        fields = (self.function, dict(self.reads), dict(self.writes))
        return Stage, (*fields, self.over, self.combine, self.resizes)


def stage(
    *,
    writes: str | tuple[str, ...],
    over: Over = "vertices",
    combine: str | None = None,
    resizes: str | tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Stage]:
    """Declare a function a stage; see `Stage` for the parameters.

    Raises
    ------
    PipelineError
        If the declaration contradicts itself or the function. Names the stage.
    """
    names, axes = _names("writes", writes), _names("resizes", resizes)

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
        problem = _contradiction(names, over, combine, axes, parameters, outputs)
        if problem:
            message = f"stage {name!r}: {problem}"
            raise PipelineError(message)
        reads = {p.name: _field(hints.get(p.name)) for p in parameters if p.name != "ops"}
        written = dict(zip(names, outputs, strict=True))
        return Stage(function, reads, written, over, combine, axes)

    return declare


def _names(option: str, value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, tuple | list) else (value,)
    if not all(isinstance(name, str) for name in names):
        message = f"{option} is a name or a tuple of names, not {value!r}"
        raise PipelineError(message)
    return tuple(names)


def _contradiction(
    names: tuple[str, ...],
    over: str,
    combine: str | None,
    axes: tuple[str, ...],
    parameters: Iterable[Parameter],
    outputs: list[Field],
) -> str | None:
    """Say what is wrong with a declaration, if anything is."""
    unnamed = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    unknown = set(axes) - {*AXES, *(field.axis for field in outputs)}
    if not names or len(set(names)) < len(names):
        return f"writes must be distinct names, not {names!r}"
    if over not in get_args(Over):
        return f"over must be 'edges' or 'vertices', not {over!r}"
    if combine is not None and (over != "edges" or combine not in COMBINE):
        return f"combine={combine!r} needs over='edges' and one of: {', '.join(COMBINE)}"
    if combine == "lexicographic minimum" and len(names) < 2:
        return f"combine={combine!r} compares two fields, so write two"
    if any(parameter.kind in unnamed for parameter in parameters):
        return "reads must be named, not positional-only, *args or **kwargs"
    if len(outputs) != len(names):
        return f"returns {len(outputs)} fields, but writes {len(names)}"
    if unknown:
        return f"resizes {', '.join(unknown)}, an axis no field has"
    return None


def combine_parts(stage: Stage) -> Combine:
    """Return the function that joins what `stage` wrote in two parts."""
    return COMBINE[stage.combine or ""]


def _find(module: str, name: str) -> Stage:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _field(hint: Any) -> Field:
    found = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Field)]
    return found[0] if found else ANYTHING


def _outputs(hint: Any, written: int) -> list[Field]:
    if get_origin(hint) is tuple:
        return [_field(part) for part in get_args(hint)]
    # Without an annotation any number of fields is believed.
    return [_field(hint)] * (written if hint is None else 1)
