"""The pipelines with other results than a forest, one file each."""
