"""Run Python in another process."""

import os
import subprocess
import sys


def run_python(*arguments, path=(), variables=None, **options):
    """Run Python with arguments; return the exit code and the output.

    `path` lists folders from which the process imports first; `variables` are of its environment.
    """
    folders = os.pathsep.join([*map(str, path), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": folders, **(variables or {})}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, **options)
