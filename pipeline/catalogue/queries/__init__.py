"""The pipelines of queries about a finished forest, one file each."""
