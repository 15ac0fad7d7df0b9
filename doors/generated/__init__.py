"""Generated graphs: any range of edges can be computed without the others."""
