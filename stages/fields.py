"""The types of the fields that stages read and write: the kind of the values, and an axis.

A graph is a single field, `Edges`: four columns of equal length. Any other array may have an axis.
Arrays along the same axis have equal lengths. An axis has the name of the field that holds its
length: when a stage writes ``num_vertices``, all fields along it are discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args

from ..primitives.weight_order import WeightOrder


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
    """Edges of consecutive partitions that contain their minimum forest.

    Attributes
    ----------
    edges : tuple of Columns
        In the order of edge ids. `u` and `v` are fragments.
    cut : Cut or None
        The last edge that the scan took; None if it took all edges.
    is_forest : bool
        Whether `edges` has one item and it is a forest.
    read_ms : int
        Milliseconds that threads have spent on reading and decoding.
    """

    edges: tuple[Columns, ...]
    cut: Cut | None
    is_forest: bool
    read_ms: int


class Collected(tuple[Any, ...]):
    """The values that several tasks wrote to one `Chosen` field, or for one partition."""

    __slots__ = ()


#: The kinds of records, with their types.
_RECORDS: dict[str, type] = {
    "edges": Edges,
    "columns": Columns,
    "arcs": Arcs,
    "candidates": Candidates,
    "cut": Cut,
    "weight order": WeightOrder,
}
#: For each kind of number, the other kinds that a stage may read as this kind.
_NUMBERS = {
    "count": (),
    "number": ("count", "number of at least 0"),
    "number of at least 0": ("count",),
}


def _is_array(dtype_kinds: str, value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and value.ndim == 1 and getattr(dtype, "kind", "?") in dtype_kinds


def _is_instance(record: type, value: Any) -> bool:
    return isinstance(value, record)


def _has(attribute: str, value: Any) -> bool:
    return hasattr(value, attribute)


def _is_edges(value: Any) -> bool:
    # "i" and "u" are the kinds of the dtypes of u, v, key and edge_id.
    is_record = isinstance(value, Edges) and all(map(_is_array, "iiui", value))
    return is_record and len(set(map(len, value))) == 1


def _is_number(types: Any, value: Any) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


#: For each kind, the function that returns whether a value is of this kind.
_KINDS: dict[str, Callable[[Any], bool]] = {
    **{kind: partial(_is_instance, record) for kind, record in _RECORDS.items()},
    "edges": _is_edges,
    "index": partial(_is_array, "i"),
    "key": partial(_is_array, "u"),
    "flag": partial(_is_array, "b"),
    "weight": partial(_is_array, "biuf"),
    "chosen": lambda value: isinstance(value, Collected) or _is_array("i", value),
    "levels": partial(_is_instance, tuple),
    "parcels": partial(_is_instance, tuple),
    "verdict": partial(_is_instance, bool),
    "count": partial(_is_number, int),
    "limit": partial(_is_number, int),
    "number": partial(_is_number, int | float),
    "number of at least 0": lambda value: _is_number(int | float, value) and value >= 0,
    "dtype": partial(_has, "itemsize"),
    # Stages do not import the classes of the objects that read a graph: a method identifies them.
    "source": partial(_has, "blocks"),
    "scanner": partial(_has, "scan"),
    "tile joiner": partial(_has, "join"),
    "sweeper": partial(_has, "deal"),
    "buckets": partial(_has, "move"),
}


def register_record(kind: str, record: type) -> None:
    """Add a type of records that stages read and write, as a kind."""
    _RECORDS[kind] = record
    _KINDS[kind] = partial(_is_instance, record)


@dataclass(frozen=True)
class Field:
    """The type of a field: its `axis` (empty if it has none) and the `kind` of its values.

    Kinds of arrays are "index" (int32 or int64), "key" (unsigned integers), "flag" (bool), "weight"
    (numbers) and "chosen" (ids of edges that are added to the forest, collected over all rounds).
    Kinds of scalars are "count" and "limit" (one integer), "number" (one integer or float), "number
    of at least 0" and "verdict" (one bool). Records have the kinds "edges", "columns", "arcs",
    "candidates", "cut" and "weight order", and those that `register_record` adds. "levels" is a
    tuple of arrays, "parcels" a tuple with a value for each partition, or from each, and "dtype"
    the dtype of an array. "source", "scanner", "tile joiner" and
    "sweeper" are objects that read a graph, and "buckets" are edges on disk. "any" is a value of
    any kind. An `optional` field may be None.
    """

    axis: str
    kind: str
    optional: bool = False

    def __str__(self) -> str:
        kind = f"optional {self.kind}" if self.optional else self.kind
        return f"{kind} along {self.axis.removeprefix('num_')}" if self.axis else kind

    def renamed(self, names: Mapping[str, str]) -> Field:
        """Return the type with the new name of its axis."""
        return replace(self, axis=names[self.axis]) if self.axis in names else self

    @property
    def is_reported(self) -> bool:
        """Whether reports show the value."""
        return self.kind in _NUMBERS

    def accepts(self, other: Field) -> bool:
        """Return whether a stage may read a field of the type `other` as a field of this type."""
        if "any" in (other.kind, self.kind):
            return not (other.axis and self.axis) or other.axis == self.axis
        if other.optional and not self.optional:
            return False
        if self.kind in _NUMBERS:
            return other.kind in (self.kind, *_NUMBERS[self.kind])
        return other.kind == self.kind and (not self.axis or other.axis in ("", self.axis))

    def holds(self, value: Any) -> bool:
        """Return whether a value has this kind, and a length if there is an axis."""
        if self.kind == "any":
            return not self.axis or hasattr(value, "__len__")
        return self.optional if value is None else _KINDS[self.kind](value)


def rebuilt(value: Any, items: Any) -> Any:
    """Return a tuple or record of the same type with other items."""
    return getattr(type(value), "_make", type(value))(items)


ANYTHING = Field("", "any")
COLUMNS, EDGES = Field("", "columns"), Field("", "edges")


def field_of(hint: Any) -> Field:
    """Return the type that an annotation declares; `ANYTHING` if it declares none."""
    if NoneType in (options := get_args(hint)):
        return replace(field_of(next(iter(options))), optional=True)
    for kind, record in _RECORDS.items():
        if hint is record:
            return Field("", kind)
    extras = getattr(hint, "__metadata__", ())
    return next((extra for extra in extras if isinstance(extra, Field)), ANYTHING)


VertexIndex = Annotated[Any, Field("num_vertices", "index")]
VertexKeys = Annotated[Any, Field("num_vertices", "key")]
#: The lightest edge of each vertex: its key, its id and its other end.
Lightest = tuple[VertexKeys, VertexIndex, VertexIndex]
Index = Annotated[Any, Field("", "index")]
Keys = Annotated[Any, Field("", "key")]
Flags = Annotated[Any, Field("", "flag")]
Chosen = Annotated[Any, Field("", "chosen")]
Count = Annotated[int, Field("", "count")]
Number = Annotated[float, Field("", "number")]
Amount = Annotated[float, Field("", "number of at least 0")]
Verdict = Annotated[bool, Field("", "verdict")]
Weights = Annotated[Any, Field("", "weight")]
#: The largest key to select.
Limit = Annotated[int, Field("", "limit")]
#: The labels of successive contractions.
Levels = Annotated[Any, Field("", "levels")]
#: One value for each partition, or from each: see `combine.EXCHANGE`.
Parcels = Annotated[Any, Field("", "parcels")]
DType = Annotated[Any, Field("", "dtype")]
#: A partition of a graph, read in blocks: `graphs.source.EdgeSource`.
Source = Annotated[Any, Field("", "source")]
#: Scans partitions: `pipeline.streaming.scan.Scanner`.
Scanner = Annotated[Any, Field("", "scanner")]
#: Joins the vertices of tiles: `pipeline.streaming.tiles.TileJoiner`.
TileJoiner = Annotated[Any, Field("", "tile joiner")]
#: Writes a graph to buckets: `pipeline.streaming.sweep.Sweeper`.
Sweeper = Annotated[Any, Field("", "sweeper")]
#: Buckets of edges on disk: `pipeline.streaming.sweep.Buckets`.
Buckets = Annotated[Any, Field("", "buckets")]
