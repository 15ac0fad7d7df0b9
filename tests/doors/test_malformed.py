"""Malformed files are refused with an error that names the file and the line, array or edge."""

from __future__ import annotations

import gzip
import io
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import mstflow
from graph_files import COMPRESS, save_columns, zipped
from mstflow.doors.formats import format_names
from mstflow.doors.formats.text.row_parser import BLOCK_SIZE
from mstflow.doors.read import read
from mstflow.errors import FileFormatError, MstflowError
from text_readers import READERS, read_txt

P = "p sp 3 2\n"
MTX = "%%MatrixMarket matrix coordinate real general\n"

#: By suffix, the content of a file, and the message after its name.
TEXT = {
    ".csv": [
        ("# nothing\n\n", ": holds no edges"),
        ("", ": empty file"),
        ("u,w\n0,1\n", ": line 1: expected one column each for u and v, or source and target"),
        ("u,v,v\n0,1,1\n", ": line 1: expected one column each"),
        (
            "# c\nu,v,length\n0,1,1\n",
            ": line 2: no column 'weight' for the weights; found u, v, le",
        ),
        ("0,1,2,5\n", ": line 1: 4 columns without a header; choose columns by position"),
        ("u,v,weight\n0,1,5\n1,2\n", ": line 3: expected 3 fields, 'u,v,weight', found 2"),
        ("u,v,weight\n0,,1,5\n", ": line 2: expected 3 fields, 'u,v,weight', found 4"),
        ("u\tv\tweight\n0\t\t1\t5\n", r": line 2: expected 3 fields, 'u\tv\tweight', found 4"),
        ("u,v,weight\n0,1,5\n\n1,2,x\n", ": line 4: 'x' is not a weight"),
        ("name,u,v,weight\nx,0,1,5\n\ny,1,0x2,5\n", ": line 4: '0x2' is not a vertex id"),
        ("name,u,v,weight\nx,0,1,5\ny,1,2\n", ": line 3: expected 4 fields, 'name,u,v,weight', fo"),
        ("name,u,v,weight\nx,0,1,5\ny,,2,5\n", ": line 3: '' is not a vertex id"),
        ("name,u,v,weight\nx,0,1,5\ny,1,2,\n", ": line 3: '' is not a weight"),
        ("name,u,v,weight\nx,0,1,5\ny,1 2,,5\n", ": line 3: '1 2' is not a vertex id"),
        ("weight,u,v\nnan,0,1\n", ": line 2: the weight is NaN"),
        ("u,v,weight\n0,1,\n", ": line 2: '' is not a weight"),
        ('name,u,v,weight\n"a\nb",0,1,5\nc,0,1,x\n', ": line 4: 'x' is not a weight"),
        ("u,v,weight\n0,-1,5\n", ": line 2: vertex id -1 is not in 0 to"),
        ("u,v,weight\n0,1,5\n1,2,5\r2,3,5\n", ": line 3: a carriage return within"),
    ],
    ".gr": [
        ("", ": empty file"),
        ("c nothing\n", ": holds no 'p' line and no arcs"),
        (P + "a 1 2 5\na x 2 5\n", ": line 3: 'x' is not a vertex id"),
        (P + "a 1 2 5\na 1 2 five\n", ": line 3: 'five' is not a weight"),
        ("p sp 3 2\na 1 2 5\na 2 3 5\ra 1 3 5\n", ": line 3: a carriage return within"),
        (P + "a 1 2 5\na 3 4 5\n", ": line 3: vertex id 4 is not in 1 to 3"),
        (P + "\na 0 2 5\n", ": line 3: vertex id 0 is not in 1 to 3"),
        ("p tw 3 1\n0 2\n", ": line 2: vertex id 0 is not in 1 to 3"),
        ("a 0 1 5\na 1 -2 5\n", ": line 2: vertex id -2 is not in 0"),
        ("p sp 0 1\na 1 1 5\n", ": line 2: vertex id 1, but the graph has no vertices"),
        (P + "a 1 2 5\n", ": line 1: the file holds 1 edges, fewer than the 2"),
        (P + "a 1 2 5\n" * 3, ": line 1: the file holds 3 edges, more than the 2"),
        ("c\na 0 1 -NaN\n", ": line 2: the weight is NaN"),
        (P + "a 1 2 5\na 1 2\n", ": line 3: expected 4 fields, 'a u v wei"),
        (P + "a 1 2 5 6\n", ": line 2: expected 4 fields, 'a u v weight', f"),
        (P + "a 1 2 5\na 1", ": line 3: expected 4 fields"),
        (P + "a 1 2 5\ne 1 2 5\n", ": line 3: expected 'a u v weight', found 'e"),
        (P + "aa 1 2 5\n", ": line 2: expected 'a u v weight', found 'aa"),
        (P + "a\n", ": line 2: expected 4 fields"),
        (P + "1 2\n", ": line 2: expected 'a u v weight', found '1 2'"),
        ("p tw 3 1\na 1 2 5\n", ": line 2: expected 2 fields"),
        ("1 2\n", ": line 1: expected 'a u v weight', found '1 2'"),
        ("a 1 2 5\n" + P, ": line 2: expected 'a u v weight', found 'p sp"),
        (P + P + "a 1 2 5\n", ": line 2: expected 'a u v weight', found 'p sp 3"),
        ("c\np sp three 2\n", ": line 2: 'three' is not a count"),
        ("p sp 3 -2\n", ": line 1: '-2' is not a count"),
        ("p sp 3\n", ": line 1: expected 'p sp n m', 'p tw n m' or 'p edge n m', found"),
        ("p max 3 2\n", ": line 1: expected 'p sp n m', 'p tw n m' or 'p edge n m'"),
        (f"p sp {10**20} 2\n", ": line 1: '100000000000000000000' is"),
    ],
    ".graph": [
        ("% c\n", ": holds no line of counts"),
        ("3\n", ": line 1: expected 'n m [format [ncon]]', found '3'"),
        ("2 1 7\n2\n1\n", ": line 1: expected 'n m [format [ncon]]'"),
        ("2 1 001\n2 5\n1\n", ": line 3: expected 0 fields and 2 for each neighbour, found 1"),
        ("2 1 010 2\n5 5 2\n5\n", ": line 3: expected 2 fields and 1 for each neighbour, found 1"),
        ("2 1\n2\n3\n", ": line 3: vertex id 3 is not in 1 to 2"),
        ("2 1\n2\n0\n", ": line 3: vertex id 0 is not in 1 to 2"),
        ("2 1\n2\nx\n", ": line 3: 'x' is not an integer"),
        (f"2 1\n2\n{10**30}\n", ": line 3: '100000000000000000000000' is not an integer"),
        ("2 1\n2\n1\n\n1\n", ": line 5: there are only 2 vertices"),
        (
            "3 2\n2\n1\n",
            ": line 1: states 2 edges, so 4 neighbours, one at each end; the lines list",
        ),
        ("3 2\n2\n1\r3\n2\n", ": line 3: a carriage return within"),
    ],
    ".mtx": [
        ("2 2 1\n1 2 5\n", ": line 1: expected '%%MatrixMarket matrix coordinate"),
        (MTX.replace("coordinate", "array"), ": line 1: expected coordinate, found 'arr"),
        (MTX.replace("real", "complex"), ": line 1: expected pattern or integer"),
        (MTX.replace("general", "hermitian"), ": line 1: expected general or symm"),
        (MTX + "% c\n", ": holds no line of sizes"),
        (MTX + "2 2\n", ": line 2: expected 'rows columns entries', found 2 fields"),
        (MTX + "2 3 1\n1 2 5\n", ": line 2: expected a square matrix, found 2 by 3"),
        (MTX + "2 2 1\n0 1 5\n", ": line 3: vertex id 0 is not in 1 to 2"),
        (MTX + "2 2 1\n1 3 5\n", ": line 3: vertex id 3 is not in 1 to 2"),
        (MTX + "2 2 1\n1 2\n", ": line 3: expected 3 fields"),
        (MTX + "2 2 2\n1 2 5\n", ": line 2: the file holds 1 edges, fewer than the 2"),
        (
            "%%MatrixMarket matrix coordinate real general\r2 2 1\n1 2 5\n",
            ": line 1: a carriage return within",
        ),
    ],
    ".txt": [
        ("", ": empty file"),
        ("# nothing\n\n", ": holds no edges"),
        ("\n \n\t\n", ": holds no edges"),
        ("0 1 5\n1.5 2 5\n", ": line 2: '1.5' is not a vertex id"),
        ("0 1.5 5.5\n", ": line 1: '1.5' is not a vertex id"),
        ("0 1 5\n1 inf 5.5\n", ": line 2: 'inf' is not a vertex id"),
        ("0 1 5\n0x10 2 5\n", ": line 2: '0x10' is not a vertex id"),
        ("0 1 5\n1 2 0x1F\n", ": line 2: '0x1F' is not a weight"),
        ("0 1 5\n1 2 1_000\n", ": line 2: '1_000' is not a weight"),
        ("0 1 5\n1 2 1,000\n", ": line 2: '1,000' is not a weight"),
        ('0 1 5\n1 2 "5"\n', ": line 2: '\"5\"' is not a weight"),
        ("0 1 5\n1 2 +-5\n", ": line 2: '+-5' is not a weight"),
        ("0 1 5\n++1 2 5\n", ": line 2: '++1' is not a vertex id"),
        ("0 1 5\n1 2 NULL\n", ": line 2: 'NULL' is not a weight"),
        ("0 1 5\n1 2 1e\n", ": line 2: '1e' is not a weight"),
        ("0 1 5\n1 2 .\n", ": line 2: '.' is not a weight"),
        ("0 1 5\n1 2 5\0\n", r": line 2: '5\x00' is not a weight"),
        ("0 1 5\n1 \0 2 5\n", ": line 2: expected 3 fields"),
        ("0 1 5\n1 2\v5\n", ": line 2: expected 3 fields"),
        ("0 1 5\n1 2\u00a05\n", ": line 2: expected 3 fields"),
        ("0 1 5\r1 2 3\r" * 2**18, ": line 1: a carriage return within"),
        ("0 1 5\n1 2\r 5\n", ": line 2: a carriage return within"),
        ("0 1 5\r1 2 5\r\n", ": line 1: a carriage return within"),
        ("# c\n0 1 5\n-1 2 5\n", ": line 3: vertex id -1 is not in 0 to"),
        ("0\n1\n0 0 5\n", ": line 3: vertex id 0, but the graph has no vertices"),
        ("3\n2\n0 1 5\n1 3 5\n", ": line 2: states 3 vertices, but ids are"),
        ("0 9223372036854775807\n", ": line 1: vertex id 9223372036854775807"),
        (f"0 1\n0 {10**30}\n", ": line 2: vertex id 1000000000000000000000"),
        (f"0 1\n0 {'9' * 5000}\n", ": line 2: vertex id 999999999999"),
        ("# c\n3\n2\n0 1 5\n", ": line 3: the file holds 1 edges, fewer"),
        ("3 1\n0 1 5\n0 1 6\n", ": line 1: the file holds 2 edges, more"),
        ("3\n2\n", ": line 2: the file holds 0 edges, fewer"),
        ("0 1 .5\n1 2 nan\n", ": line 2: the weight is NaN"),
        ("0 1 .5\n1 2 nan(1)\n", ": line 2: 'nan(1)' is not a weight"),
        ("0 1 .5\n1 2 1e400\n", ": line 2: weight 1e400 is beyond float64"),
        ("0 1 inf\n1 2 -1e400\n", ": line 2: weight -1e400 is beyond"),
        (f"0 1 5\n1 2 {2**64}\n", f": line 2: integer weight {2**64} does not"),
        (f"0 1 5\n1 2 {-(2**63) - 1}\n", ": line 2: integer weight -92233"),
        (f"0 1 {'9' * 5000}\n", ": line 1: integer weight 9999999"),
        (f"0 {'0' * 5000}1 {'0' * 5000}5\n0 1 x\n", ": line 2: 'x' is not a weight"),
        ("0 1 5\n1 2 3 4\n", ": line 2: expected 3 fields, 'u v weight', foun"),
        ("0 1 5\n1 2\n", ": line 2: expected 3 fields, 'u v weight', found 2"),
        ("0 1\n1 2\n1 2 3\n", ": line 3: expected 2 fields, 'u v', found 3"),
        ("0\n1\n2\n", ": line 3: expected 'u v' or 'u v weight', found 1 fields"),
        (
            "0 1 2 3\n",
            ": line 1: expected 'u v' or 'u v weight', found 4 fields; choose columns by position",
        ),
        ("three\n0 1 5\n", ": line 1: 'three' is not a count"),
        ("3.0 2\n0 1 5\n", ": line 1: '3.0' is not a count"),
    ],
}


