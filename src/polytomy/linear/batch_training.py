"""Training a batch of linear problems: their models, calibrators and held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.answers import HeldOutScores, Output, TrainedBinary, choose_output
from polytomy.binary.options import TrainingOptions
from polytomy.binary.problem_list import ProblemList
from polytomy.binary.problems import BinaryProblem
from polytomy.binary.training import constant_binary, describe_shortcoming
from polytomy.calibration.calibrators import Calibrator, UncalibratedMap
from polytomy.calibration.option import HeldOut, fit_calibrators
from polytomy.calibration.thinning import thin_larger_side
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.weights import check_weights
from polytomy.linear.costs import sample_costs, sample_weights
from polytomy.linear.fitted_models import FittedModels
from polytomy.linear.objectives import LinearObjective
from polytomy.linear.stacked import SharedRows, fit_stacked_models
from polytomy.routines.linear.reference import LinearFits, LinearSamples
from polytomy.routines.runtime.dispatch import routine
from polytomy.svm.batch_folds import BatchFolds
from polytomy.svm.batches import Batch

__all__ = ["BatchTrainer", "TrainedModel"]

Floats = NDArray[np.float64]

# Most values to fit the sigmoids of all binaries to, and the fewest for each binary.
_MOST_VALUES = 2**26
_FEWEST_VALUES = 2**12


class TrainedModel(NamedTuple):
    """A trained binary.

    Attributes
    ----------
    binary : TrainedBinary
    held_out : HeldOutScores, or None without shared folds
    is_converged : bool, whether the solver reached its tolerance
    """

    binary: TrainedBinary
    held_out: HeldOutScores | None
    is_converged: bool = True


class BatchTrainer:
    """Trains batches of problems that minimise the same objective.

    Parameters
    ----------
    objective : LinearObjective
    X : the training data as passed by the user, for splitters that use it
    numbers : the training data as a float64 or float32 array, or as a CSR matrix
    options : TrainingOptions
    n_binaries : number of problems in all batches
    """

    def __init__(
        self,
        objective: LinearObjective,
        X: Any,
        numbers: Any,
        options: TrainingOptions,
        n_binaries: int,
    ) -> None:
        self._objective, self._X, self._numbers = objective, X, numbers
        self._options = options
        self._most_values = max(_FEWEST_VALUES, _MOST_VALUES // max(1, n_binaries))
        calibration = options.calibration
        is_automatic = isinstance(calibration, str) and calibration == "auto"
        self._uses_own = calibration is None or (is_automatic and objective.is_logistic)
        given = options.arguments.sample_weight
        self._weight = None if given is None else check_weights(given, count_rows(X))

    @property
    def makes_folds(self) -> bool:
        """Whether fold models are trained."""
        return self._options.folds is not None or not self._uses_own

    def train(
        self,
        batch: Sequence[int],
        problems: ProblemList,
        makers: Sequence[FittedModels],
        seeds: Sequence[int | None],
        *,
        is_stacked: bool,
    ) -> list[TrainedModel]:
        """Return the trained binaries of a batch, in its order.

        Parameters
        ----------
        batch : numbers of problems
        problems : ProblemList
        makers, seeds : one for each problem of the batch
        is_stacked : whether all problems have the same rows
        """
        started = perf_counter()
        own = [self._kept(problems[k]) for k in batch]
        has_sides = [problem.smaller_side > 0 for problem in own]
        to_train = [i for i, has_both in enumerate(has_sides) if has_both]
        trained: dict[int, TrainedModel] = {}
        if to_train:
            found = self._train(
                [own[i] for i in to_train],
                [makers[i] for i in to_train],
                [seeds[i] for i in to_train],
                is_stacked,
            )
            seconds = (perf_counter() - started) / len(to_train)
            for i, each in zip(to_train, found, strict=True):
                binary = replace(each.binary, seconds=seconds)
                trained[i] = each._replace(binary=binary)
        return [trained.get(i) or self._constant(problem) for i, problem in enumerate(own)]

    def _kept(self, problem: BinaryProblem) -> BinaryProblem:
        if self._weight is None or (is_kept := self._weight[problem.rows] > 0).all():
            return problem
        return problem.keep(is_kept)

    def _constant(self, problem: BinaryProblem) -> TrainedModel:
        binary, folds = constant_binary(problem), self._options.folds
        if folds is None:
            return TrainedModel(binary, None)
        scores = np.full(len(folds.scored), binary.constant, dtype=np.float32)
        return TrainedModel(binary, HeldOutScores(scores))

    def _train(
        self,
        problems: Sequence[BinaryProblem],
        makers: Sequence[FittedModels],
        seeds: Sequence[int | None],
        is_stacked: bool,
    ) -> list[TrainedModel]:
        """Return the trained binaries of problems that have samples on both sides."""
        options, objective = self._options, self._objective
        batch = Batch.of(problems)
        own_options = replace(options, calibration=None) if self._uses_own else options
        folds = BatchFolds.of(batch, self._X, own_options, seeds[0])
        weight = sample_weights(problems, options, count_rows(self._X))
        fits = (self._fit_stack if is_stacked else self._fit_each)(batch, folds, weight)
        to_calibrate = self._select_held_out(batch, folds, fits.values, weight, seeds)
        calibrators = fit_calibrators(options.calibration, to_calibrate, seeds)
        reasons = [""] * len(problems) if self._uses_own else folds.reasons
        binaries = []
        for i, problem in enumerate(problems):
            coefficients, n_steps = fits.coefficients[i, 0], int(fits.n_steps[i])
            model = makers[i].make(coefficients, objective.bias, n_steps, seeds[i])
            binaries.append(
                self._as_binary(problem.name, model, makers[i].sides, calibrators[i], reasons[i])
            )
        scores = self._score_held_out(batch, folds, fits.coefficients, binaries)
        return [
            TrainedModel(
                binary,
                None if scores is None else HeldOutScores(scores[:, i]),
                bool(fits.is_converged[i]),
            )
            for i, binary in enumerate(binaries)
        ]

    def _fit_each(self, batch: Batch, folds: BatchFolds, weight: Floats | None) -> LinearFits:
        """Fit the models of the problems one after the other."""
        objective = self._objective
        costs = sample_costs(objective, batch, folds.is_kept, weight)
        fold_of = np.full(len(batch.rows), -1, dtype=np.intp)
        fold_of[folds.samples] = folds.fold_of
        signs = np.where(batch.is_positive, 1.0, -1.0)
        totals = np.add.reduceat(costs[0], batch.starts[:-1])
        arguments = batch.rows, batch.starts, signs, costs, fold_of, _trained_folds(folds, batch)
        fits: LinearFits = routine("fit_linear_models", "linear")(
            self._samples, *arguments, objective.form, *self._tolerances(batch, totals)
        )
        return fits

    def _fit_stack(self, batch: Batch, folds: BatchFolds, weight: Floats | None) -> LinearFits:
        """Fit the models of problems with the same rows together."""
        objective, n_samples = self._objective, int(batch.sizes[0])
        is_positive = batch.is_positive.reshape(-1, n_samples)
        is_trained, shared = _trained_folds(folds, batch), self._options.folds
        is_kept = folds.is_kept
        is_once = shared is not None and shared.is_only_part
        if is_once:  # only models without the permanently held-out part are trained
            is_kept, is_trained = is_kept[1:], is_trained[:, :0]
        is_uniform = weight is None and objective.class_weight is None
        if is_uniform and np.isnan(folds.constants).all():
            # A row has the same cost in all problems.
            costs = np.where(is_kept[:, np.newaxis, :n_samples], objective.C, 0.0)
        else:
            every = sample_costs(objective, batch, is_kept, weight)
            costs = every.reshape(-1, *is_positive.shape)
        fold_of = np.full(n_samples, -1, dtype=np.intp)
        of_first = folds.samples < n_samples
        fold_of[folds.samples[of_first]] = folds.fold_of[of_first]
        found = fit_stacked_models(
            self._shared_rows(batch.rows[:n_samples]),
            is_positive,
            costs,
            fold_of,
            is_trained,
            objective.form,
            *self._tolerances(batch, np.broadcast_to(costs[0].sum(axis=1), len(is_positive))),
            needs_values=not self._uses_own,
        )
        if not is_once:
            return found
        return found._replace(coefficients=found.coefficients.repeat(2, axis=1))

    def _tolerances(self, batch: Batch, totals: Floats) -> tuple[Floats, Floats]:
        """Return the tolerances of problems, given the sums of their costs."""
        return self._objective.tolerances(totals, batch.count(batch.is_positive), batch.sizes)

    @cached_property
    def _samples(self) -> LinearSamples:
        x = self._numbers
        if is_sparse(x):
            data = x.data.astype(np.float64, copy=False)
            indptr = x.indptr.astype(np.int64)
            rows = np.repeat(np.arange(x.shape[0]), np.diff(indptr))
            norms = np.sqrt(np.bincount(rows, data**2, minlength=x.shape[0]))
            indices = x.indices.astype(np.int32, copy=False)
            return LinearSamples(np.empty((0, 0)), data, indices, indptr, norms, x.shape[1])
        norms = np.sqrt(np.einsum("ij,ij->i", x, x, dtype=np.float64))
        nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
        return LinearSamples(x, *nothing, norms, x.shape[1])

    @cached_property
    def _all_rows(self) -> SharedRows:
        return SharedRows(self._numbers, self._objective.bias)

    def _shared_rows(self, rows: NDArray[np.intp]) -> SharedRows:
        if len(rows) == self._numbers.shape[0]:
            return self._all_rows
        return SharedRows(take_rows(self._numbers, rows), self._objective.bias)

    def _select_held_out(
        self,
        batch: Batch,
        folds: BatchFolds,
        values: Floats,
        weight: Floats | None,
        seeds: Sequence[int | None],
    ) -> list[HeldOut | None]:
        """Return the data that each problem's calibrator learns from, or None."""
        if self._uses_own:
            return [None] * len(batch.sizes)
        samples = folds.samples
        if not (np.diff(samples) > 0).all():  # a problem's own folds may hold a sample out twice
            samples = np.unique(samples)
        ends = np.searchsorted(samples, batch.starts)
        calibration = self._options.calibration
        is_sigmoid = isinstance(calibration, str) and calibration in ("auto", "sigmoid")
        found: list[HeldOut | None] = []
        for i, reason in enumerate(folds.reasons):
            chosen = samples[ends[i] : ends[i + 1]]
            if reason or not len(chosen):
                found.append(None)
                continue
            own_weight = None if weight is None else weight[chosen]
            if self._options.folds is not None:
                own_weight = self._options.folds.weigh(own_weight, batch.rows[chosen])
            held_out = HeldOut(values[chosen], batch.is_positive[chosen], own_weight)
            if is_sigmoid:
                held_out = thin_larger_side(held_out, self._most_values, seeds[i])
            found.append(held_out)
        return found

    def _as_binary(
        self,
        name: str,
        model: Any,
        sides: tuple[int, int],
        calibrator: Calibrator | None,
        reason: str,
    ) -> TrainedBinary:
        output = choose_output(model, None if calibrator is None else self._options.calibration)
        if calibrator is None and output is Output.MARGIN:
            calibrator = UncalibratedMap()
        binary = TrainedBinary(name, output, model, calibrator, classes=sides)
        if reason:
            return replace(binary, shortcoming=describe_shortcoming(binary, reason))
        return binary

    @cached_property
    def _scored_parts(self) -> list[tuple[NDArray[np.intp], Any]]:
        """For each shared fold, the scored samples that it holds out, and their rows."""
        folds = self._options.folds
        assert folds is not None
        fold_of = folds.fold_of[folds.scored]
        parts = [np.flatnonzero(fold_of == fold) for fold in range(folds.n_folds)]
        return [(own, take_rows(self._numbers, folds.scored[own])) for own in parts]

    def _score_held_out(
        self,
        batch: Batch,
        folds: BatchFolds,
        coefficients: Floats,
        binaries: Sequence[TrainedBinary],
    ) -> NDArray[np.float32] | None:
        """Return the scores that the fold models give to all scored rows."""
        shared = self._options.folds
        if shared is None:
            return None
        scores = np.empty((len(shared.scored), len(binaries)), dtype=np.float32, order="F")
        is_probability = np.array([each.output is Output.PROBABILITY for each in binaries])
        for fold, (own, samples) in enumerate(self._scored_parts):
            if not len(own):
                continue
            by_fold = coefficients[:, 1 + fold]
            found = np.asarray(samples @ np.ascontiguousarray(by_fold[:, :-1].T))
            found += self._objective.bias * by_fold[:, -1]
            if is_probability.any():
                found[:, is_probability] = np.tanh(found[:, is_probability] / 2.0)
            constants = folds.constants[fold]
            (constant,) = np.nonzero(~np.isnan(constants))
            if len(constant):
                n_seen = batch.count(shared.is_trained_on[fold, batch.rows])[constant]
                # Probabilities follow Laplace's rule of succession.
                shares = np.where(is_probability[constant], n_seen / (n_seen + 2.0), 1.0)
                found[:, constant] = constants[constant] * shares
            scores[own] = found
        return scores


def _trained_folds(folds: BatchFolds, batch: Batch) -> NDArray[np.bool_]:
    """Return which folds of each problem have a model, of shape (n_problems, n_folds)."""
    return np.ascontiguousarray(folds.is_trained.T).reshape(len(batch.sizes), -1)
