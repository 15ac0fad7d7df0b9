"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

#: Extras that the tests install. CuPy's are for machines with a GPU, others hold tools.
EXTRAS = "cpu", "io", "networkx", "plot", "sklearn", "test"

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for wanted in [*project["dependencies"], *(each for name in EXTRAS for each in extras[name])]:
    if found := re.match(r"([\w-]+)>=([\d.]+)", wanted):
        print("==".join(found.groups()))
