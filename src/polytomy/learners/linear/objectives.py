"""Which linear classifiers can be trained together, what they minimise, and the fitted models."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.validation import validate_data

from polytomy.errors import PolytomyError
from polytomy.inputs.rows import refuse_dates
from polytomy.inputs.seeds import draw_seed
from polytomy.inputs.sparse import check_sparse
from polytomy.inputs.training_data import is_plain_array
from polytomy.learners.preparation import copy_unfitted, side_labels
from polytomy.learners.problems import Batch
from polytomy.routines.reference.linear import LinearForm

Floats = NDArray[np.float64]

# Solvers of LogisticRegression that do not penalise the intercept.
_UNPENALISED = ("lbfgs", "newton-cg", "newton-cholesky")

# Factor by which tolerances are tighter than those of scikit-learn's solvers.
_TIGHTER = 0.1


@dataclass(frozen=True, slots=True)
class LinearObjective:
    """The objective of a LogisticRegression or LinearSVC, and its tolerance.

    Attributes
    ----------
    is_logistic : bool, whether the loss is logistic or the squared hinge
    C : float, cost of a sample
    tol : float, the estimator's own tolerance
    bias : float, the constant feature of the intercept; zero without an intercept
    penalises_bias : bool
    most_steps : int
    class_weight : "balanced", pair of weights of the −1 and the +1 side, or None
    """

    is_logistic: bool
    C: float
    tol: float
    bias: float
    penalises_bias: bool
    most_steps: int
    class_weight: tuple[float, float] | str | None

    @property
    def form(self) -> LinearForm:
        """The objective as an argument for the routine."""
        return LinearForm(self.is_logistic, self.bias, float(self.penalises_bias), self.most_steps)

    def tolerances(
        self, costs: NDArray[np.float64], n_positive: NDArray[np.intp], n_samples: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the tolerances for the largest gradient component and the relative gradient norm.

        L-BFGS bounds the largest component of the mean gradient. LIBLINEAR bounds the norm by a
        fraction of the norm at zero; the rarer a side is, the smaller the fraction.

        Parameters
        ----------
        costs : array of shape (n_problems,), the sum of the sample costs of each problem
        n_positive, n_samples : arrays of shape (n_problems,)
        """
        if not self.penalises_bias and self.is_logistic:
            return _TIGHTER * self.tol * costs, np.zeros(len(costs))
        rarer = np.maximum(1, np.minimum(n_positive, n_samples - n_positive))
        return np.zeros(len(costs)), _TIGHTER * self.tol * rarer / n_samples


def find_objective(estimator: Any) -> LinearObjective | None:
    """Return the objective of an estimator, or None if it must be trained by its own `fit`.

    Supported are LogisticRegression with an L2 penalty, unless its solver is "sag" or "saga", and
    LinearSVC with an L2 penalty and the squared hinge loss.

    Examples
    --------
    >>> find_objective(LinearSVC(C=2.0)).penalises_bias
    True
    >>> find_objective(LinearSVC(loss="hinge")) is None
    True
    """
    # Not isinstance: a subclass may do anything.
    kind = type(estimator)
    if kind not in (LogisticRegression, LinearSVC) or estimator.verbose:
        return None
    if hasattr(estimator, "_skl_callbacks"):
        return None
    try:
        estimator._validate_params()
        class_weight = _side_weights(estimator)
    except (ValueError, PolytomyError):
        return None  # the estimator's own fit raises the error, where the user expects it
    if kind is LogisticRegression:
        is_suitable = _is_plain_logistic(estimator)
        penalises_bias = estimator.solver == "liblinear"
    else:
        is_suitable = _is_plain_svc(estimator)
        penalises_bias = True
    if not is_suitable:
        return None
    bias = 0.0
    if estimator.fit_intercept:
        bias = float(estimator.intercept_scaling) if penalises_bias else 1.0
    return LinearObjective(
        kind is LogisticRegression,
        float(estimator.C),
        float(estimator.tol),
        bias,
        penalises_bias,
        int(estimator.max_iter),
        class_weight,
    )


def _is_plain_logistic(estimator: LogisticRegression) -> bool:
    is_known = estimator.solver in (*_UNPENALISED, "liblinear")
    is_dual = estimator.dual and estimator.solver != "liblinear"
    # Other values are deprecated or cause warnings, which the estimator's own fit should raise. The
    # defaults mean an L2 penalty, but they differ between versions of scikit-learn.
    default = LogisticRegression().get_params()
    has_defaults = all(
        getattr(estimator, name) == default[name]
        for name in ("penalty", "l1_ratio", "multi_class")
        if name in default
    )
    is_plain = has_defaults and estimator.n_jobs is None and not estimator.warm_start
    return is_known and is_plain and not is_dual and bool(np.isfinite(estimator.C))


