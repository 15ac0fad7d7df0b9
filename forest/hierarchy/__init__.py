"""The clusters of a forest at every threshold: hierarchy, flat clusters, HDBSCAN."""
