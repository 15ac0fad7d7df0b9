"""Malformed files of every format, and small files that state or expand to a huge size."""

from __future__ import annotations

import functools
import io
import json
import random
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from soak import inputs
from soak.case import Case, WrongError, check_ending
from soak.graphs import random_graph

#: Bytes of memory that a command may take for a small file, and for each vertex that it has.
LIMIT, VERTEX = 300_000_000, 64
#: The bound on memory that a command is given for a file that may be large once it is read.
BOUND = 500_000_000
#: A process that has loaded the package, and runs each command in a fork of itself.
FORKS = """
import json, os, resource, sys
import PIL.Image, pyarrow.csv, pyarrow.parquet
import mstflow.commands.solve
from mstflow.__main__ import main
resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000))
for line in sys.stdin:
    arguments, folder = json.loads(line)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 61))  # SIGXCPU after a minute
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        code = 1
        try:
            sys.argv[1:] = arguments
            code = main()
        except SystemExit as error:
            code = error.code
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status, usage = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024]), flush=True)
"""


def run(case: Case) -> None:
    """Solve a small file with random changes."""
    rng = case.rng
    graph = random_graph(rng)
    name = rng.choice(list(inputs.FILES))
    given = inputs.FILES[name](graph, rng, case.folder).given
    files = sorted(path for path in case.folder.rglob("*") if path.is_file())
    if not files:  # a text format of no edges
        return
    paths = given if isinstance(given, list) else [given]
    for path in rng.choices(files, k=rng.choice([1, 1, 1, 2])):
        data = path.read_bytes()
        mutations = [rng.choice(MUTATIONS) for _ in range(rng.choice([1, 1, 2, 5]))]
        for mutate in mutations:
            data = mutate(data, rng)
        path.write_bytes(data)
        case.choices[path.name] = [mutate.__name__.strip("_") for mutate in mutations]
    case.choices["content"] = repr(data[:300])
    arguments = ["solve", *map(str, paths)]
    arguments += rng.choice([[], ["--strategy", "two-scan"], ["--memory", str(BOUND)]])
    _check(case, arguments, name, BOUND if "--memory" in arguments else LIMIT)


def bomb(case: Case) -> None:
    """Solve a small file that states a large size, or expands to one."""
    rng = case.rng
    name = rng.choice(list(_BOMBS))
    path = case.folder / f"graph{name.partition(' ')[0]}"
    _BOMBS[name](path, rng)
    claims = "claim" in name  # it holds nothing, so nothing is to be taken
    arguments = ["solve", str(path), *([] if claims else ["--memory", str(BOUND)])]
    _check(case, arguments, name, LIMIT if claims else BOUND)


def _check(case: Case, arguments: list[str], name: str, limit: int) -> None:
    case.choices["arguments"] = arguments
    code, peak = _run([*arguments, "--quiet", "--json"], case.folder)
    message = (case.folder / "stderr").read_text(errors="replace")
    case.choices["message"] = message[:300]
    case.counts[f"{name}: {'read' if code == 0 else 'refused'}"] += 1
    check_ending(code, message)
    if code == 0:
        limit += VERTEX * json.loads((case.folder / "stdout").read_text())["vertices"]
    if code == 2 and "Unable to allocate" in message:  # for its large ids
        case.counts["refused for want of memory"] += 1
        return
    if peak > limit:
        wrong = f"took {peak / 1e6:.0f} MB, more than {limit / 1e6:.0f}; said {message[-300:]!r}"
        raise WrongError(wrong)
    if code == 2 and "--memory" not in message and str(case.folder) not in message:
        wrong = f"the error names no file: {message!r}"
        raise WrongError(wrong)


def _run(arguments: list[str], folder: Path) -> tuple[int, int]:
    """Return the exit code of a command and its peak memory in bytes."""
    process = _forks()
    if process.poll() is not None:
        _forks.cache_clear()
        process = _forks()
    print(json.dumps([arguments, str(folder)]), file=process.stdin, flush=True)
    code, peak = json.loads(process.stdout.readline())
    return code, peak


@functools.cache
def _forks() -> Any:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", FORKS], stdin=pipe, stdout=pipe, text=True)


# Mutations: functions of some bytes.

_TOKENS = [
    b"-1", b"0", b"nan", b"1e400", b"99999999999999999999", b"4294967296", b"0x10", b"1_0",
    b"\0", b"\n", b"\r\n", b" ", b",", b"%", b"#", b"\xff\xfe", b'"', b"p sp 9 9", b"1e",
]  # fmt: skip


