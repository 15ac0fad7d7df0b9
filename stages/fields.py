"""The types of the fields that stages read and write: the kind of the values, and an axis.

A graph is a single field, `Edges`: four columns of equal length. Any other array may have an axis.
Arrays along the same axis have equal lengths. An axis has the name of the field that holds its
length: when a stage writes ``num_vertices``, all fields along it are discarded.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args

from ..errors import PipelineError


class Edges(NamedTuple):
    """The edges of a graph or of a partition, ordered by edge id.

    Attributes
    ----------
    u, v : index arrays of length m
        The two ends of each edge.
    key : unsigned integer array of length m
        The keys of the weights, which have the same order as the weights. The field
        ``weight_order`` converts between keys and weights.
    edge_id : index array of length m
        Ascending.
    """

    u: Any
    v: Any
    key: Any
    edge_id: Any

    @property
    def is_valid(self) -> bool:
        """Whether the columns have these dtypes and equal lengths."""
        kinds = INDEX, INDEX, KEY, INDEX
        is_array = all(kind.holds(column) for kind, column in zip(kinds, self, strict=True))
        return is_array and len(set(map(len, self))) == 1


class Columns(NamedTuple):
    """An edge list with weights instead of keys; see `Edges`."""

    u: Any
    v: Any
    weight: Any
    edge_id: Any


class Arcs(NamedTuple):
    """A graph in compressed sparse row form (CSR), with both arcs of each edge.

    Attributes
    ----------
    edge : index array of length k
        The edge of each arc: its position, or its rank in the order of weight.
    destination : index array of length k
        The vertex to which each arc leads.
    offsets : index array of length n + 1
        The arcs of vertex i are at the positions ``offsets[i]`` to ``offsets[i + 1] - 1``.
    """

    edge: Any
    destination: Any
    offsets: Any


class Cut(NamedTuple):
    """The last edge that a scan takes, in the order of (key, edge id)."""

    key: int
    edge_id: int


class Candidates(NamedTuple):
    """Edges of consecutive partitions that contain their minimum forest."""

    #: In the order of edge ids. `u` and `v` are fragments.
    edges: tuple[Columns, ...]
    #: The last edge that the scan took; None if it took all edges.
    cut: Cut | None
    #: Whether `edges` has one item and it is a forest.
    is_forest: bool
    #: Milliseconds that threads have spent on reading and decoding.
    read_ms: int


class DType(ABC):
    """The dtype of an array, which has an `itemsize`."""

    itemsize: int


class Collected(tuple[Any, ...]):
    """The values that several tasks wrote to one `Chosen` field, or for one partition."""

    __slots__ = ()


@dataclass(frozen=True)
class Kind:
    """A kind of values: arrays of certain dtypes, or instances of certain types.

    Attributes
    ----------
    name : str
        The kind as errors write it.
    types : tuple of type
        The types of the values. If a tuple has a property `is_valid`, it must be true.
    dtypes : str
        The possible values of `dtype.kind` of arrays with one axis; empty for other kinds.
    least : int, optional
        The smallest number.
    includes : tuple of Kind
        Other kinds whose values a stage may read as this kind.
    """

    name: str
    types: tuple[type[Any], ...] = ()
    dtypes: str = ""
    least: int | None = None
    includes: tuple[Kind, ...] = ()

    @classmethod
    def of(cls, of_values: type) -> Kind:
        """Return the kind of the instances of a class."""
        words = re.sub("(?<=[a-z])(?=[A-Z])", " ", of_values.__name__)
        return cls(words.lower(), (of_values,))

    def holds(self, value: Any) -> bool:
        """Return whether a value has this kind."""
        dtype = getattr(value, "dtype", None) if self.dtypes else None
        if dtype is not None:
            return bool(value.ndim == 1) and getattr(dtype, "kind", "?") in self.dtypes
        if not isinstance(value, self.types) or (isinstance(value, bool) and int in self.types):
            return False
        if isinstance(value, tuple):
            return bool(getattr(value, "is_valid", True))
        return self.least is None or value >= self.least


ANY = Kind("any", (object,))
INDEX, KEY, FLAG = Kind("index", dtypes="i"), Kind("key", dtypes="u"), Kind("flag", dtypes="b")
WEIGHT = Kind("weight", dtypes="biuf")
CHOSEN = Kind("chosen", (Collected,), "i")
COUNT, LIMIT, VERDICT = Kind("count", (int,)), Kind("limit", (int,)), Kind("verdict", (bool,))
AMOUNT = Kind("number of at least 0", (int, float), least=0, includes=(COUNT,))
NUMBER = Kind("number", (int, float), includes=(COUNT, AMOUNT))


@dataclass(frozen=True)
class Field:
    """The type of a field: the `kind` of its values, and its `axis` (empty if it has none).

    An `optional` field may be None.
    """

    kind: Kind
    axis: str = ""
    optional: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.kind, Kind):
            raise PipelineError(f"the kind of a field must be a Kind, such as INDEX: {self.kind!r}")

    def __str__(self) -> str:
        kind = f"optional {self.kind.name}" if self.optional else self.kind.name
        return f"{kind} along {self.axis.removeprefix('num_')}" if self.axis else kind

    def renamed(self, names: Mapping[str, str]) -> Field:
        """Return the type with the new name of its axis."""
        return replace(self, axis=names[self.axis]) if self.axis in names else self

    @cached_property
    def is_reported(self) -> bool:
        """Whether reports show the value."""
        return self.kind in (COUNT, AMOUNT, NUMBER)

    @cached_property
    def is_chosen(self) -> bool:
        """Whether the values are ids of edges, which are collected over all rounds."""
        return self.kind == CHOSEN

    def accepts(self, other: Field) -> bool:
        """Return whether a stage may read a field of the type `other` as a field of this type."""
        if ANY in (other.kind, self.kind):
            return True
        has_kind = other.kind in (self.kind, *self.kind.includes)
        has_axis = not self.axis or other.axis in ("", self.axis)
        return has_kind and has_axis and (self.optional or not other.optional)

    def holds(self, value: Any) -> bool:
        """Return whether a value has this type, apart from its length."""
        return (self.optional and value is None) or self.kind.holds(value)


def rebuilt(value: Any, items: Any) -> Any:
    """Return a tuple or record of the same type with other items."""
    return getattr(type(value), "_make", type(value))(items)


ANYTHING = Field(ANY)


def field_of(hint: Any) -> Field:
    """Return the type that an annotation declares; `ANYTHING` if it declares none.

    A named tuple, a dataclass and a class derived from `abc.ABC` are kinds themselves.
    """
    if NoneType in (options := get_args(hint)):
        return replace(field_of(next(iter(options))), optional=True)
    if isinstance(hint, type):
        has_kind = issubclass(hint, ABC) or is_dataclass(hint) or hasattr(hint, "_fields")
        return Field(Kind.of(hint)) if has_kind else ANYTHING
    extras = getattr(hint, "__metadata__", ())
    return next((extra for extra in extras if isinstance(extra, Field)), ANYTHING)


VertexIndex = Annotated[Any, Field(INDEX, "num_vertices")]
VertexKeys = Annotated[Any, Field(KEY, "num_vertices")]
#: The lightest edge of each vertex: its key, its id and its other end.
Lightest = tuple[VertexKeys, VertexIndex, VertexIndex]
#: int32 or int64.
Index = Annotated[Any, Field(INDEX)]
#: Unsigned integers.
Keys = Annotated[Any, Field(KEY)]
Flags = Annotated[Any, Field(FLAG)]
Weights = Annotated[Any, Field(WEIGHT)]
#: Ids of edges that are added to the forest, collected over all rounds.
Chosen = Annotated[Any, Field(CHOSEN)]
Count = Annotated[int, Field(COUNT)]
Number = Annotated[float, Field(NUMBER)]
Amount = Annotated[float, Field(AMOUNT)]
Verdict = Annotated[bool, Field(VERDICT)]
#: The largest key to select.
Limit = Annotated[int, Field(LIMIT)]
#: The labels of successive contractions.
Levels = Annotated[Any, Field(Kind("levels", (tuple,)))]
#: One value for each partition, or from each: see `combine.EXCHANGE`.
Parcels = Annotated[Any, Field(Kind("parcels", (tuple,)))]
