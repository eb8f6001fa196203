"""From probabilities to decisions: priors, costs, nodes of a hierarchy, the k likeliest classes.

A prior is how frequent each class is. Training assumes the frequencies of its data. For data with
other frequencies, Bayes' rule adapts the probabilities: each is multiplied by the ratio of the new
prior to the old one, and each row is divided by its sum. If the new prior is not known, it is
estimated as the one under which the unlabelled data is likeliest (Saerens, Latinne and Decaestecker
2002).

With costs, the prediction is the class of least expected cost, or none if that is cheaper. A walk
down the tree of a scheme ends at a node or a class. The k likeliest classes are found in blocks of
samples, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError, SchemeError
from polytomy.inputs.arguments import Parameter, is_boolean, is_count, list_names
from polytomy.inputs.numbers import check_weights
from polytomy.model.arrangement import Arrangement
from polytomy.onnx_graph import Graph, Value
from polytomy.scheme import ClassRef, NodeRef, Scheme
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]

# Priors may be rounded to three digits, such as 0.333 three times; they are divided by their sum.
_SUM_TOLERANCE = 1.001e-3

# The estimate of a prior stops when its mean log-likelihood is within this of the maximum.
_TOLERANCE = 1e-10
_MOST_CYCLES = 5000

# Labels that stand for no prediction, by default.
_REJECT_NUMBER, _REJECT_TEXT = -1, "unknown"


def _read_distribution(state: State, name: str) -> Floats:
    """Return the probabilities of the classes in a state."""
    probabilities = state.floats(name, (None,), least=0.0)
    if abs(probabilities.sum() - 1) > 1e-6:
        raise state.fault(name, "an array of probabilities that sum to one")
    return probabilities


@stored_as("class frequencies")
@dataclass(frozen=True, slots=True, eq=False)
class ClassFrequencies:
    """Class frequencies in the training data.

    Attributes
    ----------
    data : array of shape (n_classes,), sums to one
        Frequencies weighted by the sample weights alone.
    model : array of shape (n_classes,), sums to one
        Frequencies weighted by sample and class weights: the prior that the probabilities assume.
    """

    data: Floats
    model: Floats

    @classmethod
    def from_state(cls, state: State) -> ClassFrequencies:
        """Return the frequencies of a state."""
        return cls(_read_distribution(state, "data"), _read_distribution(state, "model"))

    @classmethod
    def from_weights(
        cls,
        class_indices: NDArray[np.intp],
        n_classes: int,
        data_weight: ArrayLike | None,
        model_weight: ArrayLike | None,
    ) -> ClassFrequencies:
        """Return the frequencies of classes, given the weights of the samples.

        Examples
        --------
        >>> both = ClassFrequencies.from_weights(np.array([0, 1, 1, 1]), 2, None, [3, 1, 1, 1])
        >>> both.data, both.model
        (array([0.25, 0.75]), array([0.5, 0.5]))
        """
        weights = [check_weights(each, len(class_indices)) for each in (data_weight, model_weight)]
        totals = [np.bincount(class_indices, each, n_classes) for each in weights]
        return cls(*(each / each.sum() for each in totals))


@stored_as("prior")
@dataclass(frozen=True, slots=True, eq=False)
class PriorShift:
    """The change from the prior that the probabilities assume to that of the data to predict.

    Attributes
    ----------
    prior : array of shape (n_classes,), the prior of the data to predict; sums to one
    training : array of shape (n_classes,), the prior that the probabilities assume; sums to one
    """

    prior: Floats
    training: Floats

    @classmethod
    def from_state(cls, state: State) -> PriorShift:
        """Return the prior of a state."""
        prior, training = [_read_distribution(state, name) for name in ("prior", "training")]
        if len(prior) != len(training) or ((prior > 0) & (training == 0)).any():
            raise state.fault("prior", "zero for the classes that training had none of")
        return cls(prior, training)

    @property
    def ratio(self) -> Floats:
        """The prior divided by that of training; zero for a class where both are zero."""
        is_known = self.training > 0
        return np.divide(self.prior, self.training, out=np.zeros_like(self.prior), where=is_known)

    def apply(self, probabilities: Floats) -> Floats:
        """Return the probabilities under the new prior.

        If all classes that a row considers possible have a prior of zero, it gets the prior itself.

        Examples
        --------
        >>> shift = PriorShift(np.array([0.1, 0.9]), np.array([0.5, 0.5]))
        >>> shift.apply(np.array([[0.5, 0.5], [0.9, 0.1]]))
        array([[0.1, 0.9],
               [0.5, 0.5]])
        """
        shifted = probabilities * self.ratio
        totals = shifted.sum(axis=1, keepdims=True)
        whole = np.broadcast_to(self.prior, shifted.shape).copy()
        return np.asarray(np.divide(shifted, totals, out=whole, where=totals > 0))

    def to_onnx(self, graph: Graph, probabilities: Value) -> Value:
        """Return `apply` as a graph."""
        shifted = probabilities * self.ratio
        totals = shifted.sum(axis=1)
        divided = shifted / graph.add("Max", totals, float(np.finfo(np.float64).tiny))
        return graph.add("Where", graph.add("Greater", totals, 0.0), divided, self.prior)


def shift_prior(
    prior: Any,
    classes: NDArray[Any],
    frequencies: ClassFrequencies | None,
    training_prior: Any = None,
) -> PriorShift:
    """Return the shift to a prior, or raise an ArgumentError.

    Parameters
    ----------
    prior : dict of labels and probabilities, or array in the order of `classes`
    classes : array of labels
    frequencies : those of the training data, if they are known
    training_prior : as `prior`, for models whose training data is not known
    """
    target = check_prior(prior, classes, "prior")
    training = find_training_prior(classes, frequencies, training_prior)
    is_lost = (training == 0) & (target > 0)
    if is_lost.any():
        label = classes[is_lost].tolist()[0]
        raise ArgumentError(
            Argument("prior"),
            f" gives {label!r} a probability of {target[is_lost][0]:g}, but in training that class "
            "had weight zero, so nothing is known about it. Fit with positive weights.",
        )
    return PriorShift(target, training)


def find_training_prior(
    classes: NDArray[Any], frequencies: ClassFrequencies | None, training_prior: Any = None
) -> Floats:
    """Return the prior that probabilities assume, or raise an ArgumentError if it is not known.

    The parameters are those of `shift_prior`.
    """
    if training_prior is not None:
        return check_prior(training_prior, classes, "training_prior")
    if frequencies is not None:
        return frequencies.model
    raise ArgumentError(
        "the class frequencies of the training data are not known: the model was trained elsewhere "
        "or by partial_fit. Pass them as ",
        Argument("training_prior"),
        ", or fit the model again.",
    )


def check_prior(prior: Any, classes: NDArray[Any], name: str) -> Floats:
    """Return a prior as an array in the order of the classes, or raise an ArgumentError.

    Examples
    --------
    >>> check_prior({"b": 0.75, "a": 0.25}, np.array(["a", "b"]), "prior")
    array([0.25, 0.75])
    """
    index: Any = getattr(prior, "index", None)
    if hasattr(index, "tolist") and type(index).__name__ != "RangeIndex":  # a pandas series
        prior = dict(zip(index.tolist(), np.asarray(prior).tolist(), strict=True))
    if isinstance(prior, Mapping):
        values: Any = _match_classes(prior, classes.tolist(), name, "a probability; it may be zero")
    else:
        values = prior
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            Argument(name),
            " must be a dict of labels and probabilities, or an array of one probability for each "
            f"class; got {prior!r}.",
        ) from None
    if array.shape != (len(classes),):
        raise ArgumentError(
            Argument(name),
            f" has shape {array.shape}; {len(classes)} classes need ({len(classes)},). Use the "
            "order of classes_, or a dict of labels and probabilities.",
        )
    is_wrong = ~np.isfinite(array) | (array < 0)
    if is_wrong.any():
        label = classes[is_wrong].tolist()[0]
        raise ArgumentError(
            Argument(name),
            f" has {array[is_wrong][0]:g} for {label!r}, which is not a probability.",
        )
    if not abs(array.sum() - 1) <= _SUM_TOLERANCE:
        raise ArgumentError(
            Argument(name), f" sums to {array.sum():g}, not to one. Divide it by its sum."
        )
    return np.asarray(array / array.sum())


def _match_classes(
    values: Mapping[Any, Any], labels: list[Any], name: str, thing: str, place: str = ""
) -> list[Any]:
    """Return the values in the order of the labels; ArgumentError unless each label has one."""
    given = {_plain(key): value for key, value in values.items()}
    known = set(labels)
    unknown = [repr(key) for key in given if key not in known]
    missing = [repr(label) for label in labels if label not in given]
    for names, problem, cure in (
        (unknown, "has unknown labels:", f"The classes are {list_names(map(repr, labels))}."),
        (missing, "is missing", f"Give every class {thing}."),
    ):
        if names:
            raise ArgumentError(Argument(name), f"{place} {problem} {list_names(names)}. {cure}")
    return [given[label] for label in labels]


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def maximise_likelihood(
    probabilities: Floats, training: Floats, weight: Floats | None = None
) -> Floats:
    """Return the prior under which unlabelled samples are likeliest.

    It maximises Σ_i w_i log Σ_k q_k p_ik / π_k over the simplex, by the steps of Saerens et al.
    (expectation and maximisation), extrapolated two at a time (Varadhan and Roland 2008). The
    function is concave, and its gradient bounds the gain of further steps, so the result is the
    maximum, and not a point where progress was slow.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes), under the prior of training
    training : array of shape (n_classes,), that prior
    weight : array of shape (n_samples,), optional

    Returns
    -------
    array of shape (n_classes,), sums to one

    Examples
    --------
    If all answers are certain, the estimate is their frequencies:

    >>> sure = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> maximise_likelihood(sure, np.array([0.5, 0.5])).round(6)
    array([0.75, 0.25])
    """
    is_known = training > 0
    ratios = probabilities[:, is_known] / training[is_known]
    counts = np.ones(len(ratios)) if weight is None else weight
    shares = counts / counts.sum()
    prior = training[is_known].copy()
    for _ in range(_MOST_CYCLES):
        growth = _growth(ratios, shares, prior)
        if growth.max() - 1.0 <= _TOLERANCE:
            break
        once = prior * growth
        twice = once * _growth(ratios, shares, once)
        prior = _extrapolate(ratios, shares, prior, once, twice)
    found = np.zeros(len(training))
    found[is_known] = prior / prior.sum()
    return found


def _growth(ratios: Floats, shares: Floats, prior: Floats) -> Floats:
    """Return the gradient of the mean log-likelihood, by which a step multiplies the prior."""
    return np.asarray((shares / np.maximum(ratios @ prior, np.finfo(float).tiny)) @ ratios)


def _extrapolate(
    ratios: Floats, shares: Floats, prior: Floats, once: Floats, twice: Floats
) -> Floats:
    """Return a prior extrapolated from two steps, or the second step if that is likelier."""
    change, bend = once - prior, twice - 2 * once + prior
    length = float(np.linalg.norm(bend))
    if length == 0.0:
        return twice
    stride = max(1.0, float(np.linalg.norm(change)) / length)
    further = np.maximum(prior + 2 * stride * change + stride**2 * bend, 0.1 * twice)
    further /= further.sum()
    with np.errstate(divide="ignore"):
        gains = [shares @ np.log(ratios @ each) for each in (further, twice)]
    return further if gains[0] >= gains[1] else twice


# -- costs -----------------------------------------------------------------------------------------


@stored_as("costs")
@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The cost of each prediction for each true class, and when to make none.

    Attributes
    ----------
    matrix : array of shape (n_classes, n_classes), rows are true classes, columns predicted ones
    reject_cost : float, optional; the cost of making no prediction
    reject_label : label that stands for no prediction
    reject_novelty : float, optional; there is no prediction for samples with a larger novelty
    """

    matrix: Floats
    reject_cost: float | None = None
    reject_label: Any = None
    reject_novelty: float | None = None

    @classmethod
    def from_state(cls, state: State) -> Costs:
        """Return the costs of a state."""
        matrix = state.floats("matrix", (None, None))
        limits = {
            name: state.number(name) if name in state else None
            for name in ("reject_cost", "reject_novelty")
        }
        costs = cls(matrix, reject_label=state.value("reject_label"), **limits)
        if costs.can_reject and not isinstance(costs.reject_label, str | int | float):
            raise state.fault("reject_label", "a label")
        return costs

    @property
    def can_reject(self) -> bool:
        """Whether there may be no prediction for a sample."""
        return self.reject_cost is not None or self.reject_novelty is not None

    def expected(self, probabilities: Floats) -> Floats:
        """Return the expected cost of each prediction.

        Returns
        -------
        array of shape (n_samples, n_classes); with a `reject_cost` there is one more column, for
        making no prediction

        Examples
        --------
        >>> costs = Costs(np.array([[0.0, 1.0], [10.0, 0.0]]), reject_cost=0.5)
        >>> costs.expected(np.array([[0.75, 0.25]]))
        array([[2.5 , 0.75, 0.5 ]])
        """
        expected = probabilities @ self.matrix
        if self.reject_cost is None:
            return expected
        return np.column_stack([expected, np.full(len(expected), self.reject_cost)])

    def to_onnx(self, graph: Graph, probabilities: Value) -> Value:
        """Return the position of the least expected cost as a graph."""
        matrix = self.matrix
        if self.reject_cost is not None:
            # Probabilities sum to one, so the same cost in all rows is the expected one.
            matrix = np.column_stack([matrix, np.full(len(matrix), self.reject_cost)])
        cheapest = graph.add("ArgMin", probabilities @ matrix, axis=1, keepdims=0)
        if self.reject_novelty is None:
            return cheapest
        smallest = float(np.finfo(np.float64).tiny)
        logarithms = graph.add("Log", graph.add("Max", probabilities, smallest))
        entropy = graph.add("Squeeze", (probabilities * logarithms).sum(axis=1), np.array([1]))
        is_new = graph.add("Less", entropy, -self.reject_novelty * np.log(len(matrix)))
        return graph.add("Where", is_new, np.array(len(matrix)), cheapest)

    def labels(self, probabilities: Floats, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of least expected cost.

        Ties go to the first class, and any class wins a tie with making no prediction.
        """
        labels = self.labels_with_reject(classes) if self.can_reject else classes
        chosen = np.argmin(self.expected(probabilities), axis=1)
        if self.reject_novelty is not None:
            chosen[measure_novelty(probabilities) > self.reject_novelty] = len(classes)
        return np.asarray(labels[chosen])

    def labels_with_reject(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of the classes and, last, the one that stands for no prediction.

        The array has the dtype of the classes if that can hold the label, and dtype object
        otherwise, so that no label changes: 1 does not become "1".
        """
        label = self.reject_label
        is_text = isinstance(label, str)
        if is_text and classes.dtype.kind == "U":
            return np.array([*classes.tolist(), label])
        is_number = isinstance(label, int | float) and not isinstance(label, bool)
        if is_number and classes.dtype.kind in "iuf":
            both = np.array([*classes.tolist(), label])
            if isinstance(label, float) and classes.dtype.kind != "f":
                return both
            same = both.astype(classes.dtype)
            return same if same[-1] == label else both
        both = np.empty(len(classes) + 1, dtype=object)
        both[:-1], both[-1] = classes.tolist(), label
        return both


def measure_novelty(probabilities: Floats) -> Floats:
    """Return the entropy of each row, divided by the largest possible one.

    Examples
    --------
    >>> measure_novelty(np.array([[1.0, 0.0], [0.9, 0.1], [0.5, 0.5]])).round(3)
    array([0.   , 0.469, 1.   ])
    """
    largest = np.log(max(2, probabilities.shape[1]))
    return np.asarray(scipy.special.entr(probabilities).sum(axis=1) / largest)


def check_costs(
    matrix: Any,
    classes: NDArray[Any],
    reject_cost: Any = None,
    reject_label: Any = None,
    reject_novelty: Any = None,
) -> Costs:
    """Return the costs, or raise an ArgumentError.

    Parameters
    ----------
    matrix : array of shape (n_classes, n_classes), in the order of `classes`; a dict of dicts,
        ``{true: {predicted: cost}}``; or a frame with the labels as index and columns. With None,
        every error costs one.
    classes : array of labels
    reject_cost : float, optional
    reject_label : label that is not a class; by default −1 for numbers and "unknown" for text
    reject_novelty : float from 0 to 1, optional
    """
    labels = classes.tolist()
    values = 1.0 - np.eye(len(labels)) if matrix is None else _read_matrix(matrix, labels)
    if values.shape != (len(labels), len(labels)):
        raise ArgumentError(
            Argument("matrix"),
            f" has shape {values.shape}; {len(labels)} classes need {(len(labels), len(labels))}: "
            "a row for each true class and a column for each predicted one.",
        )
    is_wrong = ~np.isfinite(values)
    if is_wrong.any():
        true, predicted = (int(k[0]) for k in np.nonzero(is_wrong))
        raise ArgumentError(
            Argument("matrix"),
            f" has {values[true, predicted]:g} for predicting {labels[predicted]!r} when "
            f"{labels[true]!r} is true. Costs must be finite numbers; use a large one instead.",
        )
    if reject_cost is None and reject_novelty is None:
        if reject_label is not None:
            raise ArgumentError(
                Argument("reject_label", reject_label),
                " has no effect without ",
                Argument("reject_cost"),
                ". Set both.",
            )
        return Costs(values)
    limits = {"reject_cost": reject_cost, "reject_novelty": reject_novelty}
    given = {name: value for name, value in limits.items() if value is not None}
    for name, value in given.items():
        _LIMITS[name].check(value)
        given[name] = float(value)
    return Costs(values, reject_label=_check_reject_label(reject_label, labels), **given)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(0 <= value <= 1)


_LIMITS = {
    "reject_cost": Parameter(
        "reject_cost",
        "a finite number",
        lambda value: isinstance(value, int | float | np.number) and np.isfinite(value),
    ),
    "reject_novelty": Parameter("reject_novelty", "a number from 0 to 1", _is_share),
}


def _check_reject_label(reject_label: Any, labels: list[Any]) -> Any:
    if isinstance(reject_label, np.generic):
        reject_label = reject_label.item()
    label = reject_label
    if label is None:
        is_text = any(isinstance(each, str) for each in labels)
        label = _REJECT_TEXT if is_text else _REJECT_NUMBER
    if not isinstance(label, str | int | float):
        raise ArgumentError(
            Argument("reject_label", reject_label), " must be text or a number, as labels are."
        )
    if label in labels:
        given = "" if reject_label is None else f"={reject_label!r}"
        raise ArgumentError(
            Argument("reject_label"),
            f"{given} must not be a class, and {label!r} is one. Set another label.",
        )
    return label


def _read_matrix(matrix: Any, labels: list[Any]) -> Floats:
    if isinstance(matrix, Mapping):
        matrix = _from_mapping(matrix, labels)
    elif hasattr(matrix, "index") and hasattr(matrix, "columns"):
        matrix = _from_mapping(matrix.to_dict("index"), labels)
    try:
        return np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            Argument("matrix"),
            " cannot be read as an array of numbers. Pass a row for each true class and a column "
            "for each predicted one.",
        ) from None


