"""Places of files: paths of this machine, and URLs of anything that fsspec knows."""
