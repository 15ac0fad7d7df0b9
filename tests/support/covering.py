"""Samples of large products of parameters.

A fault depends on one parameter, or on how two of them act together. So tests of three or more
parameters run on a sample of their product in which any two values of two parameters meet.
"""

import itertools


def covering(*columns):
    """Return rows of one value of each column; any two values of two columns are in some row."""
    places = [range(len(column)) for column in columns]
    rows = {
        row: set(itertools.combinations(enumerate(row), 2)) for row in itertools.product(*places)
    }
    missing, chosen = set().union(*rows.values()), []
    while missing:
        best = max(rows, key=lambda row: len(rows[row] & missing))
        missing -= rows[best]
        chosen.append(tuple(column[place] for column, place in zip(columns, best, strict=True)))
    return chosen
