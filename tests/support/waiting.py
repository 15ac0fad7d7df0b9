"""Wait for a condition."""

import time

#: Seconds after which a condition counts as never met. A busy machine takes long for little work.
PATIENCE = 300


def wait_until(condition, describe=lambda: ""):
    """Wait until a function returns something true; fail with a description if it never does."""
    due = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < due, describe()
        time.sleep(0.02)
