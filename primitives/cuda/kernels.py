"""The C++ names of all kernels, with their template arguments, as the sources declare them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from .compiler import SOURCES

_ANY = ("u8", "u16", "u32", "u64")
#: The types that a template parameter stands for, by its name; for others, u32 and u64.
_TYPES = {"T": _ANY, "Key": _ANY, "ShortKey": _ANY[:3]}
_DECLARATION = re.compile(r"(?:template <(.+)>\n)?__global__ void (\w+)\(")


def kernels_in(folder: Path) -> dict[str, list[str]]:
    """Return the instances of all kernels in a folder, by file."""
    return {path.stem: [*_instances(path.read_text())] for path in sorted(folder.glob("*.cu"))}


def _instances(source: str) -> Iterator[str]:
    for parameters, kernel in _DECLARATION.findall(source):
        names = re.findall(r"class (\w+)", parameters)
        for types in product(*(_TYPES.get(name, _ANY[2:]) for name in names)):
            yield f"{kernel}<{', '.join(types)}>" if types else kernel


KERNELS = kernels_in(SOURCES)
#: The file of each instance.
FILE_OF = {kernel: file for file, kernels in KERNELS.items() for kernel in kernels}
