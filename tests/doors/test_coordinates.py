"""Coordinate files are read, also by the command line, and malformed ones are refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mstflow import read_coordinates
from mstflow.errors import FileFormatError

PLACES = st.tuples(st.integers(-180_000_000, 180_000_000), st.integers(-90_000_000, 90_000_000))


@given(st.lists(PLACES, max_size=20), st.randoms(), st.sampled_from(["", "c made up\n\n"]))
def test_in_any_order(tmp_path_factory, places, random, comment):
    rows = [f"v {vertex} {x} {y}\n" for vertex, (x, y) in enumerate(places, 1)]
    random.shuffle(rows)
    path = tmp_path_factory.mktemp("co") / "some.co"
    path.write_text(f"{comment}p aux sp co {len(places)}\n{comment}{comment.join(rows)}")
    found = read_coordinates(path)
    assert (found.dtype, found.shape) == (np.float64, (len(places), 2))
    assert found.tolist() == [[x / 10**6, y / 10**6] for x, y in places]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ": empty file"),
        ("c\n", ": holds no 'p' line"),
        ("p sp 2 1\n", ": line 1: expected 'p aux sp co n', found 'p sp 2 1'"),
        ("p aux sp co x\n", ": line 1: 'x' is not a count"),
        ("p aux sp co 2\n", ": line 1: vertex 1 of 2 has no coordinates"),
        ("p aux sp co 2\nv 1 5 5\n", ": line 1: vertex 2 of 2 has no coordinates"),
        ("p aux sp co 1\nc\nv 1 5\n", ": line 3: expected 'v id x y', found 'v 1 5'"),
        ("p aux sp co 1\na 1 5 5\n", ": line 2: expected 'v id x y', found 'a 1 5 5'"),
        ("p aux sp co 1\nv 1 5 5.5\n", ": line 2: expected 'v id x y'"),
        (f"p aux sp co 1\nv 1 5 {10**30}\n", ": line 2: expected 'v id x y'"),
        ("p aux sp co 1\nv 2 5 5\n", ": line 2: vertex id 2 is not in 1 to 1"),
        ("p aux sp co 0\nv 1 5 5\n", ": line 2: vertex id 1, but the graph has no vertices"),
        ("p aux sp co 2\nv 1 5 5\nv 1 5 5\n", ": line 3: vertex 1 already has coordinates"),
    ],
)
def test_malformed_file(tmp_path, text, expected):
    path = tmp_path / "bad.co"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=f"^{re.escape(str(path) + expected)}"):
        read_coordinates(path)
