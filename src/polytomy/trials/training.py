"""Training in a trial: the schemes of all configurations, and their binaries.

A dichotomy that occurs in several configurations is trained once, and its training time counts for
each of them. Pairs with a final calibration need folds that all binaries of a scheme share, so
their binaries are trained separately from the others, configuration by configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from polytomy.errors import PolytomyError
from polytomy.learners.options import TrainingOptions
from polytomy.learners.trained import TrainedBinary
from polytomy.model.composition import Composition
from polytomy.model.dichotomies import Dichotomy, bind_classes
from polytomy.model.fitting import TrainedBinaries, fit_binaries
from polytomy.model.plan import TrainingPlan, plan_training
from polytomy.model.scheme_argument import members_of, scheme_from
from polytomy.scheme import Scheme
from polytomy.scheme.scheme import SchemeEnsemble
from polytomy.trials.dataset import Dataset
from polytomy.trials.pairs import Pair
from polytomy.trials.protocol import CALIBRATION, FOLDS, Split

__all__ = ["Configuration", "Training", "make_schemes", "train_binaries"]


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """The scheme of a configuration in one trial, or why it cannot be made.

    Attributes
    ----------
    scheme : Scheme or SchemeEnsemble; None if there is a problem
    problem : str, empty if there is none
    seconds : time to make the scheme
    """

    scheme: Scheme | SchemeEnsemble | None
    problem: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """The trained binaries of a configuration.

    Attributes
    ----------
    plan : TrainingPlan
    trained : TrainedBinaries
    seconds : time to make the scheme and to train, as if this had been the only configuration
    """

    plan: TrainingPlan
    trained: TrainedBinaries
    seconds: float

    def compose(self, pair: Pair) -> tuple[Composition, float]:
        """Return the composition of a pair, and its total training time in seconds.

        Learning a final calibration counts as training.
        """
        trained, scores = self.trained, self.trained.out_of_fold
        if pair.final_calibration is None or scores is None:
            return self.plan.compose(trained, pair.solver), self.seconds
        own = replace(scores, final_calibration=pair.final_calibration)
        started = perf_counter()
        composition = self.plan.compose(TrainedBinaries(trained.binaries, own), pair.solver)
        return composition, self.seconds + perf_counter() - started


def make_schemes(dataset: Dataset, pairs: Sequence[Pair], split: Split) -> dict[str, Configuration]:
    """Return the scheme of each configuration, by name, made from the training samples."""
    made: dict[str, Configuration] = {}
    for pair in pairs:
        if pair.configuration in made:
            continue
        started = perf_counter()
        try:
            scheme = scheme_from(
                pair.scheme,
                dataset.classes,
                X=split.X_train,
                y=split.y_train,
                random_state=split.seed,
                class_order=dataset.classes,
            )
            for member in members_of(scheme):
                bind_classes(member, dataset.classes)
        except PolytomyError as error:
            made[pair.configuration] = Configuration(None, str(error))
            continue
        made[pair.configuration] = Configuration(scheme, seconds=perf_counter() - started)
    return made


def train_binaries(
    configurations: dict[str, Configuration],
    pairs: Sequence[Pair],
    dataset: Dataset,
    estimator: Any,
    split: Split,
    n_jobs: int | None = None,
    on_trained: Callable[[str], None] | None = None,
) -> dict[tuple[str, bool], Training]:
    """Train the binaries of all pairs, configuration by configuration, to measure each time.

    Parameters
    ----------
    configurations : configurations by name; those with a problem are left out
    pairs : pairs that use them
    dataset : Dataset
    estimator : binary classifier
    split : training samples
    n_jobs : number of joblib jobs for the binaries
    on_trained : called with the name of each configuration that is trained

    Returns
    -------
    dict of Training by the name of the configuration and whether there are out-of-fold scores, for
    a final calibration
    """
    options = TrainingOptions(
        calibration=CALIBRATION, cv=FOLDS, random_state=split.seed, n_jobs=n_jobs
    )
    # Any final calibration will do: each pair learns its own from the out-of-fold scores.
    calibrated_options = replace(options, final_calibration="bias")
    classes = np.array(dataset.classes, dtype=object)
    plain, calibrated = (
        {
            pair.configuration: scheme
            for pair in pairs
            if (pair.final_calibration is not None) == is_calibrated
            and (scheme := configurations[pair.configuration].scheme) is not None
        }
        for is_calibrated in (False, True)
    )
    common = plan_training(plain.values(), classes, estimator)
    found: dict[tuple[str, bool], Training] = {}
    known: dict[int, TrainedBinary] = {}
    for number, name in enumerate(plain):
        # In the order of the scheme, so that each binary has the same seed as in a run of its own.
        columns, plan = common.columns_of(number), common.only(number)
        # Binaries of an earlier configuration are not trained again, but their time counts.
        seconds = sum(known[k].seconds for k in columns if k in known)
        dichotomies = [
            dichotomy._replace(trained=known[k]) if k in known else dichotomy
            for k, dichotomy in zip(columns, plan.dichotomies, strict=True)
        ]
        seconds += configurations[name].seconds
        found[name, False] = training = _train(plan, dichotomies, split, options, seconds)
        known |= dict(zip(columns, training.trained.binaries, strict=True))
        if on_trained is not None:
            on_trained(name)
    for name, scheme in calibrated.items():
        plan = plan_training([scheme], classes, estimator)
        seconds = configurations[name].seconds
        found[name, True] = _train(plan, plan.dichotomies, split, calibrated_options, seconds)
        if on_trained is not None:
            on_trained(f"{name}, calibrated")
    return found


def _train(
    plan: TrainingPlan,
    dichotomies: Sequence[Dichotomy],
    split: Split,
    options: TrainingOptions,
    seconds: float,
) -> Training:
    """Train the rest of a plan; `seconds` is the time already spent."""
    started = perf_counter()
    trained = fit_binaries(
        dichotomies, split.X_train, split.class_indices_train, len(plan.classes), options
    )
    return Training(plan, trained, seconds + perf_counter() - started)
