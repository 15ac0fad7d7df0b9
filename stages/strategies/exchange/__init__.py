"""Stages of the strategy "exchange": the vertices are divided among ranks, which exchange labels.

A rank is a partition. It has a range of the edges, and owns a range of the vertices: the field
`parent` has an entry for each of them. The label of a fragment is the id of one of its vertices,
the root. Vertices are never renumbered.

The parent of a vertex is -1 - root if the root is known, and otherwise a vertex that is nearer to
the root. So an owner answers a question for a parent and whether it is the root by one number.
"""
