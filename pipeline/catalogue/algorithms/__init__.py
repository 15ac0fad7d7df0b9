"""The algorithms for any graph: a file contains the pipeline of its name."""

import pkgutil

#: The names of the algorithms, from the names of the files.
NAMES = tuple(sorted(file.name.replace("_", "-") for file in pkgutil.iter_modules(__path__)))
