"""Measurements of papers that are not comparisons of codes on graphs."""
