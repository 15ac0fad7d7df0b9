"""Plugins: algorithms, readers and backends that other distributions register by entry points."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

from .errors import OptionError, PluginWarning

#: The kinds of plugin, and the entry point group of each.
GROUPS = {
    "algorithm": "mstflow.algorithms",
    "reader": "mstflow.readers",
    "backend": "mstflow.backends",
}


@dataclass(frozen=True)
class Plugin:
    """A registered entry point that is not loaded yet."""

    #: A key of `GROUPS`.
    kind: str
    #: An `importlib.metadata.EntryPoint`; to import its module takes long.
    point: Any

    @property
    def distribution(self) -> str:
        """Name and version of the distribution that registered it."""
        found = self.point.dist
        return f"{found.name} {found.version}" if found else "an unknown distribution"

    def load(self, *kinds: Any) -> Any:
        """Import the registered object, which must be an instance of one of these types."""
        try:
            found = self.point.load()
        except Exception as error:  # the plugin's code may raise anything
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
    """Return the plugins of one kind by name, without loading them.

    If several distributions register the same name, the first in alphabetical order wins. The
    others are ignored with a warning, like plugins with the names that mstflow uses itself.
    """
    owners = dict.fromkeys(own, "mstflow")
    found = {}
    for plugin in plugins():
        name = plugin.point.name
        if plugin.kind != kind:
            continue
        if name in owners:
            message = f"{plugin} is ignored: the name is taken by {owners[name]}"
            warnings.warn(message, PluginWarning, stacklevel=2)
            continue
        found[name], owners[name] = plugin, plugin.distribution
    return found


@functools.cache
def plugins() -> list[Plugin]:
    """Return all registered plugins, sorted by kind, distribution and name."""
    from importlib.metadata import entry_points  # takes a tenth of the time of a small command

    points = entry_points()
    found = [Plugin(kind, point) for kind in GROUPS for point in points.select(group=GROUPS[kind])]
    return sorted(found, key=lambda plugin: (plugin.kind, plugin.distribution, plugin.point.name))
