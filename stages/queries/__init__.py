"""The stages of queries about a finished forest: its hierarchy of clusters, and its paths."""
