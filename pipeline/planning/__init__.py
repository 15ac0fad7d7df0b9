"""The plan of a run: what it depends on, the decisions, and their cost."""