def _is_plain_svc(estimator: LinearSVC) -> bool:
    is_squared = estimator.penalty == "l2" and estimator.loss == "squared_hinge"
    has_scaling = not estimator.fit_intercept or estimator.intercept_scaling > 0
    return bool(is_squared and estimator.multi_class == "ovr" and has_scaling)


def _side_weights(estimator: Any) -> tuple[float, float] | str | None:
    """Return the weights of the two sides; ValueError if a side has none."""
    weights = estimator.class_weight
    if not isinstance(weights, Mapping):
        return None if weights is None else str(weights)
    negative, positive = (float(weights.get(side, 1.0)) for side in side_labels(estimator))
    if not (negative > 0 and positive > 0):
        raise ValueError("a side has no weight")
    return negative, positive


def sample_costs(
    objective: LinearObjective, batch: Batch, is_kept: NDArray[np.bool_], weight: Floats | None
) -> Floats:
    """Return C times the sample weights, for the model of each part of the samples.

    Parameters
    ----------
    objective : LinearObjective
    batch : Batch
    is_kept : bool array of shape (n_parts, n_samples)
        The samples in each part; the others have zero cost. Balanced weights are computed from the
        samples in the part.
    weight : array of shape (n_samples,), optional

    Returns
    -------
    array of shape (n_parts, n_samples)

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from polytomy.learners.problems import BinaryProblem
    >>> problem = BinaryProblem("a", np.arange(3), np.array([True, False, False]))
    >>> objective = find_objective(LinearSVC(C=4, class_weight="balanced"))
    >>> is_kept = np.array([[True, True, True], [True, False, True]])
    >>> sample_costs(objective, Batch.of([problem]), is_kept, None)
    array([[6., 3., 3.],
           [4., 0., 4.]])
    """
    costs = np.where(is_kept, 1.0 if weight is None else weight, 0.0)
    if objective.class_weight == "balanced":
        above = _sum_by_problem(costs * batch.is_positive, batch)
        total = _sum_by_problem(costs, batch)
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = total / (2.0 * np.array([total - above, above]))
        factors[~np.isfinite(factors)] = 0.0
        of_sample = factors[..., batch.problem_of]
        costs *= np.where(batch.is_positive, of_sample[1], of_sample[0])
    elif isinstance(objective.class_weight, tuple):
        negative, positive = objective.class_weight
        costs *= np.where(batch.is_positive, positive, negative)
    costs *= objective.C
    return costs


def _sum_by_problem(values: Floats, batch: Batch) -> Floats:
    sums: Floats = np.add.reduceat(values, batch.starts[:-1], axis=-1)
    return sums


# A float32 array with this many values is not converted: a copy would take twice its memory.
_MANY_VALUES = 2**22


def _is_large_single(X: Any) -> bool:
    is_single = isinstance(X, np.ndarray) and X.dtype == np.float32
    return is_single and X.size >= _MANY_VALUES


class FittedModels:
    """Creates fitted copies of an estimator, all for the same features.

    Parameters
    ----------
    estimator : LogisticRegression or LinearSVC, unfitted
    objective : LinearObjective, its objective
    X : training data
        If the estimator does not accept it, scikit-learn's ValueError or TypeError is raised.

    Attributes
    ----------
    numbers : X as a float64 array or CSR matrix; a large float32 array stays as it is
    sides : labels of the −1 side and the +1 side
    """

    def __init__(self, estimator: Any, objective: LinearObjective, X: Any) -> None:
        self.objective = objective
        self._template = copy_unfitted(estimator)
        refuse_dates(X, "X")
        if is_plain_array(X):
            self.numbers: Any = X
            self._template.n_features_in_ = X.shape[1]
        else:
            self.numbers = check_sparse(
                validate_data(
                    self._template,
                    X,
                    accept_sparse="csr",
                    dtype=[np.float64, np.float32] if _is_large_single(X) else np.float64,
                    order="C",
                    accept_large_sparse=False,
                )
            )
        self.sides = side_labels(estimator)
        self._classes = np.array(self.sides)

    def make(self, coefficients: NDArray[np.float64], n_steps: int, seed: int | None) -> Any:
        """Return a fitted estimator.

        Parameters
        ----------
        coefficients : array of shape (n_features + 1,), the last for the constant feature
        n_steps : number of steps of the solver
        seed : seed of the partition, or None
        """
        model, bias = copy.copy(self._template), self.objective.bias
        if seed is not None:
            model.random_state = draw_seed(seed)
        model.classes_ = self._classes.copy()
        model.coef_ = coefficients[np.newaxis, :-1].copy()
        model.intercept_ = np.array([bias * coefficients[-1]])
        is_logistic = self.objective.is_logistic
        model.n_iter_ = np.array([n_steps], dtype=np.int32) if is_logistic else n_steps
        if not (bias or is_logistic):
            model.intercept_ = 0.0  # as in LinearSVC
        return model
