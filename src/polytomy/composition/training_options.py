"""From a classifier's parameters and `fit` arguments to its training options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.binary.options import FitArguments, TrainingOptions
from polytomy.calibration.folds import RoutedSplitter, splits_within
from polytomy.calibration.hold_out import choose_folds
from polytomy.composition.metadata import RoutedArguments, route_arguments
from polytomy.composition.scheme_argument import choose_final_calibration
from polytomy.composition.solver_option import gives_probabilities
from polytomy.inputs.choices import BALANCED_PER_PARTITION
from polytomy.inputs.weights import class_weights

__all__ = ["TrainingSource", "training_source"]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSource:
    """The source of training options: a classifier's parameters, its fit's arguments, the labels.

    Attributes
    ----------
    parameters : TrainingOptions
        The parameters of the classifier that have the names of the options.
    class_weight : the parameter of that name
    routed : RoutedArguments
    classes : array of labels
    class_indices : array of shape (n_rows,), the index of each sample's class
    """

    parameters: TrainingOptions
    class_weight: Mapping[Any, float] | str | None
    routed: RoutedArguments
    classes: NDArray[Any]
    class_indices: NDArray[np.intp]

    @classmethod
    def from_labels(cls, parameters: TrainingOptions, y: NDArray[Any]) -> TrainingSource:
        """Return the source for training without weights or other arguments."""
        classes, class_indices = np.unique(y, return_inverse=True)
        routed = RoutedArguments(parameters.arguments, parameters.arguments_by_model, {})
        return cls(parameters, None, routed, classes, class_indices)

    def options(self, rows: NDArray[np.intp] | None = None) -> TrainingOptions:
        """Return the options for training on some rows of the data, or on all of them."""
        routed, class_indices, cv = self.routed, self.class_indices, self.parameters.cv
        if rows is not None:
            n_rows = len(class_indices)
            routed = routed.take(rows, n_rows)
            class_indices, cv = class_indices[rows], splits_within(cv, rows, n_rows)

        def weighted(arguments: FitArguments) -> FitArguments:
            weight = class_weights(
                self.class_weight, self.classes, class_indices, arguments.sample_weight
            )
            return FitArguments(weight, arguments.fit_params)

        return replace(
            self.parameters,
            cv=RoutedSplitter(cv, routed.splitter) if routed.splitter else cv,
            arguments=weighted(routed.estimator),
            arguments_by_model={name: weighted(each) for name, each in routed.by_model.items()},
            data_weight=routed.estimator.sample_weight,
            balances_sides=isinstance(self.class_weight, str)
            and self.class_weight == BALANCED_PER_PARTITION,
        )


def training_source(
    classifier: Any,
    method: str,
    sample_weight: ArrayLike | None,
    fit_params: Mapping[str, Any],
    classes: NDArray[Any],
    class_indices: NDArray[np.intp],
    *,
    owner: Any = None,
) -> TrainingSource:
    """Return the source of a classifier's training options.

    Parameters
    ----------
    classifier : estimator with the parameters of PolytomyClassifier
    method : "fit" or "partial_fit"
    sample_weight, fit_params : the arguments of that call
    classes : array of labels
    class_indices : array of shape (n_rows,), the index of each sample's class
    owner : the estimator that was called, if it is not the classifier itself
    """
    parameters = TrainingOptions(
        calibration=classifier.calibration,
        final_calibration=choose_final_calibration(classifier.scheme, classifier.final_calibration),
        wants_probabilities=gives_probabilities(classifier.solver),
        keep_out_of_fold=classifier.keep_out_of_fold,
        cv=choose_folds(classifier.cv, len(class_indices)),
        random_state=classifier.random_state,
        n_jobs=classifier.n_jobs,
        memory_budget=classifier.memory_budget,
        shares_preprocessing=classifier.shared_preprocessing,
    )
    routed = route_arguments(
        classifier if owner is None else owner,
        method,
        sample_weight,
        fit_params,
        models=classifier.models,
        cv=classifier.cv,
    )
    return TrainingSource(parameters, classifier.class_weight, routed, classes, class_indices)
