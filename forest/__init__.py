"""Forests, the results of runs: clusters, plots, verification, export."""
