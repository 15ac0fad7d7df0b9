"""Comparison of codes on graphs: each measurement in a fresh process, all codes in turn."""