def _from_mapping(matrix: Mapping[Any, Any], labels: list[Any]) -> list[list[Any]]:
    """Return the rows of a dict of dicts; correct predictions cost nothing unless given."""
    found = []
    rows = _match_classes(matrix, labels, "matrix", "a dict of costs")
    for true, row in zip(labels, rows, strict=True):
        if not isinstance(row, Mapping):
            raise ArgumentError(
                Argument("matrix"), " must be {true: {predicted: cost}} if it is a dict."
            )
        costs = {true: 0.0, **row}
        found.append(_match_classes(costs, labels, "matrix", "a cost", f" for {true!r}"))
    return found


# -- nodes of a hierarchy --------------------------------------------------------------------------


Indices = NDArray[np.intp]

_MAX_DEPTH = Parameter(
    "max_depth",
    "a non-negative integer",
    lambda value: is_count(value) and not is_boolean(value),
    allows_none=True,
)
_MIN_PROBABILITY = Parameter("min_probability", "a number from 0 to 1", _is_share)


def find_hierarchy(arrangements: Sequence[Arrangement]) -> tuple[Scheme, NDArray[np.intp]]:
    """Return the scheme, and the position of each class in it; SchemeError for an ensemble."""
    if len(arrangements) > 1:
        raise SchemeError("an ensemble has several schemes, not a single hierarchy of nodes")
    return arrangements[0].scheme, arrangements[0].positions


