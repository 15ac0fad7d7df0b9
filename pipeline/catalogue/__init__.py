"""Every pipeline: algorithms, strategies and queries."""
