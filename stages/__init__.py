"""What one step of an algorithm does: plain functions over arrays, declared by `stage`."""

from .declare import Stage, stage

__all__ = ["Stage", "stage"]
