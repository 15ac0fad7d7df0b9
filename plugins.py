"""What other distributions add by entry points: algorithms, readers, array modules."""

from __future__ import annotations

import functools
import importlib.metadata
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import OptionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: What may be added, and the group of its entry points.
GROUPS = {
    "algorithm": "mstflow.algorithms",
    "reader": "mstflow.readers",
    "backend": "mstflow.backends",
}


@dataclass(frozen=True)
class Plugin:
    """Something registered under a name, not loaded yet; as a string it names its distribution."""

    kind: str
    point: EntryPoint

    @property
    def distribution(self) -> str:
        """Name and version of the distribution that registered it."""
        found = self.point.dist
        return f"{found.name} {found.version}" if found else "an unknown distribution"

    def load(self, *kinds: Any) -> Any:
        """Load it, and check its type.

        Raises
        ------
        OptionError
            If it cannot be loaded, or is none of `kinds`.
        """
        try:
            found = self.point.load()
        except Exception as error:  # whatever the code of others may raise
            message = f"{self} cannot be loaded: {type(error).__name__}: {error}"
            raise OptionError(message) from error
        if not isinstance(found, kinds):
            known = " or ".join(kind.__name__ for kind in kinds)
            message = f"{self} must be a {known}, not {found!r}"
            raise OptionError(message)
        return found

    def __str__(self) -> str:
        return f"{self.kind} {self.point.name!r} of {self.distribution}"


@functools.cache
def registered(kind: str, own: tuple[str, ...]) -> dict[str, Plugin]:
    """Find what distributions register, by name; nothing is loaded.

    Parameters
    ----------
    kind : str
        One of `GROUPS`.
    own : tuple of str
        The names that mstflow has itself. Another name goes to the first distribution that claims
        it, by their names; the others are passed over with a warning.
    """
    owners = dict.fromkeys(own, "mstflow")
    found = {}
    for plugin in plugins():
        name = plugin.point.name
        if plugin.kind != kind:
            continue
        if name in owners:
            warnings.warn(f"{plugin} is passed over: {owners[name]} has that name", stacklevel=2)
            continue
        found[name], owners[name] = plugin, plugin.distribution
    return found


@functools.cache
def plugins() -> list[Plugin]:
    """Return all that is registered, by kind, distribution and name."""
    points = importlib.metadata.entry_points()
    found = [Plugin(kind, point) for kind in GROUPS for point in points.select(group=GROUPS[kind])]
    return sorted(found, key=lambda plugin: (plugin.kind, plugin.distribution, plugin.point.name))
