"""Compiled kernels: loops over a range of elements that release the GIL.

Most kernels process the range ``[start, stop)``, and each thread calls them with its own range.
Each thread writes its partial results to its own row. Two threads never write different values to
the same place, so these kernels need no atomics. The exceptions use atomic operations: kernels that
build trees, and some that reduce or mark values, share one array. `trees.find_roots` explains why
it is correct without them. Arrays are unsigned, because an index that may be negative costs a
comparison.

Two techniques make kernels fast. First, kernels prefetch the elements that they read `AHEAD`
iterations later, because the processor itself looks only a few iterations ahead. Second, a
selection has no branches, because they would often be mispredicted. It writes each candidate to the
next free place, and then advances by 0 or 1.
"""
