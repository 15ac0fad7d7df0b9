"""The stages of all algorithms: functions over arrays, each declared with `stage`."""

from .declare import Stage, stage

__all__ = ["Stage", "stage"]
