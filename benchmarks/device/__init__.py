"""The run `python -m benchmarks device`, which tests and measures a GPU and many threads."""
