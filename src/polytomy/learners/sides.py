"""Models of partitions with more than two sides: training, calibration, answers, ONNX.

A partition with n sides has one model. The rest of the code sees n binaries, one for each side
against the others. They share the model, which a bank evaluates only once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy.calibration.calibrators import CALIBRATORS, VectorScaling, find_calibrator
from polytomy.calibration.folds import Folds
from polytomy.errors import Argument, ArgumentError, SchemeError
from polytomy.inputs.arguments import list_names
from polytomy.inputs.rows import count_rows, unchangeable
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import Samples
from polytomy.learners.any_estimator import FoldError, ProblemTrainer, run_jobs, score_by_fold
from polytomy.learners.preparation import (
    check_neighbours,
    check_refusal,
    fit_batch,
    name_kind,
    split_pipeline,
    tags_of,
)
from polytomy.learners.problems import (
    Dichotomy,
    SidesProblem,
    WholePartition,
    group_sides,
    sides_problem,
)
from polytomy.learners.scaling import export_steps
from polytomy.learners.svm.kernels import KernelFunction, name_kernels
from polytomy.learners.trained import METHODS, Output, TrainedBinary, adopt_fitted, choose_output
from polytomy.learners.workload import Trained, TrainingOptions, Workload
from polytomy.onnx_conversion import ConversionError, export_estimator
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.reference.calibration import softmax
from polytomy.states import State, field_values, stored_as

Floats = NDArray[np.float64]


@stored_as("sided model")
@dataclass(frozen=True, slots=True, eq=False)
class SidesModel:
    """A fitted classifier, and how its output becomes a probability for each side.

    Attributes
    ----------
    name : name of the partition, for messages
    n_sides : int
    estimator : the fitted classifier; None if at most one side has samples
    known_sides : tuple of int
        The sides that the estimator knows, in the order of its classes.
    labels : tuple of the estimator's labels, in its own order
    output : Output.PROBABILITY, MARGIN (decision values) or LABEL
    scaling : VectorScaling, optional
        Turns decision values, or logarithms of probabilities, into probabilities.
    """

    kind_of_model: ClassVar[str] = "model with several sides"

    name: str
    n_sides: int
    estimator: Any
    known_sides: tuple[int, ...]
    labels: tuple[Any, ...] = ()
    output: Output = Output.PROBABILITY
    scaling: VectorScaling | None = None

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the sides, of shape (n_samples, n_sides)."""
        if self.estimator is None:
            return self._spread(np.ones((count_rows(X), len(self.known_sides))), fill=0.0)
        if self.scaling is None:
            return self._spread(self._own_probabilities(X), fill=0.0)
        return self.scaling.apply(self.values(X))

    def values(self, X: Any) -> Floats:
        """Return the input of vector scaling: decision values, or −inf for unknown sides."""
        if self.output is Output.MARGIN:
            own = np.asarray(self.estimator.decision_function(X), dtype=np.float64)
            own = np.column_stack([-own, own]) / 2 if self._is_of_two(own) else own
            self._check_shape(own, "decision_function")
            return self._spread(own, fill=-np.inf)
        return self._logarithms(self._own_probabilities(X))

    def chances(self, values: Floats) -> Floats:
        """Return `predict_proba`, given the decision values of a classifier like `is_softmax`'s.

        Parameters
        ----------
        values : array of shape (n_samples, n_known_sides), or (n_samples, 1) for two known sides
        """
        known = np.column_stack([-values, values]) / 2 if values.shape[1] == 1 else values
        if self.output is not Output.MARGIN:
            own = softmax(known.copy())
            if self.scaling is None:
                return self._spread(own, fill=0.0)
            return self.scaling.apply(self._logarithms(own))
        assert self.scaling is not None
        return self.scaling.apply(self._spread(known, fill=-np.inf))

    def state(self) -> dict[str, Any]:
        """Return all fields, the output as text."""
        return {**field_values(self), "output": str(self.output)}

    @classmethod
    def from_state(cls, state: State) -> SidesModel:
        """Return the model of a state."""
        name, n_sides = state.text("name"), state.integer("n_sides", least=2, most=2**31)
        known, labels = state.value("known_sides"), state.value("labels")
        are_sides = isinstance(known, tuple) and len(set(known)) == len(known) <= n_sides
        if not are_sides or not all(type(k) is int and 0 <= k < n_sides for k in known):
            raise state.fault("known_sides", f"different numbers below {n_sides}")
        if "estimator" not in state:
            if len(known) > 1:
                raise state.fault("estimator", "a classifier")
            return cls(name, n_sides, None, known)
        output = Output(state.text("output", [Output.PROBABILITY, Output.MARGIN, Output.LABEL]))
        estimator = state.part("estimator", "estimator", METHODS[output])
        if not isinstance(labels, tuple) or len(labels) != len(known):
            raise state.fault("labels", f"a label for each of {len(known)} sides")
        scaling = state.part("scaling", "vector scaling") if "scaling" in state else None
        if scaling is not None and len(scaling.slopes) != n_sides:
            raise state.fault("scaling", f"for {n_sides} sides")
        if scaling is None and output is Output.MARGIN:
            raise state.fault("scaling", "a map of decision values to probabilities")
        return cls(name, n_sides, estimator, known, labels, output, scaling)

    def _is_of_two(self, values: Floats) -> bool:
        return values.ndim == 1 and len(self.known_sides) == 2

    def _own_probabilities(self, X: Any) -> Floats:
        if self.output is Output.LABEL:
            predicted = np.asarray(self.estimator.predict(X))
            found = predicted[:, np.newaxis] == np.asarray(self.labels)
            if not found.any(axis=1).all():
                unknown = predicted[~found.any(axis=1)][0]
                raise ArgumentError(f'Model "{self.name}" predicts {unknown}, which is not a side.')
            return np.asarray(found, dtype=np.float64)
        proba = np.array(self.estimator.predict_proba(X), dtype=np.float64)
        self._check_shape(proba, "predict_proba")
        totals = proba.sum(axis=1, keepdims=True)
        # Probabilities in single precision do not quite sum to one.
        proba /= np.where(totals > 0, totals, 1.0)
        return proba

    def _check_shape(self, values: Floats, method: str) -> None:
        if values.ndim != 2 or values.shape[1] != len(self.known_sides):
            raise ArgumentError(
                f'The {method} of model "{self.name}" returned an array of shape {values.shape}; a '
                f"partition with {len(self.known_sides)} sides needs a column for each. Use an "
                "estimator that separates more than two classes, or @one-vs-one in place of the "
                "partition."
            )

    def _logarithms(self, chances: Floats) -> Floats:
        smallest = np.finfo(np.float64).eps
        return self._spread(np.log(np.maximum(chances, smallest)), fill=-np.inf)

    def _spread(self, values: Floats, fill: float) -> Floats:
        """Return the values of all sides, given those of the known sides."""
        if len(self.known_sides) == 0:
            return np.full((len(values), self.n_sides), 1.0 / self.n_sides)
        spread = np.full((len(values), self.n_sides), fill)
        spread[:, list(self.known_sides)] = values
        return spread


