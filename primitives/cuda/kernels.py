"""The C++ names of all kernels in this folder, with their template arguments."""

from __future__ import annotations

from itertools import product

_INDEX, _KEY = ("u32", "u64"), ("u8", "u16", "u32", "u64")


def _each(name: str, *widths: tuple[str, ...]) -> list[str]:
    """Return the names of a kernel's instances, for all combinations of types."""
    return [f"{name}<{', '.join(types)}>" for types in product(*widths)]


#: The instances of all kernels, by file.
KERNELS = {
    "arrays": (
        *_each("gather", _KEY, _INDEX),
        *_each("gather_or_fill", _KEY, _INDEX),
        *_each("broadcast", _KEY, _INDEX),
        *(name for op in ("min", "max", "add") for name in _each(f"scatter_{op}", _INDEX, _INDEX)),
        *_each("order_key", _KEY),
    ),
    "pairs": (
        *_each("flag_light", _INDEX, _KEY),
        *_each("flag_joining", _INDEX, _INDEX),
        *_each("move_labels", _INDEX, _INDEX),
        *_each("lower_records", _INDEX, _KEY[:3]),
        *_each("lower_positions", _INDEX),
        *_each("follow", _INDEX, _INDEX),
    ),
    "select": (
        "flag",
        "count_tiles",
        *_each("mark", _INDEX),
        "move",
        *_each("list_positions", _INDEX),
    ),
    "trees": (
        *_each("cut_mirrors", _INDEX),
        *_each("find_roots", _INDEX),
        *_each("flag_roots", _INDEX),
        *_each("number_roots", _INDEX),
        *_each("find_first", _INDEX, _INDEX),
        *_each("join_first", _INDEX, _INDEX),
    ),
}
#: The file of each instance.
FILE_OF = {kernel: file for file, kernels in KERNELS.items() for kernel in kernels}
