"""One run that tests and measures a GPU and many threads: `python -m benchmarks device`."""
