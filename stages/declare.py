"""The decorator `stage`, which declares the fields that a function reads and writes.

The parameters of the function name the fields that it reads; the parameter ``ops``, if present,
receives the array module. The decorator names the fields that the function writes. Annotations from
`stages.fields` describe the values of each field::

    @stage(writes="num_light", combine="sum")
    def count_light_edges(edges: Edges, limit: Count) -> Count:
        return int((edges.key <= limit).sum())

A stage that reads a partitioned field runs once for each partition. With `combine`, the results are
combined into one shared field; without it, they are partitioned too. With ``combine="exchange"``,
each partition writes a tuple with one value for each partition, and later stages read a tuple of
the values that all partitions wrote for theirs.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import Parameter
from operator import attrgetter
from typing import Any, get_args, get_origin, get_type_hints

from ..errors import PipelineError
from .combine import COMBINE, EXCHANGE, Combine
from .fields import ANYTHING, Field, field_of

_PACKAGE = f"{__package__.partition('.')[0]}."

#: Parameters that are not fields: the array module, and the checkpoint record of a task.
_INJECTED = ("ops", "record")


@dataclass(frozen=True, eq=False)
class Stage:
    """A step of an algorithm: a function, and the fields that it reads and writes.

    Attributes
    ----------
    function : callable
        A pure function. It returns the value of the field it writes, or a tuple with one value for
        each field.
    reads, writes : dict of str to Field
        The fields that the function reads and writes, in order.
    combine : str or callable, optional
        The combination of the partitions' results: a key of `combine.COMBINE`, "exchange", or a
        function of ``ops``, the list of results, and any shared fields, named by its parameters.
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
    def original(self) -> Stage:
        """The stage as it was declared, before its fields were renamed."""
        return self

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The fields that it reads and that hold the length of an axis."""
        declared = {field.axis for field in (*self.reads.values(), *self.writes.values())}
        return tuple(name for name in self.reads if name in declared)

    @cached_property
    def reported(self) -> tuple[tuple[int, str], ...]:
        """The positions and names of the written fields that reports show.

        A field of a pipeline within another is reported without the prefix of its name.
        """
        fields = enumerate(self.writes.items())
        return tuple(
            (place, name.rpartition(".")[2]) for place, (name, field) in fields if field.is_reported
        )

    @cached_property
    def injected(self) -> tuple[str, ...]:
        """The names of the parameters that are not fields."""
        parameters = inspect.signature(self.function).parameters
        return tuple(name for name in _INJECTED if name in parameters)

    @cached_property
    def title(self) -> str:
        """The stage as errors name it."""
        return f"stage {self.name!r}"

    @property
    def is_exchange(self) -> bool:
        """Whether each partition writes one value for each partition."""
        return self.combine == EXCHANGE

    @property
    def is_combined(self) -> bool:
        """Whether the results of the partitions become one shared result."""
        return self.combine is not None and not self.is_exchange

    @cached_property
    def combination(self) -> Stage | None:
        """The stage that combines the results of several partitions, if there is one."""
        if not self.is_combined:
            return None
        combine: Any = self.combine
        combine = COMBINE[combine] if isinstance(combine, str) else combine
        names = [*inspect.signature(combine).parameters][2:]
        reads = dict.fromkeys(
            ["parts", *(name for name in names if name not in _INJECTED)], ANYTHING
        )
        return Combination(combine, reads, self.writes, None, self)

    @cached_property
    def combiner_reads(self) -> tuple[str, ...]:
        """The names of the shared fields that the combination reads."""
        return tuple(self.combination.reads)[1:] if self.combination else ()

    def renamed(self, **names: str) -> Stage:
        """Return a copy that reads and writes other fields: ``renamed(edges="light_edges")``.

        Raises
        ------
        PipelineError
            If the stage has no field of an old name, or would write a field twice.
        """
        known = {*self.reads, *self.writes, *self.combiner_reads}
        if unknown := names.keys() - known:
            name = unknown.pop()
            raise PipelineError(f"{self.title}: has no field {name!r}{similar(name, known)}")
        return rename(self, names)

    def run(self, ops: Any, record: Any, fields: dict[str, Any]) -> tuple[Any, ...]:
        """Call the function with fields by name; return the values that it writes."""
        given = {"ops": ops, "record": record}
        result = self.function(**{name: given[name] for name in self.injected}, **fields)
        return result if type(result) is tuple and len(self.writes) > 1 else (result,)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the stage like its function."""
        return self.function(*args, **options)

    def __repr__(self) -> str:
        return f"<stage {self.name}({', '.join(self.reads)}) -> {', '.join(self.writes)}>"

    def __reduce__(self) -> Any:
        # Stages of this package are pickled by name, others by value.
        module, name = self.function.__module__, self.function.__qualname__
        if module.startswith(_PACKAGE) and _import_stage(module, name) is self:
            return _import_stage, (module, name)
        return Stage, (self.function, dict(self.reads), dict(self.writes), self.combine)


@dataclass(frozen=True, eq=False, repr=False)
class Renamed(Stage):
    """The stage `origin` with other fields: `names` has the new names by the old ones."""

    origin: Stage
    names: Mapping[str, str]

    @cached_property
    def name(self) -> str:
        """The name of the original."""
        return self.origin.name

    @cached_property
    def title(self) -> str:
        """The original as errors name it."""
        return self.origin.title

    @property
    def original(self) -> Stage:
        """The stage as it was declared."""
        return self.origin

    @cached_property
    def combination(self) -> Stage | None:
        """The combination of the original, with the same new names."""
        combination = self.origin.combination
        return combination and rename(combination, self.names)

    def run(self, ops: Any, record: Any, fields: dict[str, Any]) -> tuple[Any, ...]:
        """Run the original on its own names."""
        new = self.names
        own = {name: fields[new.get(name, name)] for name in self.origin.reads}
        return self.origin.run(ops, record, own)

    def __reduce__(self) -> Any:
        return rename, (self.origin, self.names)


