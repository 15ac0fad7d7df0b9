"""An example of a package that extends mstflow; see its `pyproject.toml`."""
