"""Compiled loops over a range of elements; they release the GIL, so that threads can share arrays.

A kernel that threads share works on ``[start, stop)`` and is called once for each. No two threads
write different values to one place, but in `trees.find_roots`, which says why it may, so there are
no atomics: where results meet, each thread fills a row of its own. Only threads of `kruskal`,
`kruskal_helpers` and `union_find` share what they write. Arrays are unsigned: an index that may be
negative costs a test.

Two habits make them fast. A place that will be read `AHEAD` elements later is fetched now, since
the processor sees only a few iterations ahead by itself. And a selection writes every candidate to
the next free place, which it moves on by 0 or 1: a branch would often be predicted wrongly.
"""
