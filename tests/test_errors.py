"""Exceptions: each survives pickling, also by `distributed`, and its text controls no terminal."""

import copy
import pickle
from functools import partial

import pytest

from mstflow import errors
from mstflow.errors import MemoryBoundError
from waiting import PATIENCE

CLASSES = [each for each in vars(errors).values() if isinstance(each, type)]
ERRORS = [each for each in CLASSES if issubclass(each, Exception) and each.__name__[0] != "_"]


def fail(error):
    raise error


def made(kind):
    """Return an error with all that an error may have: attributes, notes and a cause."""
    error = kind("a message", 17, "a purpose") if kind is MemoryBoundError else kind("a message")
    error.detail = "an attribute"
    if issubclass(kind, ImportError):
        error.name, error.path = "numpy", "/a/path"
    return error


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_survives_a_worker(cluster, kind):
    """`distributed` has replaced the way in which all exceptions are pickled."""
    error = made(kind)
    copies = [pickle.loads(pickle.dumps(error)), copy.copy(error)]
    copies.append(cluster.submit(partial(fail, error), pure=False).exception(PATIENCE))
    for each in copies:
        assert type(each) is kind
        assert (str(each), each.args) == ("a message", ("a message",))
        assert vars(each) == vars(error)
    if issubclass(kind, ImportError):
        assert {(each.name, each.path) for each in copies} == {("numpy", "/a/path")}


def test_a_cause_survives_a_worker(cluster):
    error = made(errors.OutOfMemoryError)
    error.__cause__ = MemoryError("a cause")
    raised = cluster.submit(partial(fail, error), pure=False).exception(PATIENCE)
    assert repr(raised.__cause__) == "MemoryError('a cause')"


@pytest.mark.parametrize("kind", ERRORS)
def test_text_has_no_control_characters(kind):
    error = kind("a\x1b]0;title\x07\x9b2J\u202e\ud800é\nb")
    assert str(error) == r"a\x1b]0;title\x07\x9b2J\u202e\ud800é" + "\nb"
