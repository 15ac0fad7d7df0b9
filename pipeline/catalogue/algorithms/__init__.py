"""The algorithms: each file holds the pipeline of its name."""

import pkgutil

#: The name of the algorithm in each file.
NAMES = tuple(sorted(file.name.replace("_", "-") for file in pkgutil.iter_modules(__path__)))
