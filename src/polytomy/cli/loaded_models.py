"""Loaded models, and how to read the data they predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from polytomy.cli.options import ModelDataOptions
from polytomy.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polytomy.datasets import Data, Source

# Approximate size of a block of sparse samples that are made dense.
_DENSE_BYTES = 2**25


class LoadedModel:
    """A classifier, and how to read the columns of its data.

    A LIBSVM model does not know its number of features. Like svm-predict, it accepts samples with
    more features than its support vectors.

    Parameters
    ----------
    path : model file of any kind
    options : how to load it and read its data; LIBSVM data by default as in training
    """

    def __init__(self, path: str, options: ModelDataOptions) -> None:
        from polytomy.persistence import FileKind, open_model, read_info

        n_features = options.n_features
        self._opened = open_model(path, trusted=tuple(options.trusted or ()))
        model = self._make(n_features)
        is_own = self._opened.kind is FileKind.OWN
        self._may_widen = not is_own and n_features is None
        self.metadata: Any = read_info(path).metadata if is_own else {}
        metadata = self.metadata
        own_number = getattr(model, "n_features_in_", None)
        known = n_features or own_number
        if is_own and n_features not in (None, own_number):
            raise ArgumentError(
                f"--features is only for LIBSVM models; {path} has {own_number} features"
            )
        self._options: dict[str, Any] = {
            "features": metadata.get("columns") or metadata.get("n_columns") or known,
            "categories": metadata.get("categories") or "refuse",
            "missing": metadata.get("missing") or "refuse",
            **options.reading(),
        }
        if options.zero_based == "auto" and metadata.get("zero_based") is not None:
            # Data to predict may happen to lack feature 0, so it is read like the training data.
            self._options["zero_based"] = metadata["zero_based"]
        # A model trained on dense data, or by libAGF with borders or a normalisation, may not
        # support sparse data.
        is_scaled = not is_own and bool(self.steps)
        is_dense = metadata.get("is_sparse") is False
        self._needs_dense = is_dense or is_scaled or self._has_borders()
        if self._needs_dense and known is not None:
            self._options["n_rows"] = max(1, _DENSE_BYTES // (8 * known))
        self._given_column = options.column
        self._target: str | int = metadata.get("target", -1)

    def _make(self, n_features: int | None) -> Any:
        """Make the model for a number of features, and return it."""
        from polytomy.learners.preparation import split_pipeline

        model = self._opened.make(n_features)
        # The scaler and the like, and the classifier or regressor after them.
        self.steps, self.core = split_pipeline(model)
        return model

    @property
    def regressor(self) -> Any:
        """The regressor, or None if the model is a classifier."""
        from polytomy.regression import PolytomyRegressor

        return self.core if isinstance(self.core, PolytomyRegressor) else None

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, in the order of the probabilities."""
        labels: NDArray[Any] = self.core.classes_
        return labels

    @property
    def predicted_labels(self) -> NDArray[Any]:
        """The labels that can be predicted: the classes and, last, the label for no prediction."""
        costs = self.core.composition_.costs
        if costs is None or not costs.can_reject:
            return self.classes
        labels: NDArray[Any] = costs.labels_with_reject(self.classes)
        return labels

    @property
    def expected_score(self) -> dict[str, float] | None:
        """The out-of-fold score from training; None if the model has none."""
        score: dict[str, float] | None = getattr(self.core, "out_of_fold_score_", None)
        return score

    @property
    def has_probabilities(self) -> bool:
        """Whether the solver gives probabilities."""
        return hasattr(self.core, "predict_proba")

    def densify(self, X: Any) -> Any:
        """Return samples in the form that the first step accepts."""
        return X.toarray() if self._needs_dense and hasattr(X, "toarray") else X

    def transform(self, X: Any) -> Any:
        """Return samples in the form that the last step accepts."""
        X = self.densify(X)
        for step in self.steps:
            X = step.transform(X)
        return X

    def _has_borders(self) -> bool:
        from polytomy.learners.borders import BorderMachine

        binaries = getattr(self.core, "binaries_", ())
        return any(isinstance(binary.estimator, BorderMachine) for binary in binaries)

    def predict(self, X: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the predicted labels of samples, and the probabilities if the solver gives any."""
        X = self.transform(X)
        if not self.has_probabilities:
            return self.core.predict(X), None
        probabilities = self.core.predict_proba(X)
        return self.core.composition_.labels(probabilities), probabilities

    def stop_at_nodes(
        self, probabilities: Any, max_depth: int | None, min_probability: float
    ) -> NDArray[Any]:
        """Return a class or the name of a node for each sample, as `predict_nodes` does."""
        from polytomy.model.decisions import descend_nodes, find_hierarchy

        hierarchy = find_hierarchy(self.core.composition_.arrangements)
        return descend_nodes(*hierarchy, probabilities, max_depth, min_probability)

    def unlabelled_blocks(self, data: Source) -> Iterator[Data]:
        """Return the samples of a file in blocks, with or without a label column in the file."""
        if self._given_column is not None:
            return self._blocks(data, self._given_column)
        try:
            return self._blocks(data, None)
        except DataError as error:
            # One column too many is probably the label, in the same place as in training.
            try:
                return self._blocks(data, self._target)
            except DataError:
                raise error from None

    def labelled_blocks(self, data: Source, *, any_label: bool = False) -> Iterator[Data]:
        """Return the samples and labels of a file in blocks; labels may have to be known."""
        column = self._target if self._given_column is None else self._given_column
        classes = None if any_label or self.regressor is not None else self.classes
        return self._blocks(data, column, classes)

    def _blocks(
        self, data: Source, target: str | int | None, classes: ArrayLike | None = None
    ) -> Iterator[Data]:
        from polytomy.datasets import find_format, open_blocks
        from polytomy.datasets.reading import open_table
        from polytomy.datasets.tables import ReadOptions

        if self._may_widen and find_format(data, self._options["format"]) == "svmlight":
            wanted = ReadOptions(target=None, zero_based=self._options["zero_based"])
            n_features = open_table(data, "svmlight", wanted).n_features
            if n_features > self._options["features"]:
                self._make(n_features)
                self._options["features"] = n_features
        return open_blocks(data, target=target, classes=classes, **self._options)
