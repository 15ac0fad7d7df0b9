"""Families of graphs, generated as a stream."""
