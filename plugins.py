"""Plugins and wings: what the core calls by name and never imports.

Other distributions register algorithms, readers and backends by entry points. The wings are parts
of mstflow itself.
"""

from __future__ import annotations

import functools
import importlib
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


def wing(name: str) -> Any:
    """Return the module of functions that a wing offers to the core; import it on first use."""
    return importlib.import_module(f".{name}.hooks", __package__)


@dataclass(frozen=True)
class Plugin:
    """A registered entry point, loaded on first use."""

    #: A key of `GROUPS`.
    kind: str
    #: An `importlib.metadata.EntryPoint`. That module is not imported here because it loads slowly.
    entry_point: Any

    @property
    def distribution(self) -> str:
        """Name and version of the distribution that registered it."""
        found = self.entry_point.dist
        return f"{found.name} {found.version}" if found else "an unknown distribution"

    def load(self, *types: Any) -> Any:
        """Import the registered object, which must be an instance of one of these types."""
        try:
            found = self.entry_point.load()
        except Exception as error:  # the plugin's code may raise anything
            message = f"{self} cannot be loaded: {type(error).__name__}: {error}"
            raise OptionError(message) from error
        if not isinstance(found, types):
            expected = " or ".join(each.__name__ for each in types)
            message = f"{self} must be a {expected}, not {found!r}"
            raise OptionError(message)
        return found

    def __str__(self) -> str:
        return f"{self.kind} {self.entry_point.name!r} of {self.distribution}"


@functools.cache
def registered(kind: str, own_names: tuple[str, ...]) -> dict[str, Plugin]:
    """Return the plugins of one kind by name, without loading them.

    A plugin is ignored with a warning if its name is one of `own_names`, which mstflow uses itself,
    or if another distribution, earlier in alphabetical order, registers the same name.
    """
    owners = dict.fromkeys(own_names, "mstflow")
    found = {}
    for plugin in plugins():
        name = plugin.entry_point.name
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
    from importlib.metadata import entry_points  # slow to import

    points = entry_points()  # one scan of all distributions
    found = [Plugin(kind, point) for kind in GROUPS for point in points.select(group=GROUPS[kind])]
    return sorted(found, key=lambda each: (each.kind, each.distribution, each.entry_point.name))