def is_softmax(classifier: Any) -> bool:
    """Return whether `predict_proba` is the softmax of the decision values.

    The only value of two classes counts as ± its half.
    """
    own = getattr(type(classifier), "predict_proba", None)
    # Older releases of scikit-learn have logistic regressions of each class against the others.
    is_multinomial = getattr(classifier, "multi_class", "auto") in ("auto", "deprecated")
    is_regression = own is LogisticRegression.predict_proba and classifier.solver != "liblinear"
    return (is_regression and is_multinomial) or own is LinearDiscriminantAnalysis.predict_proba


def side_binaries(
    model: SidesModel, columns: NDArray[np.intp] | None = None, **details: Any
) -> list[TrainedBinary]:
    """Return the binary of each side, which answers 2 q − 1; only the first has the details."""
    binaries = [
        TrainedBinary(
            f"{model.name}/{side}",
            Output.SIDE,
            model,
            classes=(-1, 1),
            positive_index=side,
            columns=columns,
        )
        for side in range(model.n_sides)
    ]
    return [replace(binaries[0], **details), *binaries[1:]]


def adopt_model(
    model: Any, side_classes: Sequence[Sequence[Any]], *, name: str
) -> list[TrainedBinary]:
    """Return a model that was fitted elsewhere as the binary, or the binaries, of a partition.

    For two sides, see `adopt_fitted`. With more, there is a binary for each side.

    Its ``classes_`` are the labels of the classes, if each side is a single class, or the numbers
    of the sides from 0. It answers with ``predict_proba``, otherwise with the softmax of its
    decision values, otherwise with ``predict``.
    """
    n_sides = len(side_classes)
    if n_sides == 2:
        return [adopt_fitted(model, *side_classes, name=name)]
    labels = tuple(np.asarray(getattr(model, "classes_", ())).tolist())
    wanted: list[Sequence[Any]] = [range(n_sides)]
    if all(len(classes) == 1 for classes in side_classes):
        wanted.insert(0, [classes[0] for classes in side_classes])
        wanted.insert(1, [str(classes[0]) for classes in side_classes])
    shape = getattr(split_pipeline(model)[1], "decision_function_shape", None)
    if shape == "ovo" and not hasattr(model, "predict_proba"):
        raise SchemeError(
            f'Model "{name}" has a decision value for each pair of classes, not for each side. Use '
            'model.set_params(decision_function_shape="ovr"); no refit is needed.'
        )
    for names in wanted:
        if len(labels) == n_sides and set(labels) == set(names):
            known = tuple(list(names).index(label) for label in labels)
            output, scaling = choose_sides_output(model, None, n_sides)
            return side_binaries(SidesModel(name, n_sides, model, known, labels, output, scaling))
    remedy = f"Fit it on the numbers of the sides, from 0 to {n_sides - 1}."
    own, sides = set(map(str, labels)), set(map(str, wanted[0]))
    if own > sides:
        remedy = f"The partition lacks {list_names(sorted(own - sides))}: y needs all its classes."
    elif own and own < sides:
        remedy = f"It does not know {list_names(sorted(sides - own))}: leave out such rows."
    raise SchemeError(
        f'Model "{name}" has the classes {" ".join(map(str, labels)) or "(none)"}, which are not '
        f"the {n_sides} sides of its partition. {remedy}"
    )


