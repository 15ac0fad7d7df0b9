"""Fixture `layouts`: each array module, called with read-only arrays in several layouts."""

import pytest

import mstflow
import mstflow.pointsets.primitives.checks  # registers checks
from lender import Lender
from mstflow.primitives import Backend, array_module
from mstflow.runtime.sizes import tuned
from mstflow.testing.checked import CheckedModule


def modules():
    """Return the names of all array modules; with several threads, they share small arrays, too."""
    several = ["numba, 4-threads"] if "numba" in mstflow.backends() else []
    return [*mstflow.backends(), *several]


def pytest_generate_tests(metafunc):
    if "module" in metafunc.fixturenames:
        metafunc.parametrize("module", modules(), indirect=True, scope="session")


@pytest.fixture(scope="session")
def module(request):
    name, _, several = request.param.partition(",")
    if not several:
        with tuned(joined_in_parts=1000):
            yield array_module(Backend(name, wing="pointsets"))
        return
    with tuned(
        smallest_share=3,
        smallest_block=8,
        lowered_together=2,
        longest_run=8,
        run=4,
    ):
        yield type(array_module(Backend(name, wing="pointsets")))(4)


@pytest.fixture(scope="session")
def share(request):
    """Return the divisor of large sizes: the interpreter takes microseconds for each element."""
    return 16 if request.config.getoption("--interpret-gpu") else 1


@pytest.fixture(scope="session")
def layouts(module):
    """Return the module for each layout of its arguments."""
    return {
        "contiguous": Lender(module),
        "strided": Lender(module, step=2),
        "checked": Lender(CheckedModule(module)),
    }


@pytest.fixture(scope="session")
def ops(layouts):
    return layouts["contiguous"]


@pytest.fixture(scope="session")
def checked(layouts):
    return layouts["checked"]
