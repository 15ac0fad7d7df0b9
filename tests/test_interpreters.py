"""A subinterpreter is refused on import, because NumPy and Numba would fail later."""

from __future__ import annotations

import importlib
import sys

import pytest

IMPORT = """
try:
    import mstflow
except ImportError as error:
    found = type(error).__name__ + ": " + str(error)
else:
    found = "no error"
with open({!r}, "w") as file:
    file.write(found)
"""


def test_a_subinterpreter_is_refused(tmp_path):
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    interpreters = pytest.importorskip(name)
    created = interpreters.create()
    outcome = tmp_path / "outcome"
    try:
        interpreters.run_string(created, f"import sys; sys.path[:] = {sys.path!r}")
        interpreters.run_string(created, IMPORT.format(str(outcome)))
    finally:
        interpreters.destroy(created)
    expected = "InterpreterError: mstflow does not run in a subinterpreter"
    assert outcome.read_text().startswith(expected)
    assert importlib.import_module("mstflow").__version__  # here, it goes on
