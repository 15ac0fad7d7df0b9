"""Stages of the strategy "exchange": the vertices are divided among ranks, which exchange labels.

A rank is a partition. It has a range of the edges, and owns a range of `width` vertices: the field
`parent` has an entry for each of them. A vertex that is its own parent is the root of a fragment,
and its id is the label of this fragment. Vertices are never renumbered.

A rank numbers the labels at the ends of its edges: the field `touched` has these labels in
ascending order, and the ends of `local_edges` are places in it. As each owner has a range, the
labels that a rank sends to an owner are a slice.
"""
