"""Estimators of scikit-learn for points; see `mstflow.cluster`."""
