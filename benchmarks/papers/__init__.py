"""Measurements of the papers that the algorithms come from, besides those that the suite lists."""
