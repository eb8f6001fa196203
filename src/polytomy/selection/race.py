"""The race: candidates are measured on the same held-out folds, and losers are dropped.

Schemes made from data use only the training part of a fold. Candidates that are calibrated on as
many folds as there are share them with their calibrations, and none is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import check_random_state

from polytomy.calibration.folds import (
    HoldOut,
    RoutedSplitter,
    check_folds,
    choose_folds,
    row_numbers,
)
from polytomy.errors import Argument, ArgumentError, PolytomyError, warn_caller
from polytomy.inputs.arguments import Parameter
from polytomy.metrics import METRICS, Metric
from polytomy.metrics.scores import HEADLINE
from polytomy.model.arrangement import check_solver
from polytomy.model.scheme_argument import members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import Candidate, describe_error
from polytomy.selection.measuring import FoldMeasurer, Progress
from polytomy.selection.runners import (
    Entry,
    Fold,
    RaceSetup,
    Rows,
    Runner,
    is_clear_loss,
    mean_and_error,
)


def comparison_folds(
    cv: Any,
    X: Any,
    y: NDArray[Any],
    random_state: Any = None,
    **split_params: Any,
) -> list[Fold]:
    """Return pairs of training and held-out rows; every training part has all classes.

    Parameters
    ----------
    cv : int, float, "auto", splitter or list of splits
        A number divides the samples of each class among that many folds, or among as many as the
        largest class has samples. If a class has only one sample, it is always trained on. A
        fraction holds out that share of the samples once; "auto" is as for a classifier.
    X, y : the data
    random_state : fixes the folds if cv is a number
    **split_params : further arguments of a splitter's ``split``, such as groups

    Examples
    --------
    >>> y = np.array(["a", "b", "a", "b", "c"])
    >>> folds = comparison_folds(2, None, y, random_state=0)
    >>> [(len(training), len(held_out)) for training, held_out in folds]
    [(3, 2), (3, 2)]
    """
    check_folds(cv)
    if isinstance(cv, RoutedSplitter):
        cv, split_params = cv.splitter, dict(cv.parameters)
    cv = choose_folds(cv, len(y))
    if isinstance(cv, int | np.integer):
        return _deal_classes(y, int(cv), random_state)
    if isinstance(cv, HoldOut):
        mask, _ = cv.choose(y, random_state)
        cv = [(~mask, mask)]
    splits = cv.split(X, y, **split_params) if hasattr(cv, "split") else cv
    folds = [
        (row_numbers(training, len(y)), row_numbers(held_out, len(y)))
        for training, held_out in splits
    ]
    n_classes = len(np.unique(y))
    for number, (training, _) in enumerate(folds, start=1):
        if len(np.unique(y[training])) < n_classes:
            raise ArgumentError(
                f"fold {number} of ",
                Argument("cv"),
                " trains without some of the classes. Use stratified folds, or a number of folds.",
            )
    if not folds:
        raise ArgumentError(Argument("cv", cv), " makes no folds.")
    return folds


def _deal_classes(y: NDArray[Any], n_folds: int, random_state: Any) -> list[Fold]:
    class_indices = np.unique(y, return_inverse=True)[1]
    counts = np.bincount(class_indices)
    n_folds = min(n_folds, int(counts.max()))
    if n_folds < 2:
        raise ArgumentError(
            "every class has only one sample, so nothing can be held out. Use more samples, or "
            "choose a scheme yourself."
        )
    generator = check_random_state(random_state)
    fold_of = np.empty(len(y), dtype=np.intp)
    first = 0
    for class_index, count in enumerate(counts):
        members = generator.permutation(np.flatnonzero(class_indices == class_index))
        # Each class starts where the previous one stopped, so that the folds have equal sizes.
        fold_of[members] = (first + np.arange(count)) % n_folds if count > 1 else -1
        first += int(count) if count > 1 else 0
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds)]


@dataclass
class Race:
    """The result of a race: the runners, in the order of the candidates.

    If it was run on folds that it shared with the calibrations, it has these.
    """

    runners: list[Runner]
    calibration_folds: list[Fold] | None = None

    @property
    def n_folds(self) -> int:
        """Number of folds that were run."""
        return max(runner.n_folds for runner in self.runners)

    @property
    def survivors(self) -> list[Runner]:
        """The runners that were measured on every fold and can still win."""
        return [runner for runner in self.runners if not runner.reason]

    def gap(self, runner: Runner, other: Runner) -> tuple[float, float]:
        """Return a runner's loss minus another's on their common folds, and its standard error."""
        common = list(zip(runner.folds, other.folds, strict=False))
        losses = np.concatenate([one.losses - two.losses for one, two in common])
        weight = np.concatenate([one.weight for one, _ in common])
        return mean_and_error(losses, weight)

    def leader(self, runners: Sequence[Runner]) -> Runner:
        """Return the runner with the smallest loss; the first in a tie."""
        best = runners[0]
        for runner in runners[1:]:
            if self.gap(runner, best)[0] < 0:
                best = runner
        return best


def find_metric(name: str) -> Metric:
    """Return the metric with this name for the parameter ``scoring``, or raise ArgumentError.

    Examples
    --------
    >>> find_metric("accuracy").larger_is_better
    True
    """
    known = tuple(each.name for each in METRICS.values() if each.needs_only_predictions)
    Parameter("scoring", choices=known).check(name)
    return METRICS[name]


def run_race(
    candidates: Sequence[Candidate],
    setup: RaceSetup,
    folds: Sequence[Fold],
    metrics: Sequence[Metric],
    *,
    budget: float | None = None,
    is_lenient: bool = False,
    raises_failures: bool = False,
    drops_losers: bool = True,
    n_members: int = 1,
    progress: Progress | None = None,
    on_fold: Callable[[Race], None] | None = None,
) -> Race:
    """Measure candidates on folds, and drop those that can no longer win.

    Parameters
    ----------
    candidates : sequence of Candidate
    setup : RaceSetup
    folds : pairs of training and held-out rows; every training part has all classes
    metrics : metrics to measure; the first one decides
    budget : start no new fold after this many seconds
    is_lenient : whether to drop a candidate that cannot be used on this data, and note the
        reason; otherwise its error is raised
    raises_failures : whether to raise the error of a candidate whose training or prediction fails;
        otherwise it is left out with a warning
    drops_losers : whether to drop candidates that clearly lose
    n_members : number of candidates to choose for a pool; so many are never dropped as losers, and
        the probabilities of held-out samples are kept
    progress : context manager that takes the number of partitions of a fold, such as `progress_bar`
    on_fold : called after each fold
    """
    deciding = metrics[0]
    if n_members > 1:
        _check_members(candidates, n_members)
    if deciding.needs_probabilities and not any(each.gives_probabilities for each in candidates):
        raise ArgumentError(
            Argument("scoring", deciding.name),
            " needs probabilities, but no candidate's solver gives them. Use ",
            Argument("scoring", HEADLINE),
            ".",
        )
    race = Race([Runner(each) for each in candidates])
    measurer = FoldMeasurer(setup, metrics, n_members > 1, drops_losers)
    started = perf_counter()
    if budget is None and _is_run_on_shared_folds(race, measurer, folds, progress):
        _leave_out_failures(race, "", raises_failures=raises_failures)
        if on_fold is not None:
            on_fold(race)
        return race
    for number, (rows, held_out) in enumerate(folds, start=1):
        entries = make_schemes(race.survivors, setup, rows, is_lenient=is_lenient)
        if not entries:
            first = race.runners[0]
            raise ArgumentError(
                "no candidate can be used on this data. The first of the ",
                Argument("candidates"),
                f", {first.candidate.name!r}: {first.reason}",
            )
        measurer.measure(entries, rows, held_out, progress)
        _leave_out_failures(race, f" in fold {number}", raises_failures=raises_failures)
        for runner in race.survivors:
            if deciding.needs_probabilities and not runner.candidate.gives_probabilities:
                runner.reason = f'solver="{runner.candidate.solver}" does not give probabilities'
        if on_fold is not None:
            on_fold(race)
        if number == len(folds):
            break
        if budget is not None and perf_counter() - started > budget:
            break
        if not drops_losers:
            continue
        _drop_losers(race, n_members)
        if len(race.survivors) == 1:
            break
    return race


def _is_run_on_shared_folds(
    race: Race, measurer: FoldMeasurer, folds: Sequence[Fold], progress: Progress | None
) -> bool:
    """Run the whole race on the folds of the calibrations, if that is possible.

    One fit then gives the result of a candidate on all folds, where folds within folds take a fit
    for each. On six datasets, both ways chose equally good candidates, and these scores were closer
    to those of the chosen classifier on test samples.
    """
    runners = [Runner(each.candidate) for each in race.runners]
    if not measurer.shares_folds([each.candidate for each in runners], folds):
        return False
    every_row = np.arange(len(measurer.setup.y))
    entries = make_schemes(runners, measurer.setup, every_row, is_lenient=True)
    if len(entries) < len(runners):
        return False
    measurer.measure_folds(entries, folds, progress)
    if not all(each.is_measured or each.reason or each.error for each in runners):
        return False
    race.runners, race.calibration_folds = runners, measurer.calibration_folds(folds)
    return True


def _check_members(candidates: Sequence[Candidate], n_members: int) -> None:
    """Raise an ArgumentError if a candidate cannot be a member of a pool."""
    for each in candidates:
        if not each.gives_probabilities:
            raise ArgumentError(
                Argument("pool", n_members),
                f" combines probabilities, and the solver of {each.name!r}, ",
                f'"{each.solver}", gives none. Leave it out, or use another solver.',
            )


def _leave_out_failures(race: Race, where: str, *, raises_failures: bool) -> None:
    """Give runners that failed their reason, with a warning.

    If none is left, the first error is raised: usually, they all failed for the same reason.
    """
    failed = [runner for runner in race.survivors if runner.error is not None]
    for runner in failed:
        assert runner.error is not None
        if raises_failures:
            raise runner.candidate.refused(runner.error) from runner.error
        runner.reason = f"failed{where}: {describe_error(runner.error)}"
    if failed and not race.survivors:
        error = failed[0].error
        assert error is not None
        error.add_note(
            f"Every candidate failed. This is the error of {failed[0].candidate.name!r}."
        )
        raise error
    warn_of_failures([(runner.candidate, runner.reason) for runner in failed])


def warn_of_failures(failures: Sequence[tuple[Candidate, str]]) -> None:
    """Warn that candidates are left out because their training or prediction fails."""
    if not failures:
        return
    (first, reason), *more = failures
    names = ", ".join(repr(candidate.name) for candidate, _ in more)
    also = f". Also left out: {names}" if names else ""
    text = f"candidate {first.name!r} is left out: it {reason.removesuffix('.')}{also}."
    warn_caller(text, FitFailedWarning)


def _drop_losers(race: Race, n_members: int) -> None:
    """Drop runners whose losses are clearly larger than the least, but never the best members."""
    runners = race.survivors
    best = race.leader(runners)
    gaps = [race.gap(each, best) for each in runners]
    for k in np.argsort([gap for gap, _ in gaps], kind="stable")[n_members:]:
        gap, error = gaps[k]
        n_values = sum(len(each.losses) for each in runners[k].folds)
        if is_clear_loss(gap, error, n_values):
            reason = f"dropped after fold {race.n_folds} ({best.candidate.name} was better)"
            runners[k].reason = reason


def make_schemes(
    runners: Sequence[Runner], setup: RaceSetup, rows: Rows, *, is_lenient: bool
) -> list[Entry]:
    """Return the runners, each with its scheme for some rows, without those that cannot be used."""
    X, y = setup.samples(rows, rows), setup.y[rows]
    entries = []
    # Candidates that differ only in parameters have the same scheme.
    known: dict[int, Scheme | SchemeEnsemble] = {}
    for runner in runners:
        candidate = runner.candidate
        try:
            scheme = known.get(id(candidate.scheme))
            if scheme is None or candidate.estimator is None:
                scheme = known[id(candidate.scheme)] = scheme_from(
                    candidate.scheme,
                    setup.training.classes,
                    X=X,
                    y=y,
                    random_state=setup.training.random_state,
                    class_order=setup.class_order,
                    warns_of_order=False,
                    max_sides=setup.training.max_sides,
                )
            for member in members_of(scheme):
                check_solver(member, candidate.solver)
        except PolytomyError as error:
            if not is_lenient:
                raise candidate.refused(error) from error
            runner.reason = str(error)
        else:
            entries.append((runner, scheme))
    return entries
