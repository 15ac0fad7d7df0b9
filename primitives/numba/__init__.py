"""Compiled kernels: loops over a range of elements that release the GIL.

Most kernels process the range ``[start, stop)``, and each thread calls them with its own range. Two
threads do not write different values to the same place, so these kernels need no atomics: each
thread writes its partial results to a row of its own. The exceptions are `trees.find_roots`, which
explains why it is correct, and the modules `kruskal`, `kruskal_helpers` and `union_find`, whose
threads share data. Arrays are unsigned, because a possibly negative index costs a comparison.

Two techniques make kernels fast. They prefetch what they will read `AHEAD` iterations later, since
the processor looks only a few iterations ahead. And a selection has no branches, which would often
be mispredicted: it writes each candidate to the next free place, and then advances by 0 or 1.
"""
