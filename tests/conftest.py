"""Options and fixtures that all tests share: number of examples, a cluster, a real graph."""

import os
import signal
import sys
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

import interpreted_gpu
import mstflow
from entry_points import register_checkout
from graph_files import ROADS

#: The marker of tests that use the interpreter of kernels.
ON_GPU = "on_gpu(shows): what a run on a GPU would show as well: 'all', 'results' or 'nothing'"


def pytest_addoption(parser):
    parser.addoption("--examples", type=int, default=25, help="examples per test, 25 by default")
    parser.addoption("--runs", type=int, default=1, help="solves per graph and number of threads")
    parser.addoption("--no-shrink", action="store_true", help="report the first failing example")
    parser.addoption(
        "--interpret-gpu",
        action="store_true",
        help="run the tests of the backend cupy, by an interpreter of its kernels",
    )
    parser.addoption(
        "--no-pool",
        action="store_true",
        help="allocate each array on a GPU on its own, for memory checkers",
    )


def pytest_configure(config):
    # A shell without job control starts background jobs with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", ON_GPU)
    _use_entry_points_of_checkout(config)
    if config.getoption("--interpret-gpu"):
        _use_fake_driver(config)
    if config.getoption("--no-pool"):
        import cupy

        cupy.cuda.set_allocator(None)
    first_only = {"phases": (Phase.explicit, Phase.generate), "database": None}
    settings.register_profile(
        "chosen",
        **(first_only if config.getoption("--no-shrink") else {}),
        max_examples=config.getoption("--examples"),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("chosen")


def _use_entry_points_of_checkout(config):
    """Put the entry points of this checkout on the path, also of processes that tests start."""
    site = tempfile.TemporaryDirectory(prefix="mstflow-site-")
    config.add_cleanup(site.cleanup)
    register_checkout(Path(site.name), mstflow.__version__)
    sys.path.insert(0, site.name)
    paths = [site.name, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def _use_fake_driver(config):
    """Compile the fake driver, except in workers, and load CuPy on it."""
    if reason := interpreted_gpu.why_not():
        message = f"--interpret-gpu is not possible: {reason}"
        raise pytest.UsageError(message)
    folder = tempfile.TemporaryDirectory(prefix="mstflow-gpu-")
    config.add_cleanup(folder.cleanup)
    os.environ[interpreted_gpu.VARIABLE] = str(interpreted_gpu.build(folder.name))
    interpreted_gpu.install()


def pytest_collection_modifyitems(items):
    for item in items:
        if "interpreter" in item.fixturenames and not item.get_closest_marker("on_gpu"):
            message = f"{item.nodeid} uses the interpreter, so it needs the marker on_gpu"
            raise pytest.UsageError(message)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker consecutive tests, which share fixtures; idle workers steal."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None


@pytest.fixture(params=mstflow.algorithms(), scope="session")
def algorithm(request):
    return request.param


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Give each test its own order of threads and streams; report faults that the driver found."""
    if interpreted_gpu.is_in_use():
        interpreted_gpu.start(zlib.crc32(item.name.encode()))
    result = yield
    if interpreted_gpu.is_in_use():
        interpreted_gpu.check()
    return result


@pytest.fixture(scope="session")
def interpreter(request):
    """Return the fake driver's controls; skip if it is not in use."""
    if not request.config.getoption("--interpret-gpu"):
        pytest.skip("there is no GPU: use --interpret-gpu")
    return interpreted_gpu


@pytest.fixture
def examples(request):
    """Return the number of examples for tests that draw examples themselves."""
    return settings().max_examples


@pytest.fixture(scope="session")
def cluster():
    """Start a `distributed` cluster of two worker processes; yield its client.

    It rarely looks at itself: an idle cluster would take a fifth of a processor.
    """
    import dask

    from local_clusters import local_workers

    quiet = {
        "distributed.worker.profile.enabled": False,
        "distributed.worker.memory.monitor-interval": "1s",
        "distributed.admin.system-monitor.interval": "10s",
        "distributed.admin.tick.interval": "1s",
    }
    with dask.config.set(quiet), local_workers(2) as client:
        yield client


@pytest.fixture(scope="session")
def new_york():
    """Read the roads of New York, which the examples include."""
    return mstflow.read(ROADS)
