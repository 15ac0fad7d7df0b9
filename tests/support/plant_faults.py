"""Plant the faults of `faults.py` one at a time in a copy of the repository, and run their tests.

    python tests/support/plant_faults.py [WORD ...]

With words, only faults whose title or file contains one of them are planted. The exit status is 1
if the tests of an unplanted copy fail, or a fault is not caught.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from faults import FAULTS

ROOT = Path(__file__).parents[2]
OPTIONS = "-q", "-x", "-p", "no:cacheprovider", "--no-shrink", "--examples", "100"
#: Seconds that tests may take.
LONGEST = 1800
#: The exit codes of pytest for a wrong option and for no tests.
NOTHING_RAN = 4, 5
IGNORED = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info")


def main(words):
    chosen = [each for each in FAULTS if not words or any(word in f"{each}" for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mstflow"
        shutil.copytree(ROOT, copy, ignore=IGNORED)
        for tests, only in dict.fromkeys((fault.tests, fault.only) for fault in chosen):
            if failure := failed(copy, tests.split(), only):
                sys.exit(f"without a fault, these tests fail: {tests} {only}\n{failure}")
        missed = [fault for fault in chosen if not is_caught(copy, fault)]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} faults caught")
    return 1 if missed else 0


def is_caught(copy, fault):
    """Return whether a test fails while the fault is in the copy."""
    path = copy / fault.file
    source = path.read_text()
    path.write_text(planted(source, fault))
    try:
        found = bool(failed(copy, fault.tests.split(), fault.only))
    finally:
        path.write_text(source)
    print(f"{'caught' if found else 'MISSED'}: {fault.file}: {fault.title}", flush=True)
    return found


def planted(source, fault):
    """Return the source with the fault in it."""
    before, found, after = source.partition(fault.old)
    if not found or fault.old in after:
        message = f"{fault.file}: {fault.old!r} must occur once"
        raise ValueError(message)
    return before + fault.new + after


def failed(copy, tests, only=""):
    """Return pytest's output if tests of the copy fail; compiled kernels are kept beside it."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy.parent),
        "XDG_CACHE_HOME": str(copy.parent / "cache"),
    }
    command = [sys.executable, "-m", "pytest", *OPTIONS, "-k", only, *tests]
    options = {"cwd": copy, "env": environment, "capture_output": True, "text": True}
    try:
        run = subprocess.run(command, timeout=LONGEST, **options)
    except subprocess.TimeoutExpired:  # a loop without end
        return f"longer than {LONGEST} seconds"
    if run.returncode in NOTHING_RAN:
        sys.exit(run.stdout + run.stderr)
    return run.stdout[-2000:] or "crashed" if run.returncode else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
