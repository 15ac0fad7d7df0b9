"""Vertices that are known by names: columns of strings or of any integers, numbered on reading."""
