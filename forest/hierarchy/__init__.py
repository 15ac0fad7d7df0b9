"""From a forest to the clusters at every threshold: hierarchy, flat clusters, HDBSCAN."""
