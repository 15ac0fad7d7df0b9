"""The pipelines with other results than a forest, a file each."""