def find_wholes(
    state: State, binaries: Sequence[TrainedBinary], sides: Sequence[Sequence[int]]
) -> dict[int, tuple[WholePartition, int]]:
    """Return, for the binaries that are one of several sides, their partition and their side.

    The sides of a partition have a common model. Each is the +1 side of its binary.
    """
    groups: dict[int, dict[int, int]] = {}
    for k, binary in enumerate(binaries):
        if binary.is_side:
            groups.setdefault(id(binary.estimator), {})[binary.positive_index] = k
    found: dict[int, tuple[WholePartition, int]] = {}
    for places in groups.values():
        model = binaries[next(iter(places.values()))].estimator
        if len(places) != model.n_sides:
            raise state.fault("binaries", f"a binary for each of the {model.n_sides} sides")
        own = tuple([sides[2 * places[side] + 1] for side in range(model.n_sides)])
        whole = WholePartition(model.name, own)
        found |= {k: (whole, side) for side, k in places.items()}
    return found


def choose_sides_output(
    estimator: Any, calibration: Any, n_sides: int
) -> tuple[Output, VectorScaling | None]:
    """Return which output of an estimator to use, and the plain softmax if it needs one."""
    output = choose_output(estimator, calibration)
    plain = VectorScaling(np.ones(n_sides), np.zeros(n_sides))
    if output is Output.LOG_ODDS:
        return Output.PROBABILITY, plain
    return output, plain if output is Output.MARGIN else None


