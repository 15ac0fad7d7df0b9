"""Pictures of a pipeline, in words and in SVG: steps downwards, fields across."""
from __future__ import annotations
from typing import Any
def as_text(pipeline: Any) -> str: return ""
def as_svg(pipeline: Any, path: Any) -> str: return ""
