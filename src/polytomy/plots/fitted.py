"""The fitted classifier inside pipelines and searches, and its answers."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.learners.preparation import split_pipeline
from polytomy.metrics.metric import check_labels
from polytomy.model.composition import Composition
from polytomy.scheme import Scheme


class FittedClassifier(NamedTuple):
    """A polytomy classifier, and the transformers before it.

    Attributes
    ----------
    before : list of fitted transformers
    classifier : fitted PolytomyClassifier or DaskPolytomyClassifier
    """

    before: list[Any]
    classifier: Any

    @property
    def composition(self) -> Composition:
        """The fitted composition of the classifier."""
        composition: Composition = self.classifier.composition_
        return composition

    def transform(self, X: Any) -> Any:
        """Return samples as the classifier takes them."""
        for step in self.before:
            X = step.transform(X)
        return X

    def decisions(self, X: Any) -> NDArray[np.float64]:
        """Return the answers of the binaries, in the order of the partitions."""
        return np.asarray(self.classifier.decisions(self.transform(X)))


def find_fitted(estimator: Any, *attributes: str) -> FittedClassifier:
    """Return the fitted polytomy classifier in an estimator, a pipeline or a search.

    Raises NotFittedError if it is not fitted, and ArgumentError if there is none. A model with
    another of the attributes is also returned: regressors have ``classifier_``.
    """
    before: list[Any] = []
    inner = estimator
    names = "composition_", *attributes
    while isinstance(inner, type) or not any(hasattr(inner, name) for name in names):
        steps, last = split_pipeline(inner)
        before += steps
        # scikit-learn's searches and SchemeSearchCV store the model that they refit on all rows.
        found = getattr(inner, "best_estimator_", None) if last is inner else last
        if found is None:
            _refuse(estimator, inner)
        inner = found
    return FittedClassifier(before, inner)


def _refuse(estimator: Any, inner: Any) -> NoReturn:
    """Raise the error for an estimator in which no fitted classifier was found."""
    if hasattr(inner, "cv_results_"):
        raise NotFittedError(
            f"this {type(inner).__name__} did not train its chosen model. Fit it with refit=True."
        )
    if hasattr(inner, "fit"):
        check_is_fitted(inner)
    what = type(inner).__name__ if inner is estimator else f"one of {type(inner).__name__}"
    raise ArgumentError(
        Argument("estimator"),
        f" must be a fitted PolytomyClassifier, or a pipeline or search of one; got {what}.",
    )


def scheme_of(estimator: Any) -> Scheme:
    """Return the scheme of a fitted classifier; ArgumentError if it has several."""
    scheme = find_fitted(estimator).composition.scheme
    if not isinstance(scheme, Scheme):
        raise ArgumentError(
            Argument("estimator"),
            f" has an ensemble of {len(scheme)} schemes. Draw one at a time, "
            "such as classifier.scheme_.schemes[0].",
        )
    return scheme


def ask_probabilities(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return the probabilities of any classifier; ArgumentError if it has none."""
    try:
        answer = estimator.predict_proba
    except AttributeError as error:
        raise ArgumentError(
            Argument("estimator"), f" gives no probabilities: {str(error).rstrip('.')}."
        ) from None
    return np.asarray(answer(X))


def find_class_indices(y: ArrayLike, classes: NDArray[Any], n_samples: int) -> NDArray[np.intp]:
    """Return the class index of each label; ArgumentError for a label that is unknown."""
    labels = check_labels(y, "y")
    indices = {label: index for index, label in enumerate(classes.tolist())}
    unknown = [label for label in labels if label not in indices]
    if unknown:
        raise ArgumentError(
            Argument("y"),
            f" has the label {unknown[0]!r}, which the classifier was not trained with. Leave "
            "out its samples.",
        )
    if len(labels) != n_samples:
        n_labels = count_things(len(labels), "label")
        n_rows = count_things(n_samples, "sample")
        raise ArgumentError(Argument("y"), f" has {n_labels} for {n_rows} of X.")
    return np.array([indices[label] for label in labels], dtype=np.intp)


def name_estimator(estimator: Any) -> str:
    """Return an estimator's name for a legend: its class, or that of a pipeline's last step."""
    return type(split_pipeline(estimator)[1]).__name__
