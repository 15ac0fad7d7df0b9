"""Compiled loops over a range of elements; they release the GIL, so that threads can share arrays.

A kernel works on ``[start, stop)`` and is called once for each thread. No two threads write to one
place, but in `trees.find_roots`, which says why it may, so there are no atomics: where results
meet, each thread fills a row of its own. Only `kruskal` and `union_find` share what they write.
Arrays are unsigned: an index that may be negative costs a test.

Two habits make them fast. A place that will be read `AHEAD` elements later is fetched now, since
the processor sees only a few iterations ahead by itself. And what may be kept of a selection is
written always, and kept by moving on: a branch for each would often be predicted wrongly.
"""
