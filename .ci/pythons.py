"""Print the folders of the oldest and the newest Python of this machine that mstflow supports.

They are those of pyenv and the Python that runs this; without pyenv, only the latter.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
least = tuple(map(int, project["requires-python"].removeprefix(">=").split(".")))
found = {sys.version_info[:2]: Path(sys.executable).parent}
if pyenv := shutil.which("pyenv"):
    root = subprocess.run([pyenv, "root"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for folder in Path(root.strip(), "versions").iterdir():
        if release := re.fullmatch(r"(\d+)\.(\d+)\.\d+", folder.name):  # no environments or drafts
            found.setdefault((int(release[1]), int(release[2])), folder / "bin")
supported = sorted(version for version in found if version >= least)
for version in dict.fromkeys([supported[0], supported[-1]]):
    print(found[version])