def train_sided_models(work: Workload) -> list[Trained | None]:
    """Train the models of partitions with more than two sides, in joblib's jobs."""
    wholes: dict[WholePartition, list[int]] = {}
    for k, each in enumerate(work.dichotomies):
        if each.whole is not None:
            wholes.setdefault(each.whole, []).append(k)
    tasks = (
        (
            work.dichotomies[numbers[0]].estimator,
            work.X,
            sides_problem(work.problems.rows_of_class, whole.sides, name=whole.name),
            work.options,
            work.folds,
            work.seeds[numbers[0]],
            work.dichotomies[numbers[0]].model,
        )
        for whole, numbers in wholes.items()
    )
    trained: list[Trained | None] = [None] * len(work.dichotomies)
    # joblib would start its workers even without a task.
    results = run_jobs(train_sides, tasks, work.options.n_jobs) if wholes else ()
    for (whole, numbers), (sides, seconds) in zip(wholes.items(), results, strict=True):
        sides[0] = sides[0].timed(seconds)
        for k in numbers:
            trained[k] = sides[work.dichotomies[k].side]
        work.listener.trained(whole.name)
    return trained


def train_sides(
    estimator: Any,
    X: Any,
    problem: SidesProblem,
    options: TrainingOptions,
    folds: Folds | None,
    seed: int | None = None,
    model: str | None = None,
) -> list[Trained]:
    """Return a trained binary for each side of a partition.

    The estimator is fitted to the numbers of the sides. It answers with ``predict_proba``, or with
    decision values that vector scaling turns into probabilities; the scaling learns from held-out
    folds. A named calibration other than "auto" does this for every estimator: "sigmoid" is vector
    scaling, "temperature" has one slope.

    Parameters
    ----------
    estimator : classifier or pipeline that separates any number of classes
    X : array, sparse matrix or frame of shape (n_rows, n_features), the whole training data
    problem : SidesProblem
    options : TrainingOptions
    folds : Folds, optional
    seed : int, optional
    model : str, optional, the name under which the estimator was given
    """
    calibration = options.calibration
    check_sides_calibration(calibration, problem.name, problem.n_sides)
    trainer = _SidesTrainer.prepare(estimator, X, problem, options, seed, model)
    _check_multi_class(trainer.estimator, problem)
    problem = trainer.drop_weightless(problem)
    models: Mapping[int, SidesModel] = {}
    if folds is not None and options.validates_on_folds:
        trainer, models = trainer.stop_early(
            problem, folds, lambda own, kept: own.train(kept, calibration)
        )
    is_kept = None if folds is None else folds.trained_on(problem.rows)
    trained_on = problem if is_kept is None else problem.keep(is_kept)
    try:
        whole = trainer.train(trained_on, calibration)
    except Exception as error:
        check_refusal(trainer.estimator, problem.n_sides, problem.name, error)
        raise
    check_neighbours(whole.estimator, problem.name)
    columns = trained_on.rows if trainer.takes_pairwise_values else None
    learns = whole.scaling is not None and calibration is not None
    if folds is None or not (learns or len(folds.scored)):
        return [Trained(binary) for binary in side_binaries(whole, columns)]
    try:
        values = trainer.hold_out(problem, folds, calibration, whole, models)
    except FoldError as error:
        shortcoming = (
            f'Partition "{problem.name}" cannot be calibrated: a fold cannot be fitted ({error}); '
            "its uncalibrated answers are used instead."
        )
        return [
            Trained(binary) for binary in side_binaries(whole, columns, shortcoming=shortcoming)
        ]
    if learns:
        scaling = _learn_scaling(problem, values, folds, trainer.weight, options.calibrator)
        whole = replace(whole, scaling=scaling or whole.scaling)
    scored = values[folds.scored]
    chances = scored if whole.scaling is None else whole.scaling.apply(scored)
    decisions = (2.0 * chances - 1.0).astype(np.float32)
    return [
        Trained(binary, decisions[:, side])
        for side, binary in enumerate(side_binaries(whole, columns))
    ]