def sum_below_nodes(scheme: Scheme, positions: NDArray[np.intp], proba: Floats) -> Floats:
    """Return the probability of each node: the sum over the classes below it.

    Parameters
    ----------
    scheme : Scheme
    positions : array of shape (n_classes,), the position in the scheme of each column of `proba`
    proba : array of shape (n_samples, n_classes)

    Returns
    -------
    array of shape (n_samples, n_nodes), in the order of ``scheme.nodes``
    """
    sums = np.empty((len(proba), len(scheme.nodes)))
    for node, starts in enumerate(scheme.branch_starts):
        is_below = (positions >= starts[0]) & (positions < starts[-1])
        sums[:, node] = proba[:, is_below].sum(axis=1)
    return sums


def descend_nodes(
    scheme: Scheme,
    positions: NDArray[np.intp],
    proba: Floats,
    max_depth: int | None,
    min_probability: float,
) -> NDArray[Any]:
    """Return the class or the name of the node where the walk down the scheme ends.

    Each step goes to the branch with the largest probability. The walk ends at a class, at the
    depth `max_depth`, and before a branch whose probability is below `min_probability`.
    """
    _MAX_DEPTH.check(max_depth)
    _MIN_PROBABILITY.check(min_probability)
    of_nodes = sum_below_nodes(scheme, positions, proba)
    of_classes = np.zeros((len(proba), len(scheme.classes)))
    of_classes[:, positions] = proba
    found = np.empty(len(proba), dtype=object)
    waiting: list[tuple[ClassRef | NodeRef, int, NDArray[np.intp]]] = [
        (NodeRef(0) if scheme.nodes else ClassRef(0), 0, np.arange(len(proba)))
    ]
    while waiting:
        branch, depth, samples = waiting.pop()
        if isinstance(branch, ClassRef):
            found[samples] = scheme.classes[branch.index]
            continue
        below = scheme.nodes[branch.index].branches
        chances = np.column_stack(
            [
                (of_classes if isinstance(each, ClassRef) else of_nodes)[samples, each.index]
                for each in below
            ]
        )
        best = chances.argmax(axis=1)
        goes_on = chances.max(axis=1) >= min_probability
        if max_depth is not None and depth >= max_depth:
            goes_on[:] = False
        found[samples[~goes_on]] = scheme.node_names[branch.index]
        for position, each in enumerate(below):
            chosen = samples[goes_on & (best == position)]
            if len(chosen):
                waiting.append((each, depth + 1, chosen))
    return found


