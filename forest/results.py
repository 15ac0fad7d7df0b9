"""The classes of results that the wing `queries` computes; importing one imports the wing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..plugins import wing

if TYPE_CHECKING:
    from ..queries.cluster_table import ClusterTable
    from ..queries.dendrogram import Bottleneck, Dendrogram

__all__ = ["Bottleneck", "ClusterTable", "Dendrogram"]


def __getattr__(name: str) -> Any:
    # Tools that evaluate the annotations of a `Forest` look these names up.
    if name in __all__:
        return getattr(wing("queries"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
