"""Parse lines of numbers with compiled loops."""

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
    """Parse whole lines into u, v and weight; return None unless all lines are plain.

    A line begins with the letter `tag`, if given. `places` has the meaning of each field: u (0), v
    (1), the weight (2) or ignored (-1). Fields are separated by `delimiter`, or if it is empty, by
    any number of spaces and tabs. The first of the vertex `ids` becomes 0. Weights are int64. If
    one weight is decimal, all are float64, correctly rounded.

    A line is not plain in these cases: it has another form; an id is not in `ids`; an integer
    weight does not fit in int64, or exceeds 2^53 and another weight is decimal; a weight has more
    than 19 digits or is not a normal float.
    """
    data = np.frombuffer(text, np.uint8)
    columns = np.empty((max(places) + 1, np.count_nonzero(data == ord("\n"))), np.uint64)
    form = np.uint8(ord(tag or b"\0")), np.array(places), np.uint8(ord(delimiter or b"\0"))
    bounds = np.uint64(ids.start), np.uint64(len(ids))
    for dtype in (np.int64, np.float64):  # int64 fails if a weight is decimal
        if kernels.parse(data, *form, *bounds, dtype is np.float64, columns):
            u, v, *weight = columns
            return u.view(np.int64), v.view(np.int64), weight[0].view(dtype) if weight else None
    return None
