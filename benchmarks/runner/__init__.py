"""Comparison of codes on graphs, in fresh processes and in turn."""
