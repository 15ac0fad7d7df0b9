"""Plain numbers are parsed as Python parses them; whatever is not plain is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mstflow.graphs.digits import parse_digits

RUN = st.integers(0, 99_999_999).map(str) | st.text("0123456789", min_size=1, max_size=8)


@given(
    st.lists(st.tuples(RUN, RUN, RUN, RUN), min_size=1, max_size=30),
    st.sampled_from([2, 3]),
    st.booleans(),
    st.sampled_from([" ", "\t"]),
    st.sampled_from(["", "a"]),
)
def test_lines_of_one_form(rows, num_fields, is_decimal, gap, tag):
    records = []
    for *fields, fraction in rows:
        record = fields[:num_fields]
        record[-1] += f".{fraction}" * is_decimal
        records.append(record)
    text = "".join(gap.join([tag] * bool(tag) + record) + "\n" for record in records)
    found = parse_digits(text.encode(), num_fields, tag.encode())
    columns = list(zip(*records, strict=True))
    types = [int] * (num_fields - 1) + [float if is_decimal else int]
    expected = [list(map(kind, column)) for kind, column in zip(types, columns, strict=True)]
    if is_decimal and any(int(record[-1].replace(".", "")) >= 2**53 for record in records):
        assert found is None or [column.tolist() for column in found] == expected
    else:
        assert [column.tolist() for column in found] == expected
        assert [column.dtype.kind for column in found] == [
            "f" if k is float else "i" for k in types
        ]


@pytest.mark.parametrize(
    "text",
    [
        b"0 1\n",
        b"0 1 2 3\n",
        b"0 1 5\n0 1\n",
        b"0 1 5\n0 1 5.5\n",
        b"0 1 5.5\n0 1 5\n",
        b"0 1 .5\n",
        b"0 1 5.\n",
        b"0 1 5\n-1 1 5\n",
        b"0 1 5\n0 1 +5\n",
        b"0 1 5\n0 1 1e5\n",
        b"0 1 5\n0 1 0x5\n",
        b"0 1 5\n0 1 inf\n",
        b"0 1 5\n0 1 \xb5\n",
        b"0 1 5\n0 1 :\n",
        b"0 1 5\n0 1 5\0\n",
        b"0 1 5\n0 1 123456789\n",
        b"0 1 0.123456789\n",
        b"0 1 99999999.99999999\n",
        b"0  1 5\n",
        b" 0 1 5\n",
        b"0 1 5 \n",
        b"0 1 5\r\n",
        b"0\t1 5\n0 1\t5\n",
        b"0 1 5\n\n",
        b"\n",
        b"# 1 5\n",
        b"0,1,5\n",
        b"a 0 1 5\n",
    ],
)
def test_lines_that_are_left_alone(text):
    assert parse_digits(text, 3) is None


@pytest.mark.parametrize(
    "text", [b"a 0 1 5\nb 0 1 5\n", b"a 0 1 5\naa 0 1 5\n", b"a 0 1 5\n1 0 1 5\n"]
)
def test_lines_without_their_tag(text):
    assert parse_digits(text, 3, b"a") is None
