"""Compiled kernels: loops over a range of elements that release the GIL.

Most kernels process a share of a range, ``[start, stop)``, for one thread. Threads write partial
results to separate rows, and never write different values to the same place. Some kernels share one
array: those that build trees, and some that reduce values. They use atomic operations,
except for `trees.find_roots`, which explains why it needs none. Arrays are unsigned, because an
index that may be negative costs a comparison.

Two techniques make kernels fast. First, kernels prefetch the elements that they read `AHEAD`
iterations later, because the processor itself looks only a few iterations ahead. Second, a
selection has no branches, because the processor would often mispredict them. It writes each
candidate to the next free place, and then advances by 0 or 1.
"""
