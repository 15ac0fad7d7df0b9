"""The types of the fields that stages exchange: an axis and a kind of value each.

Axes are named, not counted: two fields along one axis have one length. ``edges``, edges ``held``
back, ``arcs`` (both directions of each edge) and CSR ``offsets`` into the arcs belong to a part of
the edge list, ``vertices`` to the whole graph. A field without an axis is free in length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True)
class Field:
    """What a field is: `axis` it runs along ("" if none) and `kind` of its values.

    Kinds are "index" (int32 or int64), "key" (unsigned integers), "weight" (numbers), "flag"
    (bool), "count" (one integer), "verdict" (one bool) and "any".
    """

    axis: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} along {self.axis}" if self.axis else self.kind


ANYTHING = Field("", "any")
PART_AXES = ("edges", "held", "arcs", "offsets")
AXES = ("vertices", *PART_AXES)

EdgeIndex = Annotated[Any, Field("edges", "index")]
EdgeKeys = Annotated[Any, Field("edges", "key")]
EdgeWeights = Annotated[Any, Field("edges", "weight")]
EdgeFlags = Annotated[Any, Field("edges", "flag")]
HeldIndex = Annotated[Any, Field("held", "index")]
HeldKeys = Annotated[Any, Field("held", "key")]
ArcIndex = Annotated[Any, Field("arcs", "index")]
ArcKeys = Annotated[Any, Field("arcs", "key")]
ArcFlags = Annotated[Any, Field("arcs", "flag")]
Offsets = Annotated[Any, Field("offsets", "index")]
VertexIndex = Annotated[Any, Field("vertices", "index")]
VertexKeys = Annotated[Any, Field("vertices", "key")]
VertexWeights = Annotated[Any, Field("vertices", "weight")]
Index = Annotated[Any, Field("", "index")]
Keys = Annotated[Any, Field("", "key")]
Weights = Annotated[Any, Field("", "weight")]
Count = Annotated[int, Field("", "count")]
Verdict = Annotated[bool, Field("", "verdict")]
