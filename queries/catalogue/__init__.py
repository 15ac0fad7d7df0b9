"""The pipelines of this wing, a file each."""
