"""Fitted classifiers made from binaries that were trained elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.pooling import PoolMap
from polytomy.classifier import PolytomyClassifier
from polytomy.designs import SCHEME_NAMES
from polytomy.errors import Argument, ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.inputs.arguments import PRECISIONS, check_parameters, count_things
from polytomy.language import MAX_CHARACTERS
from polytomy.learners.bank import Bank
from polytomy.learners.estimator_states import SCALERS, features_of
from polytomy.learners.fourier import FourierFeatures
from polytomy.learners.preparation import resolve_estimator
from polytomy.learners.problems import Dichotomy
from polytomy.learners.trained import TrainedBinary
from polytomy.model.answering import index_class_order
from polytomy.model.arrangement import (
    AUTO,
    Arrangement,
    ClassTranslation,
    bind_classes,
    dichotomies_state,
    read_dichotomies,
)
from polytomy.model.composition import Composition
from polytomy.model.estimator import CLASSIFIER_CHECKS
from polytomy.model.scheme_argument import members_of
from polytomy.regression.regressor import (
    CLASSIFIER_PARAMETERS,
    PolytomyRegressor,
    check_regressor,
)
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.nodes import compact_classes
from polytomy.scheme.reading import parse_bounded
from polytomy.states import State, is_plain, register_kind


def compose_classifier(
    scheme: Scheme,
    binaries: Sequence[TrainedBinary],
    solver: str,
    n_features: int,
    estimator: Any = None,
) -> PolytomyClassifier:
    """Return the fitted classifier of a scheme and its trained binaries.

    Ties are broken by the order of the classes in the scheme, as LIBSVM and libAGF do.

    Parameters
    ----------
    scheme : Scheme
    binaries : list of TrainedBinary, one for each partition of the scheme
    solver : name of a method
    n_features : number of features
    estimator : parameter of the classifier, to train it again
    """
    # All labels are text if some are, because an array has one type.
    is_mixed = len({isinstance(label, str) for label in scheme.classes}) > 1
    labels = np.array([str(label) if is_mixed else label for label in scheme.classes])
    order: list[int] = np.argsort(labels).tolist()
    rank = {position: i for i, position in enumerate(order)}
    to_train = resolve_estimator(estimator)
    dichotomies = [
        Dichotomy(
            str(each.binary),
            tuple([rank[c] for c in each.negative]),
            tuple([rank[c] for c in each.positive]),
            each.binary,
            to_train,
        )
        for each in scheme.partitions
    ]
    composition = Composition(
        labels[order],
        scheme,
        tuple(dichotomies),
        (arrange_in_order(scheme, labels[order]),),
        Bank(binaries),
        (solver,),
        tuple([rank[position] for position in range(len(labels))]),
    )
    return fitted_classifier(composition, n_features=n_features, estimator=estimator)


def arrange_in_order(scheme: Scheme, classes: NDArray[Any]) -> Arrangement:
    """Return the arrangement of binaries that are those of the partitions, in order."""
    n_rows = scheme.n_rows
    with warnings.catch_warnings():
        # The user was warned about classes without data when the model was fitted.
        warnings.simplefilter("ignore", PolytomyWarning)
        positions = bind_classes(scheme, classes)
    return Arrangement(scheme, positions, np.arange(n_rows), np.ones(n_rows))


def fitted_classifier(
    composition: Composition,
    *,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    **parameters: Any,
) -> PolytomyClassifier:
    """Return a fitted classifier with a composition.

    Parameters
    ----------
    composition : Composition
    n_features, feature_names : of the data
    **parameters : parameters of the classifier, except those that the composition has
    """
    if feature_names is not None and len(feature_names) != n_features:
        raise ModelFileError(f"there are {len(feature_names)} names for {n_features} features")
    parameters = {
        "scheme": composition.scheme,
        "solver": composition.solver,
        # Binaries that were trained elsewhere have no final calibration.
        "final_calibration": None,
        **parameters,
    }
    classifier = PolytomyClassifier(**parameters)
    classifier.classes_ = composition.classes
    classifier.class_order_ = None
    classifier.composition_ = composition
    if n_features is not None:
        classifier.n_features_in_ = n_features
    if feature_names is not None:
        classifier.feature_names_in_ = np.array(feature_names, dtype=object)
    return classifier


# -- The state of a composition: its scheme as text, its binaries, and what answers for what --


# Codes with more entries are written as designs if they are one, and sides with more class indices
# are not written if they follow from the scheme.
MOST_ENTRIES = 2**20
# The parts that a composition may have, with their family and the methods that they need.
_PARTS = {
    "final": ("final",),
    "out_of_fold": ("out-of-fold scores",),
    "preprocessing": ("estimator", "transform"),
    "frequencies": ("class frequencies",),
    **{name: (name,) for name in ("prior", "costs", "compression", "cascade")},
}


# -- writing ------------------------------------------------------------------------------------


def _composition_state(composition: Composition) -> dict[str, Any]:
    """Return the state of a composition.

    For each scheme, ``columns`` has the binary of each row of its partitions, and ``swapped`` the
    rows whose binary has its sides the other way round. ``sides`` has the class indices of both
    sides of all binaries in a row, and ``side_lengths`` how many each side has. They are missing if
    there are many and they follow from the scheme.
    """
    trained, schemes = composition.dichotomies, members_of(composition.scheme)
    return {
        "classes": composition.classes,
        "schemes": [_print_scheme(scheme) for scheme in schemes],
        "is_ensemble": isinstance(composition.scheme, SchemeEnsemble),
        "columns": [arrangement.columns for arrangement in composition.arrangements],
        "swapped": [np.flatnonzero(each.signs < 0) for each in composition.arrangements],
        "solvers": list(composition.solvers),
        "dtype": str(composition.bank.dtype),
        "tie_order": None if composition.tie_order is None else list(composition.tie_order),
        "binaries": list(composition.binaries),
        **dichotomies_state(trained),
        **({} if _follow_from_scheme(composition) else _sides_state(trained)),
        **{name: getattr(composition, name) for name in _PARTS},
    }


def _print_scheme(scheme: Scheme) -> str:
    """Return the control text; one with large codes is short if they are designs."""
    n_entries = sum(node.code.n_partitions * node.code.n_classes for node in scheme.nodes)
    text = str(scheme) if n_entries <= MOST_ENTRIES else scheme.compact()
    if len(text) > MAX_CHARACTERS:
        raise ArgumentError(
            f"the scheme cannot be saved: its control text has {len(text):,} characters, and texts "
            f"of more than {MAX_CHARACTERS:,} cannot be read. Use a code with fewer partitions, "
            "one-vs-rest, an orthogonal code with random_state=0, or a tree. To keep this model, "
            "use joblib.dump."
        )
    return text


def _follow_from_scheme(composition: Composition) -> bool:
    """Return whether the sides are many, and those of the partitions of the scheme in order."""
    trained = composition.dichotomies
    n_entries = sum(len(each.negative) + len(each.positive) for each in trained)
    has_many = n_entries > MOST_ENTRIES and len(composition.arrangements) == 1
    return has_many and composition.arrangements[0].uses_all_in_order(len(trained))


def _sides_state(trained: Sequence[Dichotomy]) -> dict[str, Any]:
    """Return the class indices of both sides of all binaries, and how many each side has."""
    sides = [np.asarray(side, dtype=np.int64) for each in trained for side in each[1:3]]
    return {
        "sides": np.concatenate([np.empty(0, np.int64), *sides]),
        "side_lengths": np.array([len(side) for side in sides], dtype=np.int64),
    }


# -- reading ------------------------------------------------------------------------------------


def _read_composition(state: State) -> Composition:
    classes = state.labels("classes")
    if not len(classes):
        raise state.fault("classes", "one label or more")
    binaries = state.parts("binaries", "binary")
    n_columns = len(state.items("columns"))
    columns = [_read_item(state, "columns", k, len(binaries)) for k in range(n_columns)]
    texts, solvers = state.texts("schemes"), state.texts("solvers")
    if not texts or len(texts) != len(columns):
        raise state.fault("columns", f"an array for each of {len(texts)} schemes")
    if len(solvers) != len(texts):
        raise state.fault("solvers", f"a name for each of {len(texts)} schemes")
    schemes = [parse_bounded(text, len(own)) for text, own in zip(texts, columns, strict=True)]
    scheme = SchemeEnsemble(schemes) if state.boolean("is_ensemble") else schemes[0]
    arrangements = [
        _read_arrangement(state, k, member, own, classes)
        for k, (member, own) in enumerate(zip(members_of(scheme), columns, strict=True))
    ]
    if "sides" in state:
        sides = _read_sides(state, len(binaries), len(classes))
    else:
        sides = _find_sides(state, arrangements[0], len(binaries))
    tie_order = state.items("tie_order") if "tie_order" in state else None
    composition = Composition(
        classes,
        scheme,
        tuple(read_dichotomies(state, binaries, sides)),
        tuple(arrangements),
        Bank(binaries, state.text("dtype", PRECISIONS)),
        tuple(solvers),
        None if tie_order is None else tuple(tie_order),
        **{name: state.part(name, *kind) for name, kind in _PARTS.items() if name in state},
    )
    _check_parts(composition, state)
    return composition


def _read_item(state: State, name: str, number: int, below: int) -> NDArray[np.intp]:
    """Return an array of integers from a list of them."""
    items = state.items(name)
    if number >= len(items):
        raise state.fault(name, f"a list of {number + 1} arrays or more")
    return State({str(number): items[number]}, f"{state.where}.{name}").indices(str(number), below)


def _read_arrangement(
    state: State, number: int, scheme: Scheme, columns: NDArray[np.intp], classes: NDArray[Any]
) -> Arrangement:
    if len(columns) != scheme.n_rows:
        raise state.fault("columns", f"a binary for each of {scheme.n_rows} partitions")
    signs = np.ones(len(columns))
    signs[_read_item(state, "swapped", number, len(columns))] = -1.0
    return arrange_in_order(scheme, classes)._replace(columns=columns, signs=signs)


def _read_sides(state: State, n_binaries: int, n_classes: int) -> list[Sequence[int]]:
    """Return the −1 and the +1 side of each binary, one after the other."""
    classes = state.indices("sides", n_classes)
    ends = np.cumsum(state.indices("side_lengths", n_classes + 1, 2 * n_binaries))
    if (ends[-1] if len(ends) else 0) != len(classes):
        raise state.fault("sides", "two sides for each binary")
    return [compact_classes(part) for part in np.split(classes, ends)[:-1]]


def _find_sides(state: State, arrangement: Arrangement, n_binaries: int) -> list[Sequence[int]]:
    """Return the sides of a scheme's partitions, one after the other."""
    scheme = arrangement.scheme
    if not scheme.is_binary or scheme.n_rows != n_binaries:
        raise state.fault("sides", "there, and they do not follow from the scheme")
    translate = ClassTranslation(arrangement.positions, len(scheme.classes))
    return [
        translate(compact_classes(side))
        for partition in scheme.partitions
        for side in partition.side_arrays
    ]


