"""The algorithms for the points of `mstflow.points`, a file each."""
