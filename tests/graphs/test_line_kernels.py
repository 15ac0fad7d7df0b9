"""The compiled parser agrees with the others, and rounds decimals correctly."""

from __future__ import annotations

import os
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mstflow.errors import FileFormatError
from mstflow.graphs.text import columns
from mstflow.graphs.text.columns import BLOCK_SIZE, parse_lines
from mstflow.runtime.native import Kernels
from text_readers import read_csv, read_gr, read_mtx, read_txt

pytest.importorskip("numba")

ANY_IDS = range(2**63 - 1)


def parse(text, tag=b"", places=(0, 1, 2), delimiter=b"", ids=ANY_IDS):
    found = parse_lines(text, tag, places, delimiter, ids)
    return found and [None if column is None else column.tolist() for column in found]


def parse_weight(written):
    """Parse one decimal weight; return None if it is not plain."""
    found = parse(f"0 1 .5\n1 2 {written}\n".encode())
    return found and found[2][1]


@st.composite
def decimals(draw):
    """Draw a decimal of up to 19 digits, with leading zeros, a point and an exponent."""
    digits = str(draw(st.integers(0, 10 ** draw(st.integers(1, 19)) - 1)))
    digits = "0" * draw(st.integers(0, 3)) + digits
    point = draw(st.integers(0, len(digits)))
    exponent = draw(st.just("") | st.integers(-330, 320).map("e{}".format) | st.just("E+7"))
    return f"{draw(st.sampled_from(['', '-']))}{digits[:point]}.{digits[point:]}{exponent}"


def midpoints():
    """Draw a decimal halfway between two floats, if 19 digits suffice."""
    odd = st.integers(2**52, 2**53 - 1).map(lambda mantissa: 2 * mantissa + 1)
    integers = st.builds(lambda value, shift: f"{value << shift}.", odd, st.integers(0, 9))
    halves = odd.map(lambda value: f"{value * 5}e-1")
    return st.one_of(integers, halves, odd.map(lambda value: f"{value * 25}e-2"))


@given(decimals() | midpoints() | st.floats(allow_nan=False, allow_infinity=False).map(repr))
@example("1.7976931348623157e308")
@example("2.2250738585072014e-308")
@example("2.2250738585072011e-308")
@example("5e-324")
@example("9007199254740993.0")
@example("-0.0")
@example("0.0000000000000000000000001")
@settings(deadline=None)
def test_decimals_are_rounded_correctly(written):
    expected, found = float(written), parse_weight(written)
    digits = written.lower().partition("e")[0].replace(".", "").lstrip("-0")
    if 2**-1022 <= abs(expected) < 2**1023 and len(digits) <= 19:
        assert found is not None
    if found is not None:
        assert struct.pack("d", found) == struct.pack("d", expected)


def test_powers_of_ten():
    for exponent in range(-307, 308):
        assert parse_weight(f"1e{exponent}") == float(f"1e{exponent}")


@given(st.integers(-(2**64), 2**64))
def test_integers_are_exact(weight):
    found = parse(f"0 1 7\n1 2 {weight}\n".encode())
    assert found == ([[0, 1], [1, 2], [7, weight]] if abs(weight) < 2**63 else None)
    found = parse(f"0 1 .5\n1 2 {weight}\n".encode())
    assert found == ([[0, 1], [1, 2], [0.5, weight]] if abs(weight) <= 2**53 else None)


@pytest.mark.parametrize(
    "line",
    [
        b"0 1 5\n\n",
        b"# 1 5\n",
        b"0 1\n",
        b"0 1 \n",
        b"0 1 2 3\n",
        b"0 -1 2\n",
        b"0 +1 2\n",
        b"0 1.0 2\n",
        b"0 1 +2\n",
        b"0 1 -\n",
        b"0 1 .\n",
        b"0 1 -.\n",
        b"0 1 1e\n",
        b"0 1 1e+\n",
        b"0 1 e5\n",
        b"0 1 1e99999\n",
        b"0 1 1.5.5\n",
        b"0 1 0x5\n",
        b"0 1 inf\n",
        b"0 1 nan\n",
        b"0 1 5:\n",
        b"0 1 5\0\n",
        b"0 1 5\r\r\n",
        b"0\v1 5\n",
        b"0,1,5\n",
        b"a 0 1 5\n",
        b"0 9223372036854775807 5\n",
        b"0 10000000000000000000 5\n",
        b"0 1 12345678901234567890.5\n",
        b"0\x001 5\n",
        b"0 1\x005\n",
    ],
)
def test_lines_that_are_not_plain(line):
    assert parse(b"0 1 5\n" + line) is None
    assert parse(line + b"0 1 5\n") is None


