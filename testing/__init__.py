"""Checks for authors: of a stage, an algorithm and an array module; and the strict array module."""

from .checks import EVERY_STAGE, check_algorithm, check_stage
from .conformance import check_backend
from .strict import StrictArrays

__all__ = ["EVERY_STAGE", "StrictArrays", "check_algorithm", "check_backend", "check_stage"]
