"""The known algorithms by name: a pipeline each, in a file of its own."""

from ...errors import OptionError
from ..pipeline import Pipeline
from .boruvka_csr import boruvka_csr
from .boruvka_edgelist import boruvka_edgelist
from .boruvka_flatten import boruvka_flatten
from .boruvka_sorted import boruvka_sorted
from .boruvka_unionfind import boruvka_unionfind
from .filter_boruvka import filter_boruvka
from .filter_kruskal import filter_kruskal
from .kruskal import kruskal
from .kruskal_helpers import kruskal_helpers
from .prim import prim

_CATALOGUE = {
    pipeline.name: pipeline
    for pipeline in (
        filter_boruvka,
        boruvka_edgelist,
        boruvka_flatten,
        boruvka_sorted,
        boruvka_csr,
        boruvka_unionfind,
        filter_kruskal,
        kruskal,
        kruskal_helpers,
        prim,
    )
}


def algorithms() -> list[str]:
    """Return the names of the algorithms, the default first."""
    return list(_CATALOGUE)


def algorithm(name: str) -> Pipeline:
    """Return the pipeline called `name`; "auto" is the default.

    Raises
    ------
    OptionError
        If there is no such algorithm.
    """
    if name == "auto":
        return filter_boruvka
    if not isinstance(name, str) or name not in _CATALOGUE:
        message = f"algorithm {name!r} is not known; choose from: auto, {', '.join(_CATALOGUE)}"
        raise OptionError(message)
    return _CATALOGUE[name]
