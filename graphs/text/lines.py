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
    """Parse whole lines, if all of them are plain.

    Parameters
    ----------
    text : bytes
        Ends with a line end.
    tag : bytes
        A letter that stands before the fields, or nothing.
    places : sequence of int
        What each field is: u (0), v (1), the weight (2), or to be passed over (-1).
    delimiter : bytes
        What stands between fields; if nothing, any number of blanks and tabs.
    ids : range
        The vertex ids there are.

    Returns
    -------
    u, v : int64 arrays
        Vertex ids, the first of `ids` as 0.
    weight : int64 or float64 array, or None
        float64 if a weight is decimal: the floats nearest to what is written.

    Nothing at all if a line has another form, an id is not in `ids`, an integer weight is beyond
    int64 or, beside decimal ones, not exact, or a weight has over 19 digits or is not a normal
    float.
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
