"""The searches for points on a GPU."""
