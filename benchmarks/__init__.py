"""Measurements of mstflow, their records, and the tables that pages quote.

Run `python -m benchmarks` in the repository's root; `benchmarks/README.md` explains the commands.
"""
