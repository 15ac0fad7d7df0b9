"""A replacement for the package hdbscan: change only the import."""

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError as error:
    message = "mstflow.interop.hdbscan needs the package scikit-learn; install mstflow[sklearn]"
    raise ModuleNotFoundError(message, name="sklearn") from error

from ..pointsets.estimators.package import HDBSCAN, hdbscan
from ..pointsets.estimators.prediction import (
    all_points_membership_vectors,
    approximate_predict,
    approximate_predict_scores,
    membership_vector,
)

__all__ = [
    "HDBSCAN",
    "all_points_membership_vectors",
    "approximate_predict",
    "approximate_predict_scores",
    "hdbscan",
    "membership_vector",
]
