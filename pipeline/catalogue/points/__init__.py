"""The algorithms for the points of `mstflow.points`, one file each."""