def refused(path, **options):
    """Return the message of the error that reading raises."""
    with pytest.raises(FileFormatError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert isinstance(caught.value, MstflowError)
    return message


@pytest.mark.parametrize(
    ("suffix", "place"), [(suffix, place) for suffix in TEXT for place in range(len(TEXT[suffix]))]
)
def test_text(tmp_path, suffix, place):
    content, expected = TEXT[suffix][place]
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(content.encode())
    for block_size in (1, 16, BLOCK_SIZE):
        with pytest.raises(FileFormatError, match=f"^{re.escape(str(path) + expected)}"):
            READERS[suffix](path, block_size=block_size)
    assert refused(path).startswith(f"{path}{expected}")


@pytest.mark.parametrize(
    ("weights", "place"),
    [
        (f"0.5 {2**53 + 1}", "line 2"),
        (f"{-(2**53) - 1} 1e0", "line 1"),
        (f"-1 {2**63}", "line 2"),
        (f"{2**64 - 1} 5 -1", "line 1"),
        (f"0.5 {2**63}", "line 2"),
    ],
)
def test_integer_weights_that_would_be_rounded(tmp_path, weights, place):
    path = tmp_path / "bad.txt"
    path.write_text("".join(f"0 1 {weight}\n" for weight in weights.split()))
    assert refused(path).startswith(f"{path}: {place}: integer weight")
    # In blocks of one line no single block is wrong, so the error names the edge.
    with pytest.raises(FileFormatError, match=r"bad\.txt: edge \d: weight .* is not exact as"):
        read_txt(path, block_size=1)


def test_line_that_is_too_long(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"#" * 2**21)
    assert refused(path) == f"{path}: line 1: longer than 1048576 bytes"


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("damage", ["cut", "cut in the header", "flipped", "plain text"])
def test_damaged_compression(tmp_path, suffix, damage):
    rng = np.random.default_rng(0)
    text = "".join(f"{u} {v}\n" for u, v in rng.integers(0, 10**6, (3000, 2))).encode()
    data = COMPRESS[suffix](text)
    middle = len(data) // 2
    path = tmp_path / f"bad.txt{suffix}"
    path.write_bytes(
        {
            "cut": data[:middle],
            "cut in the header": data[:5],
            "flipped": data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :],
            "plain text": text,
        }[damage]
    )
    assert refused(path).startswith(f"{path}: ")


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def of_version(version, archive):
    """Return an archive that states a version of the ZIP format."""
    place = archive.index(b"PK\1\2") + 6
    return archive[:place] + bytes([version]) + archive[place + 1 :]


