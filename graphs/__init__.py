"""Graphs: in memory, in files, streamed, generated."""
