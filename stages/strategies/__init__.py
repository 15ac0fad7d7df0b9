"""The stages of strategies: they load a graph, scan it, or join the tiles of a grid."""