def test_separators():
    edges = [[0, 7], [1, 8], [5, -9]]
    assert parse(b"0 1 5\n7 8 -9\n") == edges
    assert parse(b" 0\t 1  5 \r\n7 8\t-9\n") == edges
    assert parse(b"a 0 1 5\na\t7 8 -9\n", tag=b"a") == edges
    assert parse(b"0,1,5\r\n7,8,-9\n", delimiter=b",") == edges
    for line in (b"0,,1,5\n", b"0, 1,5\n", b"0,1,5,\n", b",0,1,5\n", b"0,1\n", b"0 1 5\n"):
        assert parse(line, delimiter=b",") is None
    for line in (b"b 0 1 5\n", b"aa 0 1 5\n", b"a0 1 5\n", b"0 1 5\n", b"a\n", b"\n", b" 0 1 5\n"):
        assert parse(line, tag=b"a") is None


def test_skipped_fields():
    places = (1, -1, 0, -1)
    edges = [[0, 7], [1, 8], None]
    assert parse(b'1,x,0,"a, b"\n8,,7,\n', places=places, delimiter=b",") == edges
    for line in (b'1,"x,0,y\n', b'1,x"y,0,z\n', b'1,"x""y",0,z\n', b'1,"x"y,0,z\n', b"1,x\r,0,z\n"):
        assert parse(line, places=places, delimiter=b",") is None


def test_range_of_ids():
    assert parse(b"1 3\n", places=(0, 1), ids=range(1, 4)) == [[0], [2], None]
    assert parse(b"0 3\n", places=(0, 1), ids=range(1, 4)) is None
    assert parse(b"1 4\n", places=(0, 1), ids=range(1, 4)) is None
    assert parse(b"1 1\n", places=(0, 1), ids=range(1, 1)) is None


def outcome(reader, path, block_size):
    """Return the graph, or the error, of a reader."""
    try:
        graph = reader(path, block_size=block_size)
    except FileFormatError as error:
        return str(error)
    # As text, -0.0 is not 0.0.
    return graph.num_vertices, [str((a.dtype, a.tolist())) for a in graph.take(slice(None))]


#: For each reader the start of a file of four vertices, and how its lines are written.
FILES = {
    read_txt: ("4\n", "{} {} {}"),
    read_gr: ("p sp 4 3\n", "a {} {} {}"),
    read_mtx: ("%%MatrixMarket matrix coordinate real general\n4 4 3\n", "{} {} {}"),
    read_csv: ("source,target,weight\n", "{},{},{}"),
}
IDS = st.integers(0, 4).map(str)
WEIGHTS = st.one_of(
    st.integers(-9, 9).map(str),
    st.sampled_from(["-0", "007", f"{2**53 + 1}", f"{2**63}", f"{-(2**63)}", f"{2**64}"]),
    decimals(),
    st.sampled_from(["", "+1", "1e", "nan", "-Inf", "0x1", "1 ", "1\r", "1\n#x", "\n", "1\n\n"]),
)


@pytest.mark.parametrize(("size", "is_compiled"), [(10**5, False), (10**8, True)])
def test_large_files_are_compiled(tmp_path, monkeypatch, size, is_compiled):
    monkeypatch.setattr(columns, "kernels", Kernels("anything"))
    path = tmp_path / "graph"
    path.touch()
    os.truncate(path, size)
    assert bool(columns._compiled(path, columns.Row(b""))) == is_compiled


@given(
    st.sampled_from(sorted(FILES, key=lambda reader: reader.__name__)),
    st.lists(st.tuples(IDS, IDS, WEIGHTS), min_size=1, max_size=5),
    st.sampled_from([1, 20, BLOCK_SIZE]),
)
@settings(deadline=None)
def test_parsers_agree(tmp_path_factory, reader, rows, block_size):
    start, form = FILES[reader]
    path = tmp_path_factory.mktemp("any") / "graph"
    path.write_bytes((start + "".join(form.format(*row) + "\n" for row in rows)).encode())
    found = []
    for is_compiled in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Kernels, "pay_for", lambda *_, choice=is_compiled: choice)
            found.append(outcome(reader, path, block_size))
    assert found[0] == found[1]