def rename(step: Stage, names: Mapping[str, str]) -> Stage:
    """Return a stage with other fields; ignore the names of fields that it does not have."""
    origin, earlier = (step.origin, step.names) if isinstance(step, Renamed) else (step, {})
    fields = (*origin.reads.items(), *origin.writes.items())
    used = {*dict(fields), *origin.combiner_reads, *(field.axis for _, field in fields)}
    both = {name: names.get(earlier.get(name, name), earlier.get(name, name)) for name in used}
    # The order of a set differs between processes, and identities of stages must not.
    both = {old: new for old, new in sorted(both.items()) if old != new}
    if not both:
        return origin
    reads, writes = (
        {both.get(name, name): field.renamed(both) for name, field in fields.items()}
        for fields in (origin.reads, origin.writes)
    )
    if len(writes) < len(origin.writes):
        raise PipelineError(f"{step.title}: its new names write a field twice: {both}")
    return Renamed(origin.function, reads, writes, origin.combine, origin, both)


def similar(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about a name: the most similar of the known names, if any is."""
    close = difflib.get_close_matches(name, [*known], 1)
    return f"; did you mean {close[0]!r}?" if close else ""


@dataclass(frozen=True, eq=False, repr=False)
class Combination(Stage):
    """The stage that combines the results of the stage `origin` in several partitions.

    It reads these results as the field ``parts``, and shared fields.
    """

    origin: Stage

    @cached_property
    def name(self) -> str:
        """The name in drawings, reports and dashboards."""
        combine = self.origin.combine
        if isinstance(combine, str):
            return f"{combine.replace(' ', '_')}_of_{self.origin.name}"
        return getattr(combine, "__name__", "")

    @cached_property
    def title(self) -> str:
        """The stage as errors name it."""
        return self.origin.title

    def run(self, ops: Any, record: Any, fields: dict[str, Any]) -> tuple[Any, ...]:
        """Call the function with the list of results; return the values that it writes."""
        shared = {name: value for name, value in fields.items() if name != "parts"}
        if "record" in self.injected:
            shared["record"] = record
        result = self.function(ops, [*fields["parts"]], **shared)
        return result if type(result) is tuple else (result,)

    def __reduce__(self) -> Any:
        return getattr, (self.origin, "combination")


def stage(
    bare: Any = None,
    /,
    *,
    writes: str | tuple[str, ...] = (),
    combine: str | Combine | None = None,
) -> Callable[[Callable[..., Any]], Stage]:
    """Return a decorator that converts a function to a `Stage`.

    Parameters
    ----------
    writes : str or tuple of str
        The names of the fields that the function writes, in the order of its return values.
    combine : str or callable, optional
        See `Stage`.

    Raises
    ------
    PipelineError
        If the declaration is inconsistent or does not match the function. Names the stage.
    """
    if bare is not None:
        given = getattr(bare, "__name__", bare)
        raise PipelineError(f'stage {given!r}: name what it writes, as in @stage(writes="NAME")')
    names = writes if isinstance(writes, tuple | list) else (writes,)
    if not all(isinstance(name, str) for name in names):
        raise PipelineError(f"expected a name or a tuple of names for writes, got {writes!r}")

    return partial(_declare, tuple(names), combine)


def _declare(
    names: tuple[str, ...], combine: str | Combine | None, function: Callable[..., Any]
) -> Stage:
    """Return the stage of a function that writes these fields."""
    name = getattr(function, "__name__", None)
    if name is None:
        message = f"expected a function with a name, got {function!r}; define it with def"
        raise PipelineError(message)
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # a hint may be any expression; builtins have no signature
        message = f"stage {name!r}: cannot read its signature and annotations: {error}"
        raise PipelineError(message) from error
    outputs = _outputs(hints.get("return"), len(names))
    problem = _contradiction(names, combine, parameters, outputs)
    if problem:
        raise PipelineError(f"stage {name!r}: {problem}")
    reads = {p.name: field_of(hints.get(p.name)) for p in parameters if p.name not in _INJECTED}
    return Stage(function, reads, dict(zip(names, outputs, strict=True)), combine)


def _contradiction(
    names: tuple[str, ...],
    combine: str | Combine | None,
    parameters: Iterable[Parameter],
    outputs: list[Field],
) -> str | None:
    """Return what is wrong with a declaration; None if nothing is."""
    unnamed = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    if not names or len(set(names)) < len(names):
        return f"expected distinct names for writes, got {names!r}"
    known = (*COMBINE, EXCHANGE)
    if not (combine is None or callable(combine) or combine in known):
        return f"combine is {combine!r}; use a function or one of: {', '.join(known)}"
    if combine == "lexicographic minimum" and len(names) < 2:
        return f"combine={combine!r} compares two fields, but only one is written"
    if any(parameter.kind in unnamed for parameter in parameters):
        return "parameters name fields, so they cannot be positional-only, *args or **kwargs"
    if len(outputs) != len(names):
        return f"writes {len(names)} fields, but its annotation returns {len(outputs)}"
    return None


def _import_stage(module: str, name: str) -> Stage:
    return attrgetter(name)(importlib.import_module(module))  # type: ignore[no-any-return]


def _outputs(hint: Any, num_written: int) -> list[Field]:
    """Return the types of the values that a function returns, from its return annotation."""
    if get_origin(hint) is tuple:
        return [field_of(item) for item in get_args(hint)]
    # Without a return annotation, any number of values is accepted.
    return [field_of(hint)] * (num_written if hint is None else 1)
