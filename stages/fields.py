"""The types of the fields that stages read and write. A type has a kind, and may have an axis.

A graph is a single field, `Edges`: four columns of equal length. The type of any other array may
have an axis. Arrays along the same axis have equal lengths. When a stage writes ``num_vertices``,
all fields along "vertices" are discarded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple


class Edges(NamedTuple):
    """An edge list or a partition of one, ordered by edge id.

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


#: The kinds of arrays, with the kinds of their dtypes.
_ARRAYS = {"index": "i", "key": "u", "flag": "b", "chosen": "i"}
#: The kinds of the dtypes of the columns of `Edges`.
_COLUMNS = "iiui"
#: The kinds of numbers, with the other kinds that a stage may read as each of them.
_NUMBERS = {
    "count": (),
    "number": ("count", "number of at least 0"),
    "number of at least 0": ("count",),
}


@dataclass(frozen=True)
class Field:
    """The type of a field: its `axis` (empty if it has none) and the `kind` of its values.

    Kinds are "edges" (`Edges`), "index" (int32 or int64), "key" (unsigned integers), "flag"
    (bool), "chosen" (ids of edges that are added to the forest, collected over all rounds),
    "count" (one integer), "number" (one integer or float), "number of at least 0", "verdict" (one
    bool) and "any".
    """

    axis: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} along {self.axis}" if self.axis else self.kind

    @property
    def is_reported(self) -> bool:
        """Whether reports show the value."""
        return self.kind in _NUMBERS

    def accepts(self, other: Field) -> bool:
        """Return whether a stage may read a field of the type `other` as a field of this type."""
        if "any" in (other.kind, self.kind):
            return not (other.axis and self.axis) or other.axis == self.axis
        if self.kind in _NUMBERS:
            return other.kind in (self.kind, *_NUMBERS[self.kind])
        return other.kind == self.kind and (not self.axis or other.axis in ("", self.axis))

    def holds(self, value: Any) -> bool:
        """Return whether a value has this kind; its length is not checked."""
        if self.kind == "any":
            return not self.axis or hasattr(value, "__len__")
        if self.kind in _ARRAYS:
            return _is_array(value, _ARRAYS[self.kind])
        if self.kind == "edges":
            is_record = isinstance(value, Edges) and all(map(_is_array, value, _COLUMNS))
            return is_record and len(set(map(len, value))) == 1
        if self.kind == "verdict":
            return isinstance(value, bool)
        types = int if self.kind == "count" else int | float
        is_number = isinstance(value, types) and not isinstance(value, bool)
        return is_number and (self.kind != "number of at least 0" or value >= 0)


def rebuilt(value: Any, items: Any) -> Any:
    """Return a tuple or record of the same type with other items."""
    return getattr(type(value), "_make", type(value))(items)


def _is_array(value: Any, kind: str) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and value.ndim == 1 and getattr(dtype, "kind", "?") == kind


ANYTHING = Field("", "any")
EDGES = Field("", "edges")

VertexIndex = Annotated[Any, Field("vertices", "index")]
VertexKeys = Annotated[Any, Field("vertices", "key")]
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
