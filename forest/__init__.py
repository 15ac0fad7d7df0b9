"""The answer and what follows from it: clusters, plots, verification, export."""
