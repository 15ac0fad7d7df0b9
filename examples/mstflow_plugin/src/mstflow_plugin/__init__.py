"""An example of what a distribution can add to mstflow; see its `pyproject.toml`."""
