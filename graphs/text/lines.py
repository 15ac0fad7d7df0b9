"""Lines of numbers to columns in one pass, by compiled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...runtime.native import Kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..edge_list import Columns

kernels = Kernels(f"{__package__}.line_kernels")


def parse_lines(
    text: bytes, tag: bytes, places: Sequence[int], delimiter: bytes, ids: range
) -> Columns | None:
    """Parse whole lines into u, v and weight, if all of them are plain; else return None.

    A line has the letter `tag`, if there is one, then fields of which `places` says what each is:
    u (0), v (1), the weight (2) or to be skipped (-1). Between them stands the `delimiter` or, if
    that is empty, any number of blanks and tabs. The first of the vertex `ids` becomes 0. Weights
    are int64, or float64 if one is decimal: the floats nearest to what is written.

    A line of another form is not plain; nor is an id that is not in `ids`, an integer weight
    beyond int64 or, beside decimal ones, not exact, or a weight of more than 19 digits or that is
    not a normal float.
    """
    data = np.frombuffer(text, np.uint8)
    columns = np.empty((max(places) + 1, np.count_nonzero(data == ord("\n"))), np.uint64)
    form = np.uint8(ord(tag or b"\0")), np.array(places), np.uint8(ord(delimiter or b"\0"))
    bounds = np.uint64(ids.start), np.uint64(len(ids))
    for dtype in (np.int64, np.float64):  # what is plain only as the second is decimal
        if kernels.parse(data, *form, *bounds, dtype is np.float64, columns):
            u, v, *weight = columns
            return u.view(np.int64), v.view(np.int64), weight[0].view(dtype) if weight else None
    return None
