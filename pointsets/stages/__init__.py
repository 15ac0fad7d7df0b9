"""The stages of algorithms for points. All pairs of points are edges."""
