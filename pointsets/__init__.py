"""The wing for sets of points: their graph, searches, algorithms and estimators."""
