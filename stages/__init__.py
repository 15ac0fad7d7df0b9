"""The stages of all algorithms: functions over arrays, with the decorator `stage`."""

from .declare import Stage, stage

__all__ = ["Stage", "stage"]