ONE = np.array([1])
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\0\0\0\2\0"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("bad.txt", gzip.compress(b"0 1\n"), ": line 1: "),
        ("bad.gr", PNG, r": line 1: expected 'a u v weight', found '\x89PNG'"),
        ("bad.gr", npz(u=ONE, v=ONE), ": line 1: expected 'a u v weight', found 'PK"),
        ("bad.txt", "0 1\n1 x\n".encode("utf-16"), ": line 2: 'x' is not a vertex id"),
        ("bad.txt", "0 1 5\n1 2 5\n".encode("utf-16-le"), ": line 1: "),
        ("bad.npz", b"0 1\n1 2\n", ": is not a .npz file"),
        ("bad.npz", b"", ": is not a .npz file"),
        ("bad.npz", gzip.compress(npz(u=ONE, v=ONE)), ": is not a .npz file"),
        ("bad.npz", npz(u=ONE, v=ONE)[:300], ": is not a .npz file"),
        ("bad.npz", b"Q" + npz(u=ONE, v=ONE)[1:], ": is not a .npz file"),
        ("bad.npz", zipped({"u": "0 1", "v": "1 2"}), ": array u: is not in the .npy format"),
        ("bad.npz", zipped({"u.npy": b"\x93NUMPY\1\0v\0{"}), ": array u: "),
        ("bad.npz", of_version(200, npz(u=ONE, v=ONE)), ": zip file version 20.0"),
        ("bad.npz", npz(u=ONE), ": expected arrays u, v and at most one of w, weight; found u"),
        ("bad.npz", npz(u=ONE, v=ONE, weights=ONE), ": expected arrays u, v"),
        ("bad.npz", npz(u=ONE, v=ONE, w=ONE, weight=ONE), ": expected arrays u, v"),
        ("bad.npz", npz(u=ONE, v=np.array([{}])), ": array v: Object arrays cannot be loaded"),
        ("bad.npz", npz(u=ONE, v=ONE * 1.0), ": v must hold integers, not float64"),
        ("bad.npz", npz(u=ONE, v=ONE > 0), ": v must hold integers, not bool"),
        ("bad.npz", npz(u=ONE, v=np.array([[1]])), ": v must be one-dimensional"),
        ("bad.npz", npz(u=ONE, v=np.array([1, 2])), ": columns differ in length"),
        ("bad.npz", npz(u=ONE, v=ONE, w=np.array([1, 2])), ": columns differ in length"),
        ("bad.npz", npz(u=ONE, v=ONE, w=np.array(["5"])), ": weight must be bool, integer or fl"),
        ("bad.npz", npz(u=ONE, v=ONE, w=ONE * np.nan), ": edge 0: the weight is NaN"),
        ("bad.npz", npz(u=ONE, v=-ONE), ": edge 0: v is -1"),
        ("bad.npz", npz(u=ONE, v=ONE, n=1), ": edge 0: joins 1 and 1, but there are 1 vertices"),
        ("bad.npz", npz(u=ONE, v=ONE, n=-1), ": num_vertices must be"),
        ("bad.npz", npz(u=ONE, v=ONE, n=2.0), ": n must be one integer"),
        ("bad.npz", npz(u=ONE, v=ONE, n=ONE), ": n must be one integer"),
        ("bad.npy", b"", ": mstflow does not read files of one array"),
        ("bad", PNG, ": unknown format; give the file a suffix of its format"),
        ("bad", b"once upon a time, there was\n", ": line 1: expected one column each for u and v"),
        ("bad.gz", gzip.compress(b"once\n"), ": unknown format"),
    ],
    # Compressed files contain the time, but all workers must collect the same names.
    ids=lambda value: "file" if isinstance(value, bytes) else None,
)
def test_content_of_another_format(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(content)
    assert refused(path).startswith(f"{path}{expected}")


@pytest.mark.parametrize("damage", [b"(1,    ", b"(1,), 5:", b"(-1,), }"])
def test_damaged_header_of_a_column(tmp_path, damage):
    path = save_columns(tmp_path, ONE, ONE) / "u.npy"
    path.write_bytes(path.read_bytes().replace(b"(1,), }", damage))
    for options in ({}, {"strategy": "fold"}):
        with pytest.raises(FileFormatError, match=r"u\.npy: "):
            mstflow.minimum_spanning_forest(tmp_path, **options)


def test_damaged_npz(tmp_path):
    path = tmp_path / "bad.npz"
    data = bytearray(npz(u=np.arange(1000), v=np.arange(1000)))
    data[1000] ^= 255
    path.write_bytes(data)
    assert refused(path).startswith(f"{path}: Bad CRC-32 for file 'u.npy'")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"v.npy": None}, ": expected arrays u, v and at most one of w, weight; found u"),
        ({"u.npy": None, "v.npy": None}, ": the folder has no columns u.npy and v.npy, and no f"),
        (
            {"weights.npy": ONE},
            ": expected arrays u, v and at most one of w, weight; found u, v, w",
        ),
        ({"w.npy": ONE, "weight.npy": ONE}, ": expected arrays u, v"),
        ({"w.npy": np.array([1, 2])}, ": columns differ in length"),
        ({"w.npy": np.array([np.nan])}, ": edge 0: the weight is NaN"),
        ({"v.npy": np.array([[1]])}, "/v.npy: must be one-dimensional"),
        ({"v.npy": np.array([1.0])}, "/v.npy: must hold integers"),
        ({"v.npy": np.array([{}])}, "/v.npy: must hold integers, not object"),
        ({"v.npy": b""}, "/v.npy: "),
        ({"v.npy": b"1 2 3\n"}, "/v.npy: "),
        ({"v.npy": b"\x93NUMPY\1\0v\0"}, "/v.npy: "),
        ({"n.txt": b"two\n"}, "/n.txt: line 1: expected a number of vertices, found b'two'"),
        ({"n.txt": b""}, "/n.txt: line 1: expected a number of vertices"),
        ({"n.txt": b"-2"}, "/n.txt: line 1: expected a number of vertices"),
        ({"n.txt": b"2\n3\n"}, "/n.txt: line 1: expected a number of vertices"),
        ({"n.txt": b"1\n"}, ": edge 0: joins 1 and 1, but there are 1 vertices"),
    ],
)
def test_folders(tmp_path, changes, expected):
    for name, content in ({"u.npy": ONE, "v.npy": ONE} | changes).items():
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        elif content is not None:
            np.save(tmp_path / name, content)
    assert refused(tmp_path).startswith(f"{tmp_path}{expected}")


