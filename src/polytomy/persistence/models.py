"""The states of classifiers and regressors: their parameters, and what they learnt.

A saved classifier is a `PolytomyClassifier` with its composition. A saved regressor has the
classifier of its bins. Both may be the last step of a pipeline, which is saved like any other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polytomy.classifier import PolytomyClassifier
from polytomy.designs import SCHEME_NAMES
from polytomy.errors import Argument, ArgumentError, PolytomyWarning, warn_caller
from polytomy.inputs.arguments import check_parameters
from polytomy.learners.estimator_states import SCALERS, features_of
from polytomy.learners.preparation import resolve_estimator
from polytomy.model.arrangement import AUTO
from polytomy.model.composition import Composition
from polytomy.model.parameters import CLASSIFIER_CHECKS
from polytomy.persistence.fitted import fitted_classifier
from polytomy.regression.regressor import (
    CLASSIFIER_PARAMETERS,
    PolytomyRegressor,
    check_regressor,
)
from polytomy.states import State, is_plain, register_kind

# Parameters that are saved even if they are objects.
_OBJECTS = ("estimator", "calibration", "final_calibration", "models")
# More jobs than any machine has cores; joblib would start as many threads as a file says.
_MOST_JOBS = 2**15


def check_fitted(classifier: Any, core: Any) -> None:
    """Raise ArgumentError unless `core` is the fitted classifier of a model."""
    if type(core) is PolytomyRegressor:
        raise ArgumentError("the regressor is not fitted, so there is nothing to save. Fit it.")
    if type(core) is not PolytomyClassifier:
        raise ArgumentError(
            f"{type(classifier).__name__} cannot be saved. Pass a PolytomyClassifier or a "
            "PolytomyRegressor, or a pipeline that ends in one."
        )
    if not hasattr(core, "composition_"):
        raise ArgumentError("the classifier is not fitted, so there is nothing to save. Fit it.")


# -- classifiers --------------------------------------------------------------------------------


def _classifier_state(classifier: PolytomyClassifier) -> dict[str, Any] | None:
    if not hasattr(classifier, "composition_"):
        return None
    names = getattr(classifier, "feature_names_in_", None)
    return {
        "parameters": _parameters_of(classifier),
        "composition": classifier.composition_,
        "n_features": getattr(classifier, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "reservoir": getattr(classifier, "reservoir_", None),
    }


def _parameters_of(classifier: PolytomyClassifier) -> dict[str, Any]:
    """Return the parameters, the scheme only if it is text; warn about any that cannot be saved."""
    composition: Composition = classifier.composition_
    parameters: dict[str, Any] = classifier.get_params(deep=False)
    if not isinstance(composition.solver, str):
        raise ArgumentError(
            Argument("solver", composition.solver),
            " is a function, which cannot be saved. Save "
            'classifier.with_solver("least-squares"), and set the function again after loading.',
        )
    # What the fitted classifier predicts with; parameters set after the fit do not change it.
    is_automatic = isinstance(classifier.solver, str) and classifier.solver == AUTO
    parameters["solver"] = AUTO if is_automatic else composition.solver
    parameters["prediction_dtype"] = str(composition.bank.dtype)
    if not isinstance(classifier.scheme, str) or _is_file(classifier.scheme):
        del parameters["scheme"]
    if hasattr(classifier.class_order, "tolist"):  # an array or a column of a frame
        parameters["class_order"] = classifier.class_order.tolist()
    for name, value in list(parameters.items()):
        if name not in _OBJECTS and not is_plain(value):
            del parameters[name]
            warn_caller(
                PolytomyWarning(
                    Argument(name, value),
                    " cannot be saved. A loaded classifier has the default, which only matters if "
                    "it is fitted again.",
                ),
                PolytomyWarning,
            )
    return parameters


def _is_file(scheme: str) -> bool:
    """Return whether the text of the option names a file, which may not exist after loading."""
    if scheme in SCHEME_NAMES or "\n" in scheme or "\0" in scheme:
        return False
    try:
        return Path(scheme).is_file()
    except OSError:  # too long for a file name
        return False


def _read_classifier(state: State) -> PolytomyClassifier:
    composition: Composition = state.part("composition", "composition")
    parameters = state.value("parameters")
    defaults = PolytomyClassifier().get_params(deep=False)
    if not isinstance(parameters, dict) or not parameters.keys() <= defaults.keys():
        raise state.fault("parameters", "a dict of parameters of a classifier")
    # The scheme of a file is not read as the name of one.
    if not isinstance(parameters.get("scheme", ""), str):
        raise state.fault("parameters", "a dict with a scheme that is text")
    n_features = None
    if "n_features" in state:
        n_features = state.integer("n_features", least=1, most=2**31 - 1)
    names = state.texts("feature_names") if "feature_names" in state else None
    classifier = fitted_classifier(
        composition, n_features=n_features, feature_names=names, **parameters
    )
    check_parameters(classifier, CLASSIFIER_CHECKS)
    resolve_estimator(classifier.estimator)
    if abs(classifier.n_jobs or 0) > _MOST_JOBS:
        raise state.fault("parameters", f"with n_jobs from {-_MOST_JOBS} to {_MOST_JOBS}")
    _check_features(composition, n_features, names, state)
    if "reservoir" in state:
        classifier.reservoir_ = state.part("reservoir", "reservoir")
        held = classifier.reservoir_
        n_held = n_features if held.X is None else held.X.shape[1]
        if n_held != n_features or len(held.n_of_class) != len(composition.classes):
            raise state.fault("reservoir", "for the features and classes of the classifier")
    return classifier


def _check_features(
    composition: Composition, n_features: int | None, names: list[str] | None, state: State
) -> None:
    """Raise ModelFileError unless all parts of a classifier take the same features."""
    shared = composition.preprocessing
    if shared is not None:
        if features_of(shared) not in (None, n_features):
            raise state.fault("n_features", "that of the shared preprocessing")
        if any(not isinstance(step, str) and type(step) not in SCALERS for _, step in shared.steps):
            return  # binaries after other transformers have other features
    expected = n_features
    for binary in composition.binaries:
        own = features_of(binary.fitted_estimator)
        if binary.columns is None:
            expected = own if expected is None else expected
            is_right = own in (None, expected)
        else:
            # With a precomputed kernel, a binary takes the columns of its own training samples.
            highest = int(binary.columns.max(initial=-1))
            is_inside = n_features is not None and highest < n_features
            is_right = is_inside and own in (None, len(binary.columns))
        if not is_right:
            raise state.fault("n_features", f"that of the binary {binary.name}")
        own_names: Any = getattr(binary.fitted_estimator, "feature_names_in_", None)
        has_names = names is not None and own_names is not None and shared is None
        if has_names and list(own_names) != names:
            raise state.fault("feature_names", f"the list of names of the binary {binary.name}")


# -- regressors ---------------------------------------------------------------------------------


def _regressor_state(regressor: PolytomyRegressor) -> dict[str, Any] | None:
    if not hasattr(regressor, "classifier_"):
        return None
    is_automatic = isinstance(regressor.n_bins, str)
    return {
        "n_bins": regressor.n_bins if is_automatic else int(regressor.n_bins),
        "statistic": regressor.statistic,
        "classifier": regressor.classifier_,
        "bins": regressor.bins_,
        "scaling": regressor.cumulative_scaling_,
        "correction": regressor.interval_correction_,
        "score": regressor.out_of_fold_score_,
    }


def _read_regressor(state: State) -> PolytomyRegressor:
    classifier = state.part("classifier", "estimator")
    if type(classifier) is not PolytomyClassifier:
        raise state.fault("classifier", "a classifier")
    regressor = PolytomyRegressor(
        n_bins=state.value("n_bins"),
        statistic=state.text("statistic"),
        **{name: getattr(classifier, name) for name in CLASSIFIER_PARAMETERS},
    )
    check_regressor(regressor)
    bins = regressor.bins_ = state.part("bins", "bins")
    if classifier.classes_.tolist() != list(range(bins.n_bins)):
        raise state.fault("bins", "those of the classifier, whose classes are numbers of bins")
    regressor.n_bins_ = bins.n_bins
    regressor.cumulative_scaling_ = state.part("scaling", "cumulative scaling")
    has_correction = "correction" in state
    regressor.interval_correction_ = (
        state.part("correction", "interval correction") if has_correction else None
    )
    regressor.out_of_fold_score_ = state.numbers("score") if "score" in state else None
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(classifier, name):
            setattr(regressor, name, getattr(classifier, name))
    regressor.classifier_ = classifier
    return regressor


register_kind(
    "estimator/PolytomyClassifier", PolytomyClassifier, _classifier_state, _read_classifier
)
register_kind("estimator/PolytomyRegressor", PolytomyRegressor, _regressor_state, _read_regressor)