def check_sides_calibration(calibration: Any, name: str, n_sides: int) -> None:
    """Raise an ArgumentError if a calibration does not work for more than two sides."""
    if calibration is None or hasattr(find_calibrator(calibration), "fit_sides"):
        return
    known = [f'"{name}"' for name, each in CALIBRATORS.items() if hasattr(each, "fit_sides")]
    raise ArgumentError(
        Argument("calibration", calibration),
        f' is for binary partitions; partition "{name}" has {n_sides} sides. '
        f'Use "auto", {", ".join(known)} or None.',
    )


def _check_multi_class(estimator: Any, problem: SidesProblem) -> None:
    tags = tags_of(estimator)
    classifier_tags = None if tags is None else tags.classifier_tags
    if classifier_tags is not None and not classifier_tags.multi_class:
        kind = type(split_pipeline(estimator)[1]).__name__
        raise ArgumentError(
            f'Partition "{problem.name}" has {problem.n_sides} sides, but {kind} separates only '
            "two classes. Use @one-vs-one in place of the partition, or another estimator."
        )
    machine = split_pipeline(estimator)[1]
    if isinstance(machine, SVC | NuSVC):
        machine.set_params(decision_function_shape="ovr")  # a value for each side, not each pair


def _learn_scaling(
    problem: SidesProblem,
    values: Floats,
    folds: Folds,
    weight: Floats | None,
    calibration: str,
) -> VectorScaling | None:
    """Return the scaling learnt from held-out rows of the problem; None if there are none."""
    own = values[problem.rows]
    is_usable = np.isfinite(own).all(axis=1)
    if not is_usable.any():
        return None
    rows = problem.rows[is_usable]
    own_weight = folds.weigh(None if weight is None else weight[rows], rows)
    kind: Any = find_calibrator(calibration)
    scaling: VectorScaling = kind.fit_sides(own[is_usable], problem.sides[is_usable], own_weight)
    return scaling


class _SidesTrainer(ProblemTrainer):
    """Trains models with several sides."""

    def train(self, problem: SidesProblem, calibration: Any) -> SidesModel:
        """Fit a clone of the estimator to all samples of the problem."""
        known, labels = np.unique(problem.sides, return_inverse=True)
        sides = tuple(known.tolist())
        if len(sides) < 2:
            return SidesModel(problem.name, problem.n_sides, None, sides)
        # The sides that have samples are counted from 0: some classifiers reject gaps.
        model = self.fit(problem, labels)
        output, scaling = choose_sides_output(model, calibration, problem.n_sides)
        own = tuple(range(len(sides)))
        return SidesModel(problem.name, problem.n_sides, model, sides, own, output, scaling)

    def hold_out(
        self,
        problem: SidesProblem,
        folds: Folds,
        calibration: Any,
        whole: SidesModel,
        models: Mapping[int, SidesModel],
    ) -> Floats:
        """Return the output for each row from the model that was trained without the row's fold.

        The output is the input of vector scaling, or probabilities if there is no scaling. It is
        NaN for rows that are neither in the problem nor scored by every binary. `models` are the
        models of folds that are trained already.
        """

        def score(fold: int, rows: NDArray[np.intp]) -> Floats:
            is_kept = folds.is_trained_on[fold, problem.rows]
            is_whole = folds.is_only_part or bool(is_kept.all())
            model = whole if is_whole else models.get(fold)
            model = model or self.train(problem.keep(is_kept), calibration)
            return self._answers(model, self.samples(rows, problem.rows[is_kept]), whole)

        values = np.full((len(folds.fold_of), problem.n_sides), np.nan)
        score_by_fold(values, folds, problem.rows, score)
        return values

    @staticmethod
    def _answers(model: SidesModel, part: Any, whole: SidesModel) -> Floats:
        if whole.scaling is None:
            return model.predict_proba(part)
        if model.estimator is not None:
            return model.values(part)
        # The fold has samples of only one side, or of none.
        with np.errstate(divide="ignore"):
            return np.log(model.predict_proba(part))


