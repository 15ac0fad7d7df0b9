"""Strategies whose partitions exchange values, on a cluster: the ranks, and their actors."""