def test_truncated_column(tmp_path):
    path = save_columns(tmp_path, *[np.arange(1000)] * 2) / "v.npy"
    path.write_bytes(path.read_bytes()[:-100])
    assert refused(tmp_path).startswith(f"{tmp_path}/v.npy: ")


@pytest.mark.parametrize(
    "name",
    [
        "no.gr",
        "no.gr.gz",
        "no.txt.xz",
        "no.txt.zst",
        "no.npz",
        "no.csv",
        "no.parquet",
        "no.arrow",
        "no/no.txt",
        "no",
    ],
)
def test_missing_files(tmp_path, name):
    assert refused(tmp_path / name) == f"{tmp_path / name}: No such file or directory"


@pytest.mark.parametrize("format_", sorted({*format_names()} - {"npy"}))
def test_folder_instead_of_a_file(tmp_path, format_):
    assert refused(tmp_path, format=format_).startswith(f"{tmp_path}: the folder has no columns")


def test_file_instead_of_a_folder(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text("0 1\n")
    assert refused(path, format="npy") == f"{path}: Not a directory"


NUMBER = rb"(?i:[+-]?([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})(e[+-]?[0-9]{1,2})?|[+-]?inf(inity)?)"
#: Numbers, and what other parsers take for numbers.
LIKE_NUMBERS = [b"+-1", b"0x1f", b"0X1F", b"nan", b"nan(1)", b"-nan", b"1_0", b"1e", b"1.5\r", b""]
TOKENS = (
    st.from_regex(NUMBER, fullmatch=True)
    | st.sampled_from(LIKE_NUMBERS)
    | st.binary(min_size=1, max_size=3).filter(lambda token: not set(token) & set(b" \t\n\r#%"))
)


@given(st.lists(TOKENS, min_size=1, max_size=4), st.sampled_from([b" ", b"\t"]))
def test_weights_are_parsed_like_python_or_refused(tmp_path_factory, tokens, gap):
    path = tmp_path_factory.mktemp("any") / "graph.txt"
    path.write_bytes(b"".join(gap.join((b"0", b"1", token)) + b"\n" for token in [b"7", *tokens]))
    is_number = [bool(re.fullmatch(NUMBER, token.removesuffix(b"\r"))) for token in tokens]
    if not all(is_number):
        with pytest.raises(FileFormatError, match=f": line {is_number.index(False) + 2}: "):
            read_txt(path)
    else:
        expected = [7, *(float(token) for token in tokens)]
        assert read_txt(path).weight.tolist() == expected


@pytest.mark.parametrize("name", ["bad", "bad.parquet"])
@pytest.mark.parametrize("options", [{"strategy": "fold"}, {"memory": "1GB"}, {"partitions": 2}])
def test_streams_name_the_file_and_the_row(tmp_path, name, options):
    def save(name, w):
        """Write a graph of four edges as a folder or a Parquet file of two row groups."""
        u, v = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2])
        if name.endswith(".parquet"):
            table = pa.table({"u": u, "v": v, "weight": w})
            parquet.write_table(table, tmp_path / name, row_group_size=2)
        else:
            save_columns(tmp_path / name, u, v, w)
        return tmp_path / name

    files = [save("good.parquet", np.arange(4.0)), save(name, np.array([0, 1, 2, np.nan]))]
    with pytest.raises(FileFormatError, match=f"/{name}: edge 3: the weight is NaN"):
        mstflow.minimum_spanning_forest(files, **options)
    with pytest.raises(FileFormatError, match=r"good\.parquet: edge 1: joins 1 and 2"):
        mstflow.minimum_spanning_forest(files[0], num_vertices=2, **options)
