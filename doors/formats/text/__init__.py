"""Convert the bytes of text files to columns."""