def _check_parts(composition: Composition, state: State) -> None:
    """Raise ModelFileError unless all parts are made for these classes and binaries."""
    n_classes, n_binaries = len(composition.classes), len(composition.binaries)
    final, scores, costs = composition.final, composition.out_of_fold, composition.costs
    lengths: dict[str, tuple[NDArray[Any], ...]] = {}
    if composition.frequencies is not None:
        lengths["frequencies"] = (composition.frequencies.data, composition.frequencies.model)
    if composition.prior is not None:
        lengths["prior"] = (composition.prior.prior, composition.prior.training)
    if costs is not None:
        lengths["costs"] = (costs.matrix, costs.matrix.T)
        if costs.can_reject and costs.reject_label in composition.classes.tolist():
            raise state.fault("costs", "free of a reject_label that is a class")
    if final is not None:
        if not composition.gives_probabilities:
            raise state.fault("final", f'for the solver "{composition.solver}"')
        n_schemes = len(composition.arrangements)
        if n_schemes != (len(final.map.members) if isinstance(final.map, PoolMap) else 1):
            raise state.fault("final", f"for {count_things(n_schemes, 'scheme')}")
        even = np.full((1, n_classes), 1 / n_classes)
        # Whatever its kind is, it must turn probabilities of these classes into probabilities.
        each = composition.member_answers(np.zeros((1, n_binaries)))
        plain = replace(composition, prior=None)
        proba = np.asarray(plain.finish((even, own) for own in each))
        if proba.shape != even.shape or not abs(proba.sum() - 1) < 1e-6:
            raise state.fault("final", f"for {n_classes} classes and {n_binaries} binaries")
        if final.conformity is not None:
            lengths["final"] = (final.conformity.log_proba.T,)
    cascade = composition.cascade
    if cascade is not None and cascade.code.shape != (n_classes, n_binaries):
        raise state.fault("cascade", f"for {n_classes} classes and {n_binaries} binaries")
    if scores is not None:
        is_inside = scores.class_indices.max() < n_classes
        if scores.scores.shape[1] != n_binaries or not is_inside:
            raise state.fault("out_of_fold", f"for {n_classes} classes and {n_binaries} binaries")
    for name, arrays in lengths.items():
        if any(len(array) != n_classes for array in arrays):
            raise state.fault(name, f"for {n_classes} classes")


register_kind("composition", Composition, _composition_state, _read_composition)


# -- The states of classifiers and regressors: their parameters, and what they learnt --


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
        "class_order": index_class_order(classifier),
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
    if "class_order" in state:
        n_classes = len(composition.classes)
        order = state.indices("class_order", n_classes, n_classes)
        if len(np.unique(order)) < n_classes:
            raise state.fault("class_order", "an array that has each class once")
        classifier.class_order_ = composition.classes[order].tolist()
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
        steps = [step for _, step in shared.steps if not isinstance(step, str)]
        if steps and isinstance(steps[-1], FourierFeatures):
            n_features = len(steps[-1].phases)
        elif any(type(step) not in SCALERS for step in steps):
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
