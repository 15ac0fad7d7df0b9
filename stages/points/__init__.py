"""Stages of algorithms for points, whose edges are all pairs."""
