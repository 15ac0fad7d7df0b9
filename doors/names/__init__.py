"""Vertices with names, which are strings or any integers: numbered when a graph is read."""
