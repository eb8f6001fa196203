"""The state of a composition: its scheme as text, its binaries, and what answers for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.arguments import PRECISIONS
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy
from polytomy.model.arrangement import (
    Arrangement,
    ClassTranslation,
    dichotomies_state,
    read_dichotomies,
)
from polytomy.model.composition import Composition
from polytomy.model.scheme_argument import members_of
from polytomy.persistence.fitted import arrange_in_order
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.codes import find_short_form
from polytomy.scheme.nodes import compact_classes
from polytomy.scheme.reading import parse_bounded
from polytomy.states import State, register_kind

#: The only design that a saved scheme may have, and from how many classes it does.
SAVED_DESIGN, MOST_CLASSES_WRITTEN_OUT = "one-vs-rest", 1000
# Sides with more class indices are not written if they follow from the scheme.
MOST_ENTRIES = 2**20
# ``out_of_fold_proba_`` has a row for each training row. It may have this many times the values
# in the file, or this many values if that is more.
_LARGEST_RATIO = 256
_FREE_VALUES = 2**27


def allows_probabilities(composition: Composition) -> bool:
    """Return whether memory for the out-of-fold probabilities of all training rows is justified."""
    final, out_of_fold = composition.final, composition.out_of_fold
    if final is None or final.probabilities is None or out_of_fold is None:
        return True
    most = max(_FREE_VALUES, _LARGEST_RATIO * final.probabilities.size)
    return bool(out_of_fold.n_rows * len(composition.classes) <= most)


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
        "solver": composition.solver,
        "dtype": str(composition.bank.dtype),
        "tie_order": None if composition.tie_order is None else list(composition.tie_order),
        "binaries": list(composition.binaries),
        **dichotomies_state(trained),
        **({} if _follow_from_scheme(composition) else _sides_state(trained)),
        "final": composition.final,
        "out_of_fold": composition.out_of_fold,
        "preprocessing": composition.preprocessing,
        "frequencies": composition.frequencies,
        "prior": composition.prior,
        "costs": composition.costs,
    }


def _print_scheme(scheme: Scheme) -> str:
    """Return the control text; one-vs-rest of many classes, which would be long, as a design."""
    has_many = scheme.is_flat and len(scheme.classes) > MOST_CLASSES_WRITTEN_OUT
    is_design = has_many and find_short_form(scheme.code) == SAVED_DESIGN
    return scheme.compact() if is_design else str(scheme)


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
    columns = [_read_item(state, "columns", k, len(binaries)) for k in _range(state, "columns")]
    texts = state.texts("schemes")
    if not texts or len(texts) != len(columns):
        raise state.fault("columns", f"an array for each of {len(texts)} schemes")
    schemes = [
        parse_bounded(text, len(own), SAVED_DESIGN)
        for text, own in zip(texts, columns, strict=True)
    ]
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
        state.text("solver"),
        None if tie_order is None else tuple(tie_order),
        _read_part(state, "final", "final"),
        _read_part(state, "out_of_fold", "out-of-fold scores"),
        _read_part(state, "preprocessing", "estimator", "transform"),
        _read_part(state, "frequencies", "class frequencies"),
        _read_part(state, "prior", "prior"),
        _read_part(state, "costs", "costs"),
    )
    _check_parts(composition, state)
    return composition


def _range(state: State, name: str) -> range:
    return range(len(state.items(name)))


def _read_item(state: State, name: str, number: int, below: int) -> NDArray[np.intp]:
    """Return an array of integers from a list of them."""
    items = state.items(name)
    if number >= len(items):
        raise state.fault(name, f"a list of {number + 1} arrays or more")
    return State({str(number): items[number]}, f"{state.where}.{name}").indices(str(number), below)


def _read_part(state: State, name: str, family: str, *methods: str) -> Any:
    return state.part(name, family, *methods) if name in state else None


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
        if costs.reject_cost is not None and costs.reject_label in composition.classes.tolist():
            raise state.fault("costs", "free of a reject_label that is a class")
    if final is not None:
        if not composition.gives_probabilities:
            raise state.fault("final", f'for the solver "{composition.solver}"')
        even, zeros = np.full((1, n_classes), 1 / n_classes), np.zeros((1, n_binaries))
        # Whatever its kind is, it must turn probabilities of these classes into probabilities.
        proba = np.asarray(final.map.apply(even, zeros))
        if proba.shape != even.shape or not abs(proba.sum() - 1) < 1e-6:
            raise state.fault("final", f"for {n_classes} classes and {n_binaries} binaries")
        if final.conformity is not None:
            lengths["final"] = (final.conformity.log_proba.T,)
        if final.probabilities is not None:
            shape = None if scores is None else (len(scores.rows), n_classes)
            if final.probabilities.shape != shape or not allows_probabilities(composition):
                raise state.fault("final", "with a probability for each sample and class")
    if scores is not None:
        is_inside = scores.class_indices.max() < n_classes
        if scores.scores.shape[1] != n_binaries or not is_inside:
            raise state.fault("out_of_fold", f"for {n_classes} classes and {n_binaries} binaries")
    for name, arrays in lengths.items():
        if any(len(array) != n_classes for array in arrays):
            raise state.fault(name, f"for {n_classes} classes")


register_kind("composition", Composition, _composition_state, _read_composition)
