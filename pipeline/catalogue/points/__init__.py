"""The algorithms for points: by a search tree, and by blocks of all distances."""
