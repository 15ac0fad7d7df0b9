"""Records of measurements: write them, and check whether the measured code has changed.

A record is a file `results/MACHINE/NAME.json`. It names the commit, the machine and the versions,
and has a fingerprint of each measured file or folder. It is current while these fingerprints equal
those of the working tree.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import mstflow
from mstflow.errors import OptionError

from . import machine

Record = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path("benchmarks", "results")
SOURCES = (".py", ".cu", ".cuh")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def make(
    name: str,
    options: Mapping[str, Any],
    measured: Iterable[str],
    result: Mapping[str, Any],
    others: float,
    programs: Mapping[str, str] | None = None,
    commit: str = "",
    root: Path = ROOT,
) -> Record:
    """Return a record of the raw figures `result` of a benchmark.

    `measured` are files and folders, without subfolders, of the measured code. `others` is the
    number of processors that other programs used at the same time. `programs` has versions of
    external programs. `commit` is needed only without a git repository.
    """
    paths = list(measured)
    check_import(paths, root)
    return {
        "benchmark": name,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit or _git(root, "rev-parse", "HEAD"),
        "dirty": not commit and bool(_git(root, "status", "--porcelain", "--", *paths)),
        "measured": {path: fingerprint(path, root) for path in paths},
        "machine": machine.about(),
        "versions": {**machine.versions(), **(programs or {})},
        "others": others,
        "options": options,
        "result": result,
    }


def write(record: Record, folder: Path) -> Path:
    """Write a record to the folder of a machine, atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['benchmark']}.json"
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    return draft.replace(path)


def read(path: Path) -> Record:
    """Read a record."""
    return dict(json.loads(path.read_text()))


def reasons(record: Record, options: Mapping[str, Any] | None, root: Path) -> Iterator[str]:
    """Yield the reasons why a record is stale; a current record has none.

    `options` are those that the benchmark has now; None accepts any.
    """
    if not record["commit"]:
        yield "it names no commit"
    if record["dirty"]:
        yield "the measured code was not committed"
    for path, expected in record["measured"].items():
        if fingerprint(path, root) != expected:
            yield f"{path} has changed"
    if options is not None and json.loads(json.dumps(options)) != record["options"]:
        yield "the options of the benchmark have changed"


def fingerprint(path: str, root: Path) -> str:
    """Return a digest of the code in a file or a folder, without comments and docstrings.

    Subfolders are not included.
    """
    place = root / path
    files = [place] if place.is_file() else sorted(place.glob("*")) if place.is_dir() else []
    digest = hashlib.blake2b(digest_size=8)
    for file in files:
        if file.suffix in SOURCES:
            digest.update(f"{file.name}\n{_code(file)}\n".encode())
    return digest.hexdigest()


def check_import(paths: Iterable[str], root: Path = ROOT) -> None:
    """Check that the imported mstflow is the one in this working tree."""
    imported = Path(mstflow.__file__).resolve().parent
    if imported != root and any(fingerprint(p, imported) != fingerprint(p, root) for p in paths):
        message = f"mstflow is imported from {imported}, whose code differs: pip install -e ."
        raise OptionError(message)


def _code(file: Path) -> str:
    """Return the code of a file, without comments, docstrings and layout."""
    text = file.read_text()
    if file.suffix == ".py":
        return _shape(ast.parse(text))
    return " ".join(_COMMENTS.sub(" ", text).split())


def _shape(node: Any) -> str:
    """Write a syntax tree without empty fields, which differ between versions of Python."""
    if isinstance(node, list):
        return "[" + ",".join(map(_shape, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        fields["body"] = node.body[ast.get_docstring(node) is not None :]
    kept = (f"{name}={_shape(value)}" for name, value in fields.items() if value not in (None, []))
    return f"{type(node).__name__}({','.join(kept)})"


def _git(root: Path, *arguments: str) -> str:
    """Return the output of git, or an empty string outside a repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