# -- batches of a stream -------------------------------------------------------------------------


def update_sides(
    binary: TrainedBinary | None,
    estimator: Any,
    X: Any,
    problem: SidesProblem,
    *,
    random_state: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> list[TrainedBinary]:
    """Return the binary of each side after training their model on one more batch.

    Nothing is calibrated. All sides are equally likely until the first batch with a sample of the
    problem.

    Parameters
    ----------
    binary : TrainedBinary, optional
        A side after the previous batch; None for the first. A copy of its estimator is trained.
    estimator, X, random_state, sample_weight : see `polytomy.learners.any_estimator.update_binary`
    problem : SidesProblem
    """
    name, n_sides = problem.name, problem.n_sides
    model = SidesModel(name, n_sides, None, ()) if binary is None else binary.estimator
    trained = fit_batch(model.estimator, estimator, X, problem, random_state, sample_weight)
    if trained is not None:
        output, scaling = choose_sides_output(trained, None, n_sides)
        every = tuple(range(n_sides))
        model = SidesModel(name, n_sides, trained, every, every, output, scaling)
    return side_binaries(model)


def keep_calibration(
    binaries: Sequence[TrainedBinary], earlier: Sequence[TrainedBinary]
) -> list[TrainedBinary]:
    """Return binaries with the calibrators that they had before they were trained further."""
    kept = []
    models: dict[int, Any] = {}  # one for all sides of a partition
    for binary, before in zip(binaries, earlier, strict=True):
        if binary.is_side and before.is_side:
            model = replace(binary.estimator, scaling=before.estimator.scaling)
            model = models.setdefault(id(binary.estimator), model)
            kept.append(replace(binary, estimator=model))
        elif before.calibrator is None or before.output is Output.CONSTANT:
            kept.append(binary)
        else:
            kept.append(replace(binary, output=before.output, calibrator=before.calibrator))
    return kept


def calibrate_sides(
    dichotomies: Sequence[Dichotomy],
    binaries: Sequence[TrainedBinary],
    calibration: Any,
    X: Any,
    rows_of_class: Sequence[NDArray[np.intp]],
    weight: Floats,
) -> list[TrainedBinary]:
    """Return the binaries; those of partitions with more than two sides learn from held-out rows.

    Parameters
    ----------
    dichotomies, binaries : all of a composition
    calibration : the option
    X, rows_of_class, weight : rows that the binaries were not trained on
    """
    calibrated = list(binaries)
    for group in group_sides(dichotomies, range(len(dichotomies))):
        first, model = dichotomies[group[0]], binaries[group[0]].estimator
        if first.is_binary or first.trained is not None or model.estimator is None:
            continue
        output, scaling = choose_sides_output(model.estimator, calibration, model.n_sides)
        model = replace(model, output=output, scaling=scaling)
        problem = sides_problem(rows_of_class, first.partition.sides, name=model.name)
        if scaling is not None and calibration is not None and len(np.unique(problem.sides)) > 1:
            rows = problem.rows
            values = model.values(X)[rows]
            kind: Any = find_calibrator(calibration)
            scaling = kind.fit_sides(values, problem.sides, weight[rows])
            model = replace(model, scaling=scaling)
        for k, binary in zip(group, side_binaries(model), strict=True):
            calibrated[k] = binary
    return calibrated


# -- evaluation in a bank ------------------------------------------------------------------------


class SidesGroup:
    """Binaries that share a model with several sides.

    Parameters
    ----------
    columns : array of int
        Positions of the members among the binaries of the bank.
    members : sequence of TrainedBinary with the same estimator, a SidesModel
    """

    def __init__(self, columns: NDArray[np.intp], members: Sequence[TrainedBinary]) -> None:
        self.columns = columns
        self._first = members[0]
        self._sides = [member.positive_index for member in members]

    @property
    def model(self) -> SidesModel:
        """The model of all members."""
        model: SidesModel = self._first.estimator
        return model

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return 2 q − 1 for each of the sides, of shape (n_samples, n_members)."""
        return self.pick(self._first.side_chances(unchangeable(samples.raw)))

    def pick(self, chances: Floats) -> Floats:
        """Return `scores`, given the probabilities of all sides."""
        return np.asarray(2.0 * chances[:, self._sides] - 1.0)

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return the same as a graph."""
        model = self.model
        return graph.pick(export_sides(graph, X, model), np.array(self._sides), model.n_sides)


# -- ONNX ----------------------------------------------------------------------------------------
#
# Linear models have a decision value for each side. A support vector machine of several classes has
# one for each pair of them, which scikit-learn converts to a value for each class: votes, with ties
# broken by the sums of the values. Vector scaling or the softmax gives the probabilities.


def export_sides(graph: Graph, X: Value, model: SidesModel) -> Value:
    """Return 2 q − 1 for the probability q of each side, of shape (n_samples, n_sides).

    Parameters
    ----------
    graph : Graph to add nodes to
    X : samples, in double precision
    model : SidesModel

    Raises
    ------
    ArgumentError
        If the model cannot be exported.
    """
    if model.estimator is None:
        return graph.repeat(2.0 * model.predict_proba(np.zeros((1, 1)))[0] - 1.0, X)
    steps, last = split_pipeline(model.estimator)
    try:
        samples, bare = export_steps(graph, X, steps), replace(model, estimator=last)
        values = _decision_values(graph, samples, last)
        chances = None if values is None else _probabilities(graph, values, bare)
        if chances is None:
            chances = _converted_probabilities(graph, samples, bare)
    except ConversionError as error:
        raise ArgumentError(_describe_problem(model, str(error))) from error
    if len(model.known_sides) == model.n_sides:
        spread = graph.pick(chances, np.argsort(model.known_sides), model.n_sides)
    else:
        spread = chances @ np.eye(model.n_sides)[list(model.known_sides)]
    return spread * 2.0 - 1.0


def _converted_probabilities(graph: Graph, X: Value, model: SidesModel) -> Value:
    """Return the probabilities of the sides that the model knows, if a converter takes it."""
    known = list(model.known_sides)
    is_margin = model.output is Output.MARGIN
    if model.output is Output.LABEL or (is_margin and len(known) == 2):
        raise ConversionError("it has no probabilities")
    result = export_estimator(graph, X, model.estimator, METHODS[model.output])
    if model.scaling is None:
        return result / result.sum(axis=1)
    if not is_margin:
        result = graph.add("Log", graph.add("Max", result, float(np.finfo(np.float64).eps)))
    logits = result * model.scaling.slopes[known] + model.scaling.intercepts[known]
    return graph.add("Softmax", logits, axis=1)


def _decision_values(graph: Graph, samples: Value, model: Any) -> Value | None:
    """Return the decision values of the sides that the model knows, as `SidesModel.values` does."""
    if has_linear_values(model):
        weights = _dense(model.coef_)
        values = samples @ weights.T + np.ravel(model.intercept_).astype(np.float64)
        is_of_two = len(weights) == 1
    elif type(model) in (SVC, NuSVC) and (function := KernelFunction.of(model)) is not None:
        vectors, coefficients = _dense(model.support_vectors_), _pair_coefficients(model)
        values = function.to_onnx(graph, samples, vectors) @ coefficients
        values = values + np.ravel(model.intercept_).astype(np.float64)
        is_of_two = len(model.n_support_) == 2
        if not is_of_two:
            values = _values_of_classes(graph, values, len(model.n_support_))
    else:
        return None
    return values * np.array([-0.5, 0.5]) if is_of_two else values


def has_linear_values(classifier: Any) -> bool:
    """Return whether the decision values of all sides are linear, with `coef_`."""
    # All of scikit-learn's linear classifiers inherit this method from the same mixin.
    own = getattr(type(classifier), "decision_function", None)
    return own is LinearSVC.decision_function or type(classifier) is LinearDiscriminantAnalysis


def _pair_coefficients(machine: Any) -> Floats:
    """Return the coefficients of the support vectors for each pair of classes, by columns.

    In the pair (i, j), with i < j, vectors of class i have those in row j − 1 of ``dual_coef_``,
    and vectors of class j those in row i.
    """
    dual = _dense(machine.dual_coef_)
    ends = np.cumsum(machine.n_support_)
    members = [slice(end - count, end) for end, count in zip(ends, machine.n_support_, strict=True)]
    if len(members) == 2:
        return dual.T
    pairs = list(combinations(range(len(members)), 2))
    coefficients = np.zeros((dual.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        coefficients[members[i], column] = dual[j - 1, members[i]]
        coefficients[members[j], column] = dual[i, members[j]]
    return coefficients


def _values_of_classes(graph: Graph, values: Value, n_classes: int) -> Value:
    """Return a value for each class, given one for each pair, positive for its first class.

    A class gets one vote per pair that it wins, and s / (3 (|s| + 1)) for the sum s of its values.
    """
    pairs = np.array(list(combinations(range(n_classes), 2)))
    of_class = np.zeros((len(pairs), n_classes))
    of_class[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    of_class[np.arange(len(pairs)), pairs[:, 1]] = -1.0
    is_second = graph.add("Where", graph.add("Less", values, 0.0), 1.0, 0.0)
    n_first: Floats = np.maximum(of_class, 0.0).sum(axis=0)
    votes = is_second @ (-of_class) + n_first
    sums = values @ of_class
    return votes + sums / (graph.add("Abs", sums) * 3.0 + 3.0)


def _probabilities(graph: Graph, values: Value, model: SidesModel) -> Value | None:
    """Return the probabilities of the sides that the model knows, or None."""
    if model.output is Output.MARGIN and model.scaling is not None:
        known = list(model.known_sides)
        logits = values * model.scaling.slopes[known] + model.scaling.intercepts[known]
        return graph.add("Softmax", logits, axis=1)
    if model.output is not Output.PROBABILITY or model.scaling is not None:
        return None
    if is_softmax(model.estimator):
        return graph.add("Softmax", values, axis=1)
    if isinstance(model.estimator, SGDClassifier) and model.estimator.loss == "log_loss":
        if len(model.known_sides) == 2:
            return graph.add("Softmax", values, axis=1)
        return _normalised_logistic(graph, values, len(model.known_sides))
    return None


def _normalised_logistic(graph: Graph, values: Value, n_sides: int) -> Value:
    """Return the logistic functions of the values, divided by their sum."""
    chances = graph.add("Reciprocal", graph.add("Exp", values * -1.0) + 1.0)
    totals = chances.sum(axis=1)
    is_lost = graph.add("Equal", totals, 0.0)
    shares = chances / graph.add("Where", is_lost, 1.0, totals)
    return graph.add("Where", is_lost, 1.0 / n_sides, shares)


def _describe_problem(model: SidesModel, reason: str) -> str:
    return (
        f'the model of partition "{model.name}" is a {name_kind(model.estimator)} for '
        f"{model.n_sides} sides, which cannot be exported: {reason}. Fit with a forest, a "
        f"linear classifier, SVC or NuSVC (kernel {name_kernels()}; without "
        "probability=True), alone or after scalers; or use binary partitions, such as @one-vs-one, "
        "in its place."
    )


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix, dtype=np.float64)
