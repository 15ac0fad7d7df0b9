"""Pictures of reports, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import OptionError


def plot_report(
    rounds: Sequence[Any], seconds: Mapping[str, float], ax: Sequence[Any] | None
) -> Any:
    """Draw a report; see `Report.plot`."""
    plt = pyplot()
    from matplotlib.ticker import MaxNLocator

    if ax is None:
        height = max(3.0, 0.8 + 0.22 * len(seconds))
        _, ax = plt.subplots(1, 2, figsize=(10, height), layout="constrained")
    elif np.shape(ax) != (2,):
        raise OptionError("ax must be a pair of Axes, for the rounds and the stages")
    left, right = axes = np.asarray(ax)
    numbers = [row.number for row in rounds]
    for name in ("vertices", "edges"):
        counts = [getattr(row, name) for row in rounds]
        left.plot(numbers, np.array(counts, np.float64), "o-", label=name)  # None becomes a gap
    left.set_yscale("symlog", linthresh=1)  # a scale that shows 0
    left.set(ylim=(0, None), xlabel="round", ylabel="count")
    left.legend()
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    bars = right.barh(list(seconds), 1e3 * np.array(list(seconds.values())))
    right.bar_label(bars, fmt="{:,.1f}", padding=3)
    right.margins(x=0.15)
    right.invert_yaxis()  # in the order of the run
    right.set_xlabel("ms")
    return axes


def pyplot() -> Any:
    """Return matplotlib's pyplot."""
    try:
        import matplotlib.pyplot
    except ModuleNotFoundError as error:
        raise OptionError("plots need the package matplotlib; install mstflow[plot]") from error
    return matplotlib.pyplot
