"""Training and prediction on a Dask cluster, for data that no single machine can hold."""

from polytomy.errors import ArgumentError

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ArgumentError(
        "polytomy.dask needs Dask. Install it with: pip install polytomy[dask]"
    ) from error

from polytomy.dask.estimator import DaskPolytomyClassifier

__all__ = ["DaskPolytomyClassifier"]