def _flip(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def _flip_early(data: bytes, rng: random.Random) -> bytes:
    return _flip(data[:128], rng) + data[128:]


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _cut(data: bytes, rng: random.Random) -> bytes:
    start, stop = sorted(rng.choices(range(len(data) + 1), k=2))
    return data[:start] + data[stop:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start, stop = sorted(rng.choices(range(len(data) + 1), k=2))
    return data[:stop] + data[start:stop] + data[stop:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(_TOKENS) + data[place:]


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    place, token = rng.randrange(len(data) + 1), rng.choice(_TOKENS)
    return data[:place] + token + data[place + len(token) :]


def _replace_number(data: bytes, rng: random.Random) -> bytes:
    """Replace a number in a text file, or any word in another file."""
    words = data.split(b" ")
    words[rng.randrange(len(words))] = rng.choice([*_TOKENS, str(rng.getrandbits(70)).encode()])
    return b" ".join(words)


def _large_word(data: bytes, rng: random.Random) -> bytes:
    """Overwrite four or eight bytes by those of a large or negative integer."""
    size = rng.choice([4, 8])
    place, value = rng.randrange(len(data) + 1), rng.choice([2**31 - 1, 2**63 - 1, -1])
    return data[:place] + (value % 2 ** (8 * size)).to_bytes(size, "little") + data[place + size :]


def _swap_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


MUTATIONS = [
    _flip, _flip_early, _truncate, _cut, _repeat, _insert, _overwrite, _replace_number,
    _large_word, _swap_lines,
]  # fmt: skip


# Bombs: functions that write a file of at most about a megabyte.

_LARGE = 100_000_000


def _compressed(line: bytes, suffix: str) -> Callable[[Path, random.Random], None]:
    """Return a function that writes up to a hundred megabytes of one line, compressed."""

    def write(path: Path, rng: random.Random) -> None:
        head = {".gr": b"p sp 9 %d\n", ".mtx": _MTX + b"9 9 %d\n", ".graph": b"9 %d\n"}
        start = head.get(suffix, b"")
        count = rng.choice([1, _LARGE // 10**6 // len(line)])  # of millions
        start = start % (count * 10**6) if start else b""
        path.write_bytes(_many(start, line * 10**6, count, path.suffix))

    return write


@functools.lru_cache(8)
def _many(head: bytes, block: bytes, count: int, suffix: str) -> bytes:
    """Return a head and a number of blocks, compressed without holding all of them."""
    import bz2
    import lzma

    if suffix == ".zst":
        import pyarrow

        sink = pyarrow.BufferOutputStream()
        with pyarrow.CompressedOutputStream(sink, "zstd") as file:
            for data in (head, *[block] * count):
                file.write(data)
        return sink.getvalue().to_pybytes()
    make = {".gz": lambda: zlib.compressobj(1, wbits=31), ".bz2": bz2.BZ2Compressor,
            ".xz": lambda: lzma.LZMACompressor(preset=0)}[suffix]()  # fmt: skip
    return b"".join([*(make.compress(data) for data in (head, *[block] * count)), make.flush()])


_MTX = b"%%MatrixMarket matrix coordinate pattern general\n"


def _claim(*contents: bytes) -> Callable[[Path, random.Random], None]:
    return lambda path, rng: path.write_bytes(rng.choice(contents))


def _npy_header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    header = {"descr": "<i8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def _claim_npz(path: Path, rng: random.Random) -> None:
    """Write arrays whose headers state a wrong length."""
    count = rng.choice([10**8, 10**10, 2**62, 2**80])
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("u.npy", "v.npy"):
            archive.writestr(name, _npy_header((count,)))


def _claim_npy(path: Path, rng: random.Random) -> None:
    count = rng.choice([10**8, 10**10, 2**62, 2**80])
    path.mkdir()
    for name in ("u.npy", "v.npy"):
        (path / name).write_bytes(_npy_header((count,)) + b"\0" * 64)


def _zeros_npz(path: Path, rng: random.Random) -> None:
    """Write arrays of zeros, which compress to a thousandth of their size."""
    count = rng.choice([10**6, 2 * 10**7])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("u.npy", "v.npy"):
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(_npy_header((count,)))
                for _ in range(count // 10**6):
                    file.write(b"\0" * 8 * 10**6)


def _claim_png(path: Path, rng: random.Random) -> None:
    """Write an image whose header states a wrong size."""
    wide, high = rng.choice([(30_000, 30_000), (13_000, 13_000), (2**31 - 1, 2**31 - 1)])
    header = wide.to_bytes(4, "big") + high.to_bytes(4, "big") + b"\x08\0\0\0\0"
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n"
    for name, content in chunks:
        checksum = zlib.crc32(name + content).to_bytes(4, "big")
        data += len(content).to_bytes(4, "big") + name + content + checksum
    path.write_bytes(data)


def _zeros_parquet(path: Path, rng: random.Random) -> None:
    import pyarrow
    from pyarrow import parquet

    zeros = np.zeros(rng.choice([10**6, 2 * 10**7]), np.int64)
    table = pyarrow.table({"u": zeros, "v": zeros})
    parquet.write_table(table, path, compression=rng.choice(["zstd", "snappy"]))


_BOMBS = {
    **{f".txt{tail} of edges": _compressed(b"0 1\n", ".txt") for tail in inputs.COMPRESSORS},
    ".txt.gz of blanks": _compressed(b"    ", ".txt"),
    ".txt.xz of digits": _compressed(b"1111", ".txt"),
    ".txt.zst of comments": _compressed(b"# c\n", ".txt"),
    ".csv.gz of edges": _compressed(b"0,1\n", ".csv"),
    ".csv.gz of quotes": _compressed(b'"aa"', ".csv"),
    ".gr.gz of arcs": _compressed(b"a 1 2 3\n", ".gr"),
    ".mtx.gz of entries": _compressed(b"1 2\n", ".mtx"),
    ".graph.gz of lines": _compressed(b"1 2\n", ".graph"),
    ".graph.gz of one line": _compressed(b"1 2 ", ".graph"),
    ".npz of zeros": _zeros_npz,
    ".parquet of zeros": _zeros_parquet,
    ".gr claim": _claim(b"p sp 3 99999999999\na 1 2 3\n", b"p tw 3 1000000000\n1 2\n"),
    ".txt claim": _claim(b"3\n99999999999\n0 1 3\n", b"3 1000000000\n0 1 3\n"),
    ".mtx claim": _claim(_MTX + b"3 3 99999999999\n1 2\n", _MTX + b"3 3 1000000000\n1 2\n"),
    ".graph claim": _claim(b"3 99999999999\n2\n1\n\n", b"99999999999 1\n2\n1\n"),
    ".npz claim": _claim_npz,
    " claim of a folder": _claim_npy,
    ".png claim": _claim_png,
}
