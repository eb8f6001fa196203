"""The scheme of ``scheme="auto"``: the winner of a race between the default candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from polytomy.model.parameters import TrainingSource
from polytomy.model.scheme_argument import SchemeArgument, Solver, gives_probabilities
from polytomy.selection.candidates import default_candidates
from polytomy.selection.choice import choose_runner
from polytomy.selection.folds import comparison_folds
from polytomy.selection.race import Progress, RaceSetup, run_race
from polytomy.selection.scoring import find_score

__all__ = ["choose_scheme"]


def choose_scheme(
    X: Any,
    y: NDArray[Any],
    estimator: Any,
    solver: Solver,
    training: TrainingSource,
    *,
    models: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    class_order: Sequence[Any] | None = None,
) -> SchemeArgument:
    """Return the scheme that suits the data, as a value of the parameter ``scheme``.

    Candidates are compared on the folds of ``cv``, by `joint_log_loss` if the solver gives
    probabilities and by the uncertainty coefficient otherwise.

    Parameters
    ----------
    X, y : the data, checked
    estimator, solver, models : as in the classifier
    training : the source of the training options
    progress : see `run_race`
    class_order : see `RaceSetup`
    """
    n_classes = len(training.classes)
    if n_classes < 3:  # there is only one scheme
        return "one-vs-one"
    deciding = "joint_log_loss" if gives_probabilities(solver) else "uncertainty_coefficient"
    folds = comparison_folds(
        training.parameters.cv,
        X,
        y,
        training.parameters.random_state,
        skips_incomplete=True,
        **training.routed.splitter,
    )
    race = run_race(
        default_candidates(n_classes, solver, has_order=class_order is not None),
        RaceSetup(X, y, estimator, training, models, class_order),
        folds,
        [find_score(deciding)],
        is_lenient=True,
        progress=progress,
    )
    return choose_runner(race).candidate.scheme
