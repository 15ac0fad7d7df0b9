"""Clustering of samples as estimators of scikit-learn."""

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError as error:
    message = "mstflow.cluster needs the package scikit-learn; install mstflow[sklearn]"
    raise ModuleNotFoundError(message, name="sklearn") from error

from .pointsets.estimators.hdbscan import HDBSCAN
from .pointsets.estimators.single_linkage import SingleLinkage

__all__ = ["HDBSCAN", "SingleLinkage"]
