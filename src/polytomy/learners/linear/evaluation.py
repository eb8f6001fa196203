"""Binaries with a linear decision function, evaluated together.

A `LinearGroup` evaluates all of them on all samples, by one matrix product; `LinearSides` does so
with models that have several sides.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, vstack
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, NuSVC

from polytomy.calibration.calibrators import LogisticMap
from polytomy.inputs.sparse import check_sparse, is_sparse
from polytomy.inputs.training_data import Samples, blocks_of, input_key
from polytomy.learners.scaling import Scaling, check_dense, peel_scalers
from polytomy.learners.sides import SidesGroup, SidesModel, has_linear_values, is_softmax
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine

Floats = NDArray[np.float64]

# Number of weight columns stacked at a time.
_STACK = 256

# Multiplications per block of samples: a few tenths of a second, or less with several threads.
_LONGEST_PRODUCT = 2**31

# A small product is fast. It is divided into blocks that are too small for BLAS to start threads:
# on a busy machine, waiting for the threads would take far longer than the work itself.
_QUICK_PRODUCT = 2**25
_LARGEST_WITHOUT_THREADS = 2**18


class LinearMember(NamedTuple):
    """One binary of a group.

    Attributes
    ----------
    binary : the trained binary
    is_logistic : whether its score is the logistic function of the linear function
    weights : array of shape (n_features,), or a CSR row, of the scaled features
    intercept : float
    scaling : scaling of the samples before the linear function
    """

    binary: TrainedBinary
    is_logistic: bool
    weights: Any
    intercept: float
    scaling: Scaling | None

    @property
    def key(self) -> Hashable:
        """Equal for binaries that can be evaluated together."""
        moves = self.scaling is not None and self.scaling.moves_zero
        n_features = self.weights.shape[-1]
        names = input_key(self.binary.estimator, n_features)
        return self.is_logistic, is_sparse(self.weights), moves, names


def linear_member(binary: TrainedBinary) -> LinearMember | None:
    """Return a binary as a member of a group, or None if its score is not linear.

    Members are the linear classifiers of scikit-learn and support vector machines with the linear
    kernel, alone or after scalers in a pipeline, if their scores are decision values. They may also
    be probabilities that are the logistic function of the decision value.
    """
    if binary.output not in (Output.MARGIN, Output.PROBABILITY):
        return None
    peeled = peel_scalers(binary.estimator)
    if peeled is None:
        return None
    scaling, model = peeled
    is_logistic = binary.output is Output.PROBABILITY
    if is_logistic and not _is_logistic(model):
        return None
    weights = _linear_weights(model)
    if weights is None:
        return None
    sign = 1.0 if binary.positive_index == 1 else -1.0
    intercept = sign * float(np.ravel(model.intercept_)[0])
    return LinearMember(binary, is_logistic, sign * weights, intercept, scaling)


def side_members(model: SidesModel) -> list[LinearMember]:
    """Return the decision values of a model with several sides as members of a group.

    Empty unless they are linear, and the probabilities of the sides follow from them.
    """
    peeled = None if model.estimator is None else peel_scalers(model.estimator)
    if peeled is None or not has_linear_values(peeled[1]):
        return []
    scaling, classifier = peeled
    if model.output is not Output.MARGIN and not is_softmax(classifier):
        return []
    weights = classifier.coef_
    if is_sparse(weights):
        weights = csr_array(check_sparse(weights, "coef_")).astype(np.float64)
    else:
        weights = np.atleast_2d(weights).astype(np.float64)
    intercepts = np.broadcast_to(np.ravel(classifier.intercept_), weights.shape[0])
    binary = TrainedBinary(model.name, Output.MARGIN, model.estimator)
    return [
        LinearMember(binary, False, weights[[k]] if is_sparse(weights) else weights[k], b, scaling)
        for k, b in enumerate(intercepts.tolist())
    ]


class LinearGroup:
    """Linear binaries, with stacked weights that include any scaling.

    If scalers shift the samples, the mean of their centres is subtracted from the samples first.
    Otherwise products of large values would lose the digits that the scaler keeps.

    Parameters
    ----------
    columns : array of int
        Positions of the members among the binaries of the bank.
    members : sequence of LinearMember, all with the same key
    """

    def __init__(self, columns: NDArray[np.intp], members: Sequence[LinearMember]) -> None:
        first = members[0]
        self.columns = columns
        self._binary, self._is_logistic = first.binary, first.is_logistic
        self._binaries = [member.binary for member in members]
        self._n_features = int(first.weights.shape[-1])
        scalings = [member.scaling for member in members if member.scaling is not None]
        self._centre: NDArray[np.float64] | None = None
        if any(scaling.moves_zero for scaling in scalings):
            self._centre = np.mean([scaling.centre for scaling in scalings], axis=0)
        rows, intercepts = zip(*(_folded(member, self._centre) for member in members), strict=True)
        self._weights = _stack_columns(rows)
        self._intercepts = np.array(intercepts)

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the binaries' own `scores`, of shape (n_samples, n_members)."""
        scores = self._products(samples)
        if self._is_logistic:
            slopes = np.ones(len(self.columns))
            routine("answer_logistic", "banks")(scores, slopes, self._intercepts)
        else:
            scores += self._intercepts
        return np.asarray(scores)

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return the scores as a graph."""
        weights = self._weights.toarray() if is_sparse(self._weights) else self._weights
        centred = X if self._centre is None else X - self._centre
        values = centred @ weights + self._intercepts
        return graph.add("Tanh", values * 0.5) if self._is_logistic else values

    def add_pair_votes(
        self,
        samples: Samples,
        negative: NDArray[np.intp],
        positive: NDArray[np.intp],
        votes: NDArray[np.float64],
    ) -> bool:
        """Add to each class the number of pairs that it wins minus the number that it loses.

        Only the signs of the answers are needed, not the logistic function. `negative` and
        `positive` are the classes of the members, in order. Return False if the signs are not
        known, because some calibrator is not a logistic map.
        """
        terms = self._logistic_terms()
        if terms is None:
            return False
        slopes, offsets = terms
        count = routine("count_pair_votes", "banks")
        count(self._products(samples), slopes, offsets, negative, positive, votes)
        return True

    def _logistic_terms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return slopes and offsets: the log-odds of members are slope · product + offset."""
        maps: list[Any] = [binary.calibrator for binary in self._binaries]
        if self._is_logistic:
            return np.ones(len(maps)), self._intercepts
        if not all(isinstance(each, LogisticMap) for each in maps):
            return None
        slopes = np.array([each.slope_ for each in maps])
        return slopes, np.array([each.intercept_ for each in maps]) + slopes * self._intercepts

    def _products(self, samples: Samples) -> NDArray[np.float64]:
        """Return the samples times the weights, without intercepts."""
        X = samples.as_numbers(self._binary.estimator, self._n_features)
        if self._centre is not None:
            check_dense(X)
            X = X - self._centre
        return _multiply_in_blocks(X, self._weights)


