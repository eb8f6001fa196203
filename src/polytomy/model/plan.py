"""Which dichotomies have to be trained for one scheme, or for several that share them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy, WholePartition
from polytomy.model.arrangement import (
    Arrangement,
    ClassTranslation,
    Solver,
    bind_classes,
    check_models,
    make_dichotomies,
    resolve_solver,
    sides_key,
)
from polytomy.model.composition import Composition
from polytomy.model.fitting import TrainedBinaries
from polytomy.model.scheme_argument import members_of
from polytomy.scheme import BinaryName, Scheme, SchemeEnsemble


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPlan:
    """The dichotomies that schemes over the same classes need, each once.

    Attributes
    ----------
    classes : array of labels
    schemes : tuple of Scheme or SchemeEnsemble
    dichotomies : tuple of Dichotomy, with sides as class indices
    arrangements : for each scheme a tuple with the arrangement of each of its members
    """

    classes: NDArray[Any]
    schemes: tuple[Scheme | SchemeEnsemble, ...]
    dichotomies: tuple[Dichotomy, ...]
    arrangements: tuple[tuple[Arrangement, ...], ...]

    def columns_of(self, number: int) -> list[int]:
        """Return which dichotomies one of the schemes needs, in the order of its partitions."""
        every = (column for each in self.arrangements[number] for column in each.columns.tolist())
        return list(dict.fromkeys(every))

    def only(self, number: int) -> TrainingPlan:
        """Return the plan of one of the schemes alone."""
        columns = self.columns_of(number)
        place = {column: i for i, column in enumerate(columns)}
        own = tuple(
            each._replace(columns=np.array([place[k] for k in each.columns.tolist()], np.intp))
            for each in self.arrangements[number]
        )
        needed = tuple(self.dichotomies[column] for column in columns)
        return TrainingPlan(self.classes, (self.schemes[number],), needed, (own,))

    def compose(
        self, trained: TrainedBinaries, solver: Solver, prediction_dtype: Any = np.float64
    ) -> Composition:
        """Return the composition of a plan's only scheme, with its final calibration.

        Parameters
        ----------
        trained : the binaries of all dichotomies, in their order
        solver : name of a method, "auto", or function of (scheme, decisions)
        prediction_dtype : float64 or float32
        """
        (scheme,), (arrangements,) = self.schemes, self.arrangements
        bank = Bank(trained.binaries, prediction_dtype)
        solver = resolve_solver(solver, scheme, is_calibrated=trained.out_of_fold is not None)
        composition = Composition(
            self.classes,
            scheme,
            self.dichotomies,
            arrangements,
            bank,
            solver,
            preprocessing=trained.preprocessing,
            frequencies=trained.frequencies,
        )
        return composition.calibrated_on(trained.out_of_fold)


def plan_training(
    schemes: Iterable[Scheme | SchemeEnsemble],
    classes: NDArray[Any],
    estimator: Any,
    models: Mapping[str, Any] | None = None,
) -> TrainingPlan:
    """Return the dichotomies that schemes need, each once, and how each scheme uses them.

    A partition that occurs several times in one scheme has a binary for each occurrence.
    Dichotomies of different schemes are the same if they are trained from the same estimator and
    separate the same classes, with the sides in either order.

    Parameters
    ----------
    schemes : schemes or ensembles that name all classes
    classes : the labels of the data
    estimator : the default estimator
    models : estimators, or fitted models, for names in the schemes
    """
    schemes = tuple(schemes)
    check_models([member for scheme in schemes for member in members_of(scheme)], models)
    collector = _Collector(classes, estimator, models)
    arrangements = tuple(
        tuple(collector.arrange(member) for member in members_of(scheme)) for scheme in schemes
    )
    return TrainingPlan(classes, schemes, tuple(collector.needed), arrangements)


class _Collector:
    """Collects dichotomies from one scheme after another."""

    def __init__(
        self, classes: NDArray[Any], estimator: Any, models: Mapping[str, Any] | None
    ) -> None:
        self._classes, self._estimator, self._models = classes, estimator, models
        self._known: dict[tuple[Hashable, Hashable, int, int], int] = {}
        self._specified: dict[BinaryName, Any] = {}
        self.needed: list[Dichotomy] = []

    def arrange(self, scheme: Scheme) -> Arrangement:
        """Return the arrangement of a scheme, after adding the dichotomies that are new."""
        positions = bind_classes(scheme, self._classes)
        translate = ClassTranslation(positions, len(scheme.classes))
        occurrences: dict[tuple[frozenset[Hashable], int], int] = {}
        wholes: dict[WholePartition, WholePartition] = {}
        columns, signs = [], []
        for each in make_dichotomies(scheme, self._estimator, self._models, self._specified):
            dichotomy = _translated(each, translate, wholes)
            sides = sides_key(dichotomy)
            source = id(dichotomy.estimator)
            either_order = frozenset(sides), source
            occurrence = occurrences.get(either_order, 0)
            occurrences[either_order] = occurrence + 1
            column = self._known.get((*sides, source, occurrence))
            sign = 1.0
            if column is None and dichotomy.trained is None and dichotomy.whole is None:
                column = self._known.get((*sides[::-1], source, occurrence))
                sign = 1.0 if column is None else -1.0
            if column is None:
                column = self._known[*sides, source, occurrence] = len(self.needed)
                self.needed.append(dichotomy)
            columns.append(column)
            signs.append(sign)
        return Arrangement(scheme, positions, np.array(columns, dtype=np.intp), np.array(signs))


def _translated(
    dichotomy: Dichotomy,
    translate: ClassTranslation,
    wholes: dict[WholePartition, WholePartition],
) -> Dichotomy:
    """Return a dichotomy with sides as class indices; `wholes` are the partitions seen so far."""
    if translate.is_identity:
        return dichotomy
    whole = dichotomy.whole
    if whole is not None:
        if whole not in wholes:
            wholes[whole] = replace(whole, sides=tuple(map(translate, whole.sides)))
        whole = wholes[whole]
    negative, positive = translate(dichotomy.negative), translate(dichotomy.positive)
    return dichotomy._replace(negative=negative, positive=positive, whole=whole)
