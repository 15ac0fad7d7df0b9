"""Pipelines and strategies as dataflows; their check, description, plan and run."""
