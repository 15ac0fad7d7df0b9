"""Reports of runs: records, tables and pictures."""
