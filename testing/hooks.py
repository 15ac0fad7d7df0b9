"""The function of this wing that the core calls by name; see `plugins.wing`."""

from .checked import CheckedModule

__all__ = ["CheckedModule"]
