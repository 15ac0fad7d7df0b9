"""Data in and out: edge lists and files."""