# -- the k likeliest classes -----------------------------------------------------------------------


def check_top_k(k: Any, n_classes: int) -> int:
    """Return a number of classes, or raise an ArgumentError unless it is from 1 to all."""
    is_number = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not is_number or not 1 <= k <= n_classes:
        raise ArgumentError(
            Argument("k", k),
            f" must be a whole number from 1 to {n_classes}, the number of classes.",
        )
    return int(k)


def sort_best(scores: Floats, k: int) -> Indices:
    """Return the positions of the k largest scores of each row, the largest first.

    Ties go to the score that comes first.

    Examples
    --------
    >>> sort_best(np.array([[0.2, 0.3, 0.3, 0.2]]), 3)
    array([[1, 2, 0]])
    """
    n_rows, n_scores = scores.shape
    if 8 * k >= n_scores:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]
    lowest = np.partition(scores, n_scores - k, axis=1)[:, [n_scores - k]]
    is_chosen = scores >= lowest
    (tied,) = (np.count_nonzero(is_chosen, axis=1) > k).nonzero()
    if len(tied):
        # Among scores equal to the lowest, the first are chosen.
        is_lowest = scores[tied] == lowest[tied]
        n_above = np.count_nonzero(scores[tied] > lowest[tied], axis=1)
        is_late = np.cumsum(is_lowest, axis=1) > (k - n_above)[:, np.newaxis]
        is_chosen[tied] &= ~(is_lowest & is_late)
    chosen = np.nonzero(is_chosen)[1].reshape(n_rows, k)
    own = np.take_along_axis(scores, chosen, axis=1)
    order = np.argsort(-own, axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
