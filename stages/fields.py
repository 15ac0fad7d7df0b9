"""The types of the fields that stages exchange: an axis and a kind of value each.

A graph is one field, `Edges`: four columns of one length. Other arrays may name the axis they run
along; two fields along one axis have one length. Fields along "vertices" are lost when a stage
writes a new ``num_vertices``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple


class Edges(NamedTuple):
    """An edge list, in whole or a partition of it, ordered by edge id.

    Attributes
    ----------
    u, v : index arrays of length m
        The ends of each edge.
    key : unsigned integer array of length m
        The weights in their order; `weight_order` turns keys into weights and a weight into a key.
    edge_id : index array of length m
        Ascending.
    """

    u: Any
    v: Any
    key: Any
    edge_id: Any


class Columns(NamedTuple):
    """An edge list as it is read: an `Edges` whose weights are no keys yet."""

    u: Any
    v: Any
    weight: Any
    edge_id: Any


class Arcs(NamedTuple):
    """A compressed sparse row graph (CSR) that holds both arcs of each edge.

    Attributes
    ----------
    edge : index array of length k
        The position of each arc's edge.
    destination : index array of length k
        The vertex that each arc leads to.
    offsets : index array of length n + 1
        The arcs of vertex i are those from ``offsets[i]`` up to ``offsets[i + 1]``.
    """

    edge: Any
    destination: Any
    offsets: Any


@dataclass(frozen=True)
class Field:
    """What a field is: the `axis` it runs along ("" if none) and the `kind` of its values.

    Kinds are "edges" (`Edges`), "index" (int32 or int64), "key" (unsigned integers), "flag"
    (bool), "chosen" (ids of edges that join the forest; a run adds each array to those before),
    "count" (one integer), "number" (one integer or float), "verdict" (one bool) and "any".
    """

    axis: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} along {self.axis}" if self.axis else self.kind


ANYTHING = Field("", "any")
EDGES = Field("", "edges")

VertexIndex = Annotated[Any, Field("vertices", "index")]
VertexKeys = Annotated[Any, Field("vertices", "key")]
Index = Annotated[Any, Field("", "index")]
Keys = Annotated[Any, Field("", "key")]
Flags = Annotated[Any, Field("", "flag")]
Chosen = Annotated[Any, Field("", "chosen")]
Count = Annotated[int, Field("", "count")]
Number = Annotated[float, Field("", "number")]
Verdict = Annotated[bool, Field("", "verdict")]