class LinearSides:
    """Models with several sides whose decision values are linear.

    Parameters
    ----------
    groups : sequence of SidesGroup
    members : the `side_members` of the model of each group, all with the same key
    """

    def __init__(
        self, groups: Sequence[SidesGroup], members: Sequence[Sequence[LinearMember]]
    ) -> None:
        self.columns = np.concatenate([group.columns for group in groups])
        self._groups = groups
        self._ends = np.cumsum([len(own) for own in members])[:-1]
        self._values = LinearGroup(np.arange(0), [each for own in members for each in own])

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return 2 q − 1 for each of the sides, of shape (n_samples, n_columns)."""
        values = np.split(self._values.scores(samples), self._ends, axis=1)
        parts = zip(self._groups, values, strict=True)
        return np.hstack([group.pick(group.model.chances(own)) for group, own in parts])

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return the same as a graph."""
        return graph.join([group.to_onnx(graph, X) for group in self._groups])


def _multiply_in_blocks(X: Any, weights: Any) -> NDArray[np.float64]:
    """Return X @ weights, computed in blocks of rows, since Ctrl-C cannot interrupt a product."""
    n_rows = X.shape[0]
    n_terms = -(-X.nnz // max(1, n_rows)) if is_sparse(X) else X.shape[1]
    of_row = n_terms * weights.shape[1]
    is_quick = not is_sparse(X) and n_rows * of_row <= _QUICK_PRODUCT
    most = min(_LONGEST_PRODUCT, _LARGEST_WITHOUT_THREADS if is_quick else _LONGEST_PRODUCT)
    blocks = list(blocks_of(n_rows, of_row, most))
    if len(blocks) <= 1:
        return _dense(X @ weights)
    products = np.empty((n_rows, weights.shape[1]))
    for block in blocks:
        _multiply_into(products[block], X[block], weights)
    return products


def _multiply_into(products: NDArray[np.float64], rows: Any, weights: Any) -> None:
    if is_sparse(rows) or is_sparse(weights):
        products[:] = _dense(rows @ weights)
    else:
        np.matmul(rows, weights, out=products)


def _dense(products: Any) -> NDArray[np.float64]:
    return products.toarray() if is_sparse(products) else np.ascontiguousarray(products)


def _is_logistic(model: Any) -> bool:
    """Return whether predict_proba is the logistic function of decision_function."""
    if isinstance(model, SGDClassifier):
        return bool(model.loss == "log_loss")
    # Older releases of scikit-learn may use the softmax of ± the decision value.
    is_binary_link = getattr(model, "multi_class", None) != "multinomial"
    own = getattr(type(model), "predict_proba", None)
    return own is LinearDiscriminantAnalysis.predict_proba or (
        is_binary_link and own is LogisticRegression.predict_proba
    )


def _linear_weights(model: Any) -> Any:
    """Return the weights of a linear decision function, or None if it is not linear."""
    if has_linear_values(model) or (type(model) in (SVC, NuSVC) and model.kernel == "linear"):
        weights = model.coef_
    elif getattr(model, "kernel", None) == KernelFunction("linear"):
        weights = model.dual_coef_ @ model.pool.vectors[model.support_]
    else:
        return None
    if is_sparse(weights):
        return csr_array(check_sparse(weights, "coef_")).astype(np.float64)
    return np.ravel(weights).astype(np.float64)


def _folded(member: LinearMember, centre: NDArray[np.float64] | None) -> tuple[Any, float]:
    """Return the weights and intercept that apply to unscaled samples minus the centre."""
    if member.scaling is None:
        factor, offset = np.ones(1), np.zeros(1)
    else:
        factor, offset = member.scaling.factor, member.scaling.offset
        if centre is not None:
            offset = offset + factor * (centre - member.scaling.centre)
    weights = member.weights
    if is_sparse(weights):
        shift = weights.multiply(offset).sum()
        return csr_array(weights.multiply(factor)), member.intercept + float(shift)
    return weights * factor, member.intercept + float(np.sum(weights * offset))


def _stack_columns(rows: Sequence[Any]) -> Any:
    """Return rows as the columns of one matrix, in the memory order that products read."""
    if is_sparse(rows[0]):
        return csc_array(vstack(rows).T)
    stacked = np.empty((len(rows[0]), len(rows)))
    for first in range(0, len(rows), _STACK):
        stacked[:, first : first + _STACK] = np.array(rows[first : first + _STACK]).T
    return stacked
