"""The linear bank: all binaries whose decision function is linear, by one matrix product."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, vstack
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy.banks.scaling import Scaling, check_dense, peel_scalers
from polytomy.binary.answers import Output, TrainedBinary
from polytomy.calibration.calibrators import LogisticMap
from polytomy.inputs.samples import Samples, input_key
from polytomy.inputs.sparse import is_sparse
from polytomy.routines.runtime.dispatch import routine
from polytomy.svm.kernel_functions import KernelFunction

__all__ = ["LinearGroup", "LinearMember", "linear_member"]

# Weights are stacked in so many columns at a time.
_STACK = 256

# A product with so many columns takes hardly longer than with one: the samples are read once.
_COLUMNS_AT_ONCE = 16


class LinearMember(NamedTuple):
    """One binary of a linear bank.

    Attributes
    ----------
    binary : the trained binary
    is_logistic : whether its answer is the logistic function of the linear one
    weights : of shape (n_features,), or a CSR row; after the scaling
    intercept : float
    scaling : what is done to samples first
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
    """Return a binary as a member of a linear bank, or None if its answer is not linear.

    Members are the linear classifiers of scikit-learn and support vector machines with the linear
    kernel, alone or after scalers in a pipeline, asked for decision values; and those asked for
    probabilities that are the logistic function of the decision value.
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
    weights = _weights_of(model)
    if weights is None:
        return None
    sign = 1.0 if binary.positive_index == 1 else -1.0
    intercept = sign * float(np.ravel(model.intercept_)[0])
    return LinearMember(binary, is_logistic, sign * weights, intercept, scaling)


class LinearGroup:
    """Linear binaries, their weights side by side and any scaling folded into them.

    Where scalers move the samples, the mean of their centres is subtracted from the samples first:
    without that, a product with large values would lose the digits that the scaler keeps.

    Parameters
    ----------
    columns : array of int
        Which binaries of the bank the members are.
    members : sequence of LinearMember, all of the same key
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
        self._weights = _stacked(rows)
        self._intercepts = np.array(intercepts)
        self.efforts = np.ones(len(members))
        self.effort = max(1.0, len(members) / _COLUMNS_AT_ONCE)

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return what the binaries' own `scores` are, of shape (n_samples, n_members)."""
        scores = self._products(samples)
        if self._is_logistic:
            slopes = np.ones(len(self.columns))
            routine("answer_logistic", "banks")(scores, slopes, self._intercepts)
        else:
            scores += self._intercepts
        return np.asarray(scores)

    def add_pair_votes(
        self,
        samples: Samples,
        negative: NDArray[np.intp],
        positive: NDArray[np.intp],
        votes: NDArray[np.float64],
    ) -> bool:
        """Add to each class the pairs that it wins, less those that it loses; False if it cannot.

        That takes only the signs of the answers, and not the logistic function. The classes of
        the members are given in their order.
        """
        maps: list[Any] = [binary.calibrator for binary in self._binaries]
        if self._is_logistic:
            slopes, offsets = np.ones(len(maps)), self._intercepts
        elif all(isinstance(each, LogisticMap) for each in maps):
            slopes = np.array([each.slope_ for each in maps])
            offsets = np.array([each.intercept_ for each in maps]) + slopes * self._intercepts
        else:
            return False
        count = routine("count_pair_votes", "banks")
        count(self._products(samples), slopes, offsets, negative, positive, votes)
        return True

    def _products(self, samples: Samples) -> NDArray[np.float64]:
        """Return the samples times the weights, intercepts left out."""
        X = samples.as_numbers(self._binary.estimator, self._n_features)
        if self._centre is not None:
            check_dense(X)
            X = X - self._centre
        products = X @ self._weights
        return products.toarray() if is_sparse(products) else np.ascontiguousarray(products)


def _is_logistic(model: Any) -> bool:
    """Return whether predict_proba is the logistic function of decision_function."""
    if isinstance(model, SGDClassifier):
        return bool(model.loss == "log_loss")
    # Older releases of scikit-learn can be told to use the softmax of ± the decision value.
    is_binary_link = getattr(model, "multi_class", None) != "multinomial"
    own = getattr(type(model), "predict_proba", None)
    return is_binary_link and own is LogisticRegression.predict_proba


def _weights_of(model: Any) -> Any:
    """Return the weights of a linear decision function, or None if it is another."""
    # All linear classifiers of scikit-learn have this method from the same mixin.
    has_mixin = getattr(type(model), "decision_function", None) is LinearSVC.decision_function
    if has_mixin or (type(model) in (SVC, NuSVC) and model.kernel == "linear"):
        weights = model.coef_
    elif getattr(model, "kernel", None) == KernelFunction("linear"):
        weights = model.dual_coef_ @ model.pool.vectors[model.support_]
    else:
        return None
    if is_sparse(weights):
        return csr_array(weights).astype(np.float64)
    return np.ravel(weights).astype(np.float64)


def _folded(member: LinearMember, centre: NDArray[np.float64] | None) -> tuple[Any, float]:
    """Return weights and intercept that take samples minus the centre, but unscaled."""
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


def _stacked(rows: Sequence[Any]) -> Any:
    """Return rows as the columns of one matrix, in the order that products read it."""
    if is_sparse(rows[0]):
        return csc_array(vstack(rows).T)
    stacked = np.empty((len(rows[0]), len(rows)))
    for first in range(0, len(rows), _STACK):
        stacked[:, first : first + _STACK] = np.array(rows[first : first + _STACK]).T
    return stacked
