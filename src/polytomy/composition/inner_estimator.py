"""What a meta-estimator inherits from its two-class estimator: tags, metadata, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter

from polytomy.binary.preparation import check_nested_parameters, resolve_estimator, tags_of
from polytomy.composition.metadata import make_router

__all__ = ["FollowsEstimatorMixin", "why_no_partial_fit"]


def why_no_partial_fit(classifier: Any) -> str:
    """Return why a classifier cannot be trained in batches; empty if it can."""
    if isinstance(classifier.class_weight, str):
        return (
            f'class_weight="{classifier.class_weight}" needs all the data at once. Use a dict of '
            "labels and weights."
        )
    estimator = resolve_estimator(classifier.estimator)
    if not hasattr(estimator, "partial_fit"):
        return (
            f"{type(estimator).__name__!r} object has no attribute 'partial_fit'. Use an estimator "
            "such as SGDClassifier()."
        )
    return ""


class FollowsEstimatorMixin:
    """Methods of a meta-estimator with the parameters ``estimator``, ``models`` and ``cv``."""

    estimator: Any
    models: Mapping[str, Any] | None
    cv: Any

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments of `fit` and `partial_fit` go to estimators and splitter."""
        return make_router(self, resolve_estimator(self.estimator), self.models, self.cv)

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator, and the inner ones, such as ``estimator__C``."""
        check_nested_parameters(params.get("estimator", self.estimator), params)
        return super().set_params(**params)  # type: ignore[misc,no-any-return]

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        inner = tags_of(self.estimator)
        if inner is not None:
            for name in ("sparse", "pairwise", "allow_nan", "categorical", "string"):
                setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        return tags
