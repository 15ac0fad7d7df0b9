"""A file for each format."""
