"""Reports of runs: records and tables."""
