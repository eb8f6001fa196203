"""Compression: the support vector machines of a composition are approximated, for faster answers.

Calibrators, solver and final calibration stay, because the approximations have nearly the same
decision values. The loss is measured on samples that neither the machines nor their approximations
have seen. If the samples are those of training, some machines are trained again without them: an
approximation of machines that have seen a sample knows its class too, even if it was not learnt
from that sample. On 4000 letters, it seemed to gain five points of accuracy and lost five.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from polytomy.calibration.calibrators import TemperatureCalibrator
from polytomy.calibration.folds import Folds, deal_rows
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import Parameter, count_things, is_count
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import Samples, blocks_of, check_features
from polytomy.learners.bank import Bank
from polytomy.learners.borders import BorderMachine
from polytomy.learners.cascade import Cascade
from polytomy.learners.estimator_states import set_classes
from polytomy.learners.fourier import FourierFeatures
from polytomy.learners.preparation import list_steps, resolve_estimator, split_pipeline
from polytomy.learners.svm.evaluation import KernelMember, kernel_member
from polytomy.learners.svm.kernels import effective_gamma, variance_of
from polytomy.learners.svm.machines import pool_by_bytes
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.composition import Composition, Compression
from polytomy.model.out_of_fold import judge
from polytomy.model.sets import collect_conformity
from polytomy.routines.threads import one_blas_thread

Floats = NDArray[np.float64]

# More samples hardly improve an approximation, and their scores take time and memory.
_MOST_SAMPLES = 20_000
_MOST_SCORES = 2**25

# Enough held-out samples for a standard error of about a quarter of a point.
_ENOUGH_HELD_OUT = 3_000
_N_FOLDS = 5
_LEAST_SAMPLES = 2 * _N_FOLDS

# Relative to the number of samples. Ten times more or less made no difference.
_RIDGE = 1e-5

# A smaller gain is not worth an approximation.
_LEAST_SPEED_UP = 1.2
_TIMED_SAMPLES = 4_000
_LEAST_TIMINGS, _SECONDS_OF_TIMING = 4, 0.2

_MANY_SEEN = 0.1

_BISECTIONS = 40
_MOST_BYTES = 2**24
_SEED = 0

_MAX_ACCURACY_LOSS = Parameter(
    "max_accuracy_loss",
    "a number from 0 to 1",
    lambda value: isinstance(value, int | float) and 0 <= value <= 1,
)
_N_BORDERS = Parameter("n_borders", "a positive integer", lambda value: is_count(value) and value)


def compress_classifier(
    classifier: Any,
    exact: Composition,
    X: Any,
    y: Any,
    method: str,
    max_accuracy_loss: float,
    n_borders: int | None,
) -> Composition:
    """Return the composition of a compressed classifier; see `PolytomyClassifier.compress`.

    Parameters
    ----------
    classifier : PolytomyClassifier; clones of it are trained without some of the samples
    exact : its composition
    X, y, method, max_accuracy_loss, n_borders : arguments of the method
    """
    Parameter("method", choices=("auto", *METHODS)).check(method)
    _MAX_ACCURACY_LOSS.check(max_accuracy_loss)
    if n_borders is not None:
        _N_BORDERS.check(n_borders)
        if method != "borders":
            raise ArgumentError(
                Argument("n_borders", n_borders), " needs ", Argument("method", "borders"), "."
            )
    if exact.compression is not None:
        raise ArgumentError("the classifier is compressed already. Compress the exact one.")
    members = _find_members(exact)
    X = exact.preprocess(check_features(classifier, X))
    n_least = _LEAST_SAMPLES
    if method != "auto":
        known_sizes, _, n_of_unit = METHODS[method]
        n_least = max(n_least, n_of_unit * known_sizes[0])
    if count_rows(X) < n_least:
        found = count_things(count_rows(X), "sample")
        raise DataError(
            f"X has {found}; ", Argument("method", method), f" needs {n_least} or more."
        )
    generator = np.random.default_rng(_SEED)
    has_seen = _has_seen(members, X)
    if y is not None:
        class_indices = _find_class_indices(y, exact.classes, count_rows(X))
    elif has_seen:
        raise ArgumentError(
            Argument("y"),
            " is needed, because X has samples of training: to measure the loss, machines are "
            "trained again without some of them. Pass the labels of X.",
        )
    else:
        class_indices = _draw_classes(exact.scores(X), generator)

    def report(text: str) -> None:
        if classifier.verbose:
            print(text, file=sys.stderr, flush=True)

    rows = _choose_samples(count_rows(X), len(exact.binaries), generator)
    plain = replace(exact, prior=None, preprocessing=None)
    teacher = _Teacher(plain, take_rows(X, rows), class_indices[rows])
    timed = take_rows(X, rows[:_TIMED_SAMPLES])
    refit = _make_refit(classifier, exact, X, class_indices) if has_seen else None
    held_out: list[_HeldOut] = []
    tried = []
    sizes = None if n_borders is None else (n_borders,)
    for candidate in _build_candidates(teacher, timed, method, sizes, report):
        label = f"{candidate.method} {candidate.size}: {candidate.speed_up:.1f} times as fast"
        if method == "auto" and candidate.speed_up < _LEAST_SPEED_UP:
            tried.append(label)
            continue
        held_out = held_out or list(_hold_out(plain, X, class_indices, refit, report))
        compression, probabilities = _measure(candidate, held_out)
        report(str(compression))
        if compression.accuracy_loss <= max_accuracy_loss:
            classes = np.concatenate([each.unseen_classes for each in held_out])
            return _attach(exact, candidate.fast, compression, probabilities, classes)
        tried.append(str(compression))
    raise ArgumentError(
        "the classifier cannot be compressed within ",
        Argument("max_accuracy_loss", max_accuracy_loss),
        f". {'; '.join(tried)}. Keep the exact classifier, or allow a larger loss.",
    )


class _Candidate(NamedTuple):
    """A compressed composition, and how many times as fast as the exact one it is."""

    method: str
    size: int
    fast: Composition
    speed_up: float


def _build_candidates(
    teacher: _Teacher,
    timed: Any,
    method: str,
    sizes: Sequence[int] | None,
    report: Callable[[str], None],
) -> Iterator[_Candidate]:
    """Yield the sizes of a method in turn; of "auto", all of its methods, the fastest first."""
    if method == "auto":
        each = [_build_candidates(teacher, timed, name, None, report) for name in _AUTO]
        yield from sorted(chain(*each), key=lambda one: -one.speed_up)
        return
    default_sizes, build, n_of_unit = METHODS[method]
    for size in sizes or default_sizes:
        if n_of_unit * size > count_rows(teacher.X):
            break
        fast = build(teacher, size)
        speed_up = _speed_up(teacher.exact, fast, timed)
        report(f"{method} {size}: {speed_up:.1f} times as fast")
        yield _Candidate(method, size, fast, speed_up)


def _attach(
    exact: Composition,
    fast: Composition,
    compression: Compression,
    probabilities: Floats,
    class_indices: NDArray[np.intp],
) -> Composition:
    """Return the compressed composition, with the scores and sets of its own probabilities."""
    steps = [*list_steps(exact.preprocessing), *list_steps(fast.preprocessing)]
    final = exact.final
    if final is not None:
        weight = np.ones(len(class_indices))
        final = replace(
            final,
            score=judge(probabilities, class_indices, weight),
            probabilities=None,
            conformity=collect_conformity(probabilities, class_indices, weight),
        )
    return replace(
        exact,
        bank=fast.bank,
        out_of_fold=fast.out_of_fold,
        preprocessing=make_pipeline(*steps) if steps else None,
        final=final,
        compression=compression,
        cascade=fast.cascade,
    )


def _find_class_indices(y: Any, classes: NDArray[Any], n_samples: int) -> NDArray[np.intp]:
    """Return the class indices of labels; DataError if one is not a class."""
    labels = np.asarray(y)
    if labels.shape != (n_samples,):
        raise DataError(f"y has the shape {labels.shape}; {n_samples} samples need ({n_samples},).")
    is_unknown = ~np.isin(labels, classes)
    if is_unknown.any():
        raise DataError(
            f"y has the label {labels[is_unknown].tolist()[0]!r}, which is not a class."
        )
    return np.searchsorted(classes, labels)


# -- methods ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Teacher:
    """A composition to approximate, and samples to do so."""

    exact: Composition
    X: Any
    class_indices: NDArray[np.intp]

    @cached_property
    def scores(self) -> Floats:
        return self.exact.bank.scores(self.X)


def _build_fourier(teacher: _Teacher, n_components: int) -> Composition:
    """Return linear functions of random features, fitted to the decision values of all machines."""
    exact = teacher.exact
    features = _draw_features(teacher, n_components)
    values = features.transform(teacher.X).astype(np.float64)
    inputs = np.column_stack([values, np.ones(len(values))])
    squares = inputs.T @ inputs
    squares[np.diag_indices(n_components)] += _RIDGE * len(inputs)
    weights = np.linalg.solve(squares, inputs.T @ teacher.scores)
    binaries = [
        binary if binary.output is Output.CONSTANT else _linear_binary(binary, weights[:, column])
        for column, binary in enumerate(exact.binaries)
    ]
    return replace(
        exact, bank=Bank(binaries, exact.bank.dtype), preprocessing=make_pipeline(features)
    )


def _linear_binary(binary: TrainedBinary, weights: Floats) -> TrainedBinary:
    model = RidgeClassifier()
    model.coef_, model.intercept_ = weights[np.newaxis, :-1].copy(), weights[-1:].copy()
    model.n_features_in_ = len(weights) - 1
    set_classes(model, np.array([-1, 1]))
    return replace(binary, estimator=model, classes=(-1, 1), positive_index=1)


def _build_cascade(teacher: _Teacher, n_units: int) -> Composition:
    """Return the same machines behind a student."""
    exact, members = teacher.exact, _find_members(teacher.exact)
    inputs = _as_numbers(teacher), teacher.class_indices, len(exact.classes), exact.dichotomies
    return replace(exact, cascade=Cascade.fit(*inputs, n_units, _find_factor(members)))


def _build_borders(teacher: _Teacher, n_borders: int) -> Composition:
    """Return binaries that compare samples with the nearest border sample (Mills 2018).

    Border samples are roots of P(+1) − P(−1) on lines between samples of opposite sides.
    """
    exact, X = teacher.exact, _as_numbers(teacher)
    if is_sparse(X):
        raise ArgumentError(Argument("method", "borders"), " needs dense samples.")
    generator = np.random.default_rng(_SEED)
    binaries = [
        binary
        if binary.output is Output.CONSTANT
        else _find_borders(Bank([binary]), X, n_borders, generator)
        for binary in exact.binaries
    ]
    # The scores have another scale, so those of the folds are of no use.
    return replace(exact, bank=Bank(binaries, exact.bank.dtype), out_of_fold=None)


def _find_borders(
    bank: Bank, X: Floats, n_borders: int, generator: np.random.Generator
) -> TrainedBinary:
    (binary,) = bank.binaries
    answers = bank.decisions(X)[:, 0]
    sides = [np.flatnonzero(answers < 0), np.flatnonzero(answers > 0)]
    if not all(map(len, sides)):
        return TrainedBinary(binary.name, Output.CONSTANT, constant=float(np.mean(answers)))
    negative, positive = (X[generator.choice(rows, n_borders)] for rows in sides)
    for _ in range(_BISECTIONS):
        middle = (negative + positive) / 2
        is_positive = bank.decisions(middle)[:, :1] > 0
        positive = np.where(is_positive, middle, positive)
        negative = np.where(is_positive, negative, middle)
    borders = (negative + positive) / 2
    gradients = np.empty_like(borders)
    steps = 1e-4 * np.maximum(X.std(axis=0), np.finfo(np.float64).tiny)
    for block in blocks_of(len(steps), 16 * borders.size, _MOST_BYTES):
        moved = np.eye(len(steps))[block] * steps
        points = [borders[:, np.newaxis] + sign * moved for sign in (1.0, -1.0)]
        up, down = (bank.decisions(each.reshape(-1, len(steps)))[:, 0] for each in points)
        gradients[:, block] = (up - down).reshape(len(borders), -1) / (2 * steps[block])
    machine = BorderMachine(borders, gradients)
    # tanh(v) = 2 / (1 + exp(−2v)) − 1
    return TrainedBinary(binary.name, Output.MARGIN, machine, TemperatureCalibrator.of(2.0, 0.0))


METHODS: dict[str, tuple[tuple[int, ...], Callable[[_Teacher, int], Composition], int]] = {
    # With about as many features as samples, the regression is ill-conditioned: 200 features and
    # 200 samples of digits lost 47 points of accuracy, and 10 with the 160 samples of a fold.
    "fourier": ((200, 300, 500, 1000), _build_fourier, 2),
    "cascade": ((100, 200), _build_cascade, 0),
    "borders": ((100, 300), _build_borders, 0),
}
"""The ways to compress: sizes to try, the fastest first, the function that compresses, and the
samples that it needs for each unit of size."""

# Borders take longest to find, and were never the best on seven datasets.
_AUTO = ("fourier", "cascade")


def _find_members(exact: Composition) -> list[KernelMember]:
    """Return the machines of a composition; ArgumentError if a binary is something else."""
    members = []
    for binary in exact.binaries:
        member = kernel_member(binary)
        if member is not None and member.kernel.kind != "linear" and binary.columns is None:
            members.append(member)
        elif binary.output is not Output.CONSTANT:
            raise ArgumentError(
                f'only support vector machines can be compressed, and binary "{binary.name}" is '
                "not one, or has a linear kernel, which is fast already."
            )
    if not members:
        raise ArgumentError("the classifier has no support vector machines to compress.")
    return members


def _as_numbers(teacher: _Teacher) -> Any:
    """Return the samples as an array, or as a CSR matrix."""
    return Samples(teacher.X).as_numbers(teacher.exact.binaries[0].estimator, teacher.X.shape[1])


def _find_factor(members: Sequence[KernelMember]) -> Floats | float:
    """Return what the machines multiply features by, on average."""
    scalings = [member.scaling for member in members if member.scaling is not None]
    return np.mean([each.factor for each in scalings], axis=0) if scalings else 1.0


def _draw_features(teacher: _Teacher, n_components: int) -> FourierFeatures:
    """Return random features of the machines' kernel, or of a similar one if it is not rbf.

    If the machines scale samples, so do the features.
    """
    X, members = _as_numbers(teacher), _find_members(teacher.exact)
    gamma = float(np.median([member.kernel.gamma for member in members]))
    if members[0].kernel.kind != "rbf":
        scaling = members[0].scaling
        scaled = X if scaling is None else scaling.apply(X)
        gamma = effective_gamma("scale", X.shape[1], variance_of(scaled))
    centre = np.zeros(X.shape[1]) if is_sparse(X) else X.mean(axis=0)
    return FourierFeatures.draw(centre, n_components, gamma, _SEED, _find_factor(members))


# -- measurements ----------------------------------------------------------------------------------


class _HeldOut(NamedTuple):
    """A composition to approximate, and samples that it has not seen."""

    teacher: _Teacher
    X_unseen: Any
    unseen_classes: NDArray[np.intp]


_Refit = Callable[[NDArray[np.intp]], Sequence[TrainedBinary]]


def _make_refit(
    classifier: Any, exact: Composition, X: Any, class_indices: NDArray[np.intp]
) -> _Refit:
    """Return a function that trains the binaries again on some rows of X, uncalibrated."""
    if any(each.trained is not None for each in exact.dichotomies):
        raise ArgumentError(
            "the machines were given fitted, so they cannot be trained again without some samples "
            "to measure the loss, and X has samples of their training. Pass other samples."
        )
    estimator = classifier.estimator
    if exact.preprocessing is not None:
        estimator = split_pipeline(resolve_estimator(estimator))[1]  # X is transformed already
    unfitted = clone(classifier).set_params(
        estimator=estimator,
        shared_preprocessing=False,
        scheme=exact.scheme,
        calibration=None,
        final_calibration=None,
        verbose=0,
    )

    def refit(rows: NDArray[np.intp]) -> Sequence[TrainedBinary]:
        fitted = clone(unfitted).fit(take_rows(X, rows), exact.classes[class_indices[rows]])
        binaries: Sequence[TrainedBinary] = fitted.composition_.binaries
        return binaries

    return refit


def _hold_out(
    exact: Composition,
    X: Any,
    class_indices: NDArray[np.intp],
    refit: _Refit | None,
    report: Callable[[str], None],
) -> Iterator[_HeldOut]:
    """Yield compositions that are trained without some samples; the exact one if `refit` is None.

    Calibrators are those of the exact composition, which were learnt from held-out samples.
    """
    generator = np.random.default_rng(_SEED)
    folds = Folds.from_numbers(deal_rows(class_indices, _N_FOLDS, _SEED)).first(_ENOUGH_HELD_OUT)
    # The only sample of a class is always trained on.
    is_single = np.bincount(class_indices)[class_indices] < 2
    for fold in range(folds.n_folds):
        is_unseen = (folds.fold_of == fold) & ~is_single
        rows, unseen = np.flatnonzero(~is_unseen), np.flatnonzero(is_unseen)
        without = exact
        if refit is not None:
            report(f"training without some samples: {fold + 1} of {folds.n_folds}")
            binaries = [
                replace(own, calibrator=binary.calibrator)
                for own, binary in zip(refit(rows), exact.binaries, strict=True)
            ]
            without = replace(exact, bank=Bank(binaries, exact.bank.dtype))
        own = rows[_choose_samples(len(rows), len(exact.binaries), generator)]
        teacher = _Teacher(without, take_rows(X, own), class_indices[own])
        yield _HeldOut(teacher, take_rows(X, unseen), class_indices[unseen])


def _measure(candidate: _Candidate, held_out: Sequence[_HeldOut]) -> tuple[Compression, Floats]:
    """Return what an approximation loses, and its probabilities of unseen samples."""
    name, size, _, speed_up = candidate
    build = METHODS[name][1]
    classes = np.concatenate([each.unseen_classes for each in held_out])
    before = np.concatenate([each.teacher.exact.scores(each.X_unseen) for each in held_out])
    after = np.concatenate([build(each.teacher, size).scores(each.X_unseen) for each in held_out])
    rows = np.arange(len(classes))
    right = [(each.argmax(axis=1) == classes).astype(np.float64) for each in (before, after)]
    losses = [-np.log(np.maximum(each[rows, classes], _LEAST)) for each in (before, after)]
    loss, error = _mean_and_error(right[0] - right[1])
    compression = Compression(
        name,
        size,
        speed_up,
        loss,
        max(error, 1 / len(classes)),  # all answers may be the same by chance
        *_mean_and_error(losses[1] - losses[0]),
        len(classes),
    )
    return compression, after


# The smallest probability that counts in a log-loss.
_LEAST = float(np.finfo(np.float64).eps)


def _mean_and_error(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _speed_up(exact: Composition, fast: Composition, X: Any) -> float:
    """Return the time that one composition takes for samples, divided by that of another.

    It is processor time, which depends less on what else the machine does. Threads of BLAS use some
    of it while they wait for work, so there is only one, and earlier ones have time to fall asleep.
    """
    shortest = [np.inf, np.inf]
    n_timed, end = 0, time.monotonic() + _SECONDS_OF_TIMING
    with one_blas_thread():
        while n_timed < _LEAST_TIMINGS or time.monotonic() < end:
            for k, each in enumerate((exact, fast)):
                start = time.process_time()
                each.scores(X)
                shortest[k] = min(shortest[k], time.process_time() - start)
            n_timed += 1
    return shortest[0] / shortest[1]


def _has_seen(members: Sequence[KernelMember], X: Any) -> bool:
    """Return whether X is training data, or part of it: it has many of the support vectors.

    A few may be there by chance, if samples are repeated.
    """
    member = max(members, key=lambda each: len(each.coefficients))
    vectors = member.vectors if member.support is None else member.vectors[member.support]
    X = Samples(X).as_numbers(member.binary.estimator, vectors.shape[1])
    scaled = X if member.scaling is None else member.scaling.apply(X)
    if is_sparse(vectors) != is_sparse(scaled):
        vectors, scaled = (
            each.toarray() if is_sparse(each) else each for each in (vectors, scaled)
        )
    own, given = pool_by_bytes([vectors, scaled]).places
    return bool(max(np.isin(own, given).mean(), np.isin(given, own).mean()) > _MANY_SEEN)


def _draw_classes(probabilities: Floats, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return a class for each row, drawn from its probabilities."""
    limits = np.cumsum(probabilities, axis=1)
    draws = generator.uniform(size=(len(limits), 1)) * limits[:, -1:]
    return np.asarray((draws > limits).sum(axis=1))


def _choose_samples(
    n_samples: int, n_binaries: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Return rows in random order: all of them, or as many as are enough."""
    most = min(_MOST_SAMPLES, max(1_000, _MOST_SCORES // n_binaries))
    return generator.permutation(n_samples)[:most]
