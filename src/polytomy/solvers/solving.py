"""The two functions that apply a method to a code or a scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix
from polytomy.errors import ArgumentError
from polytomy.solvers.decisions import check_decisions
from polytomy.solvers.greedy import follow_winners
from polytomy.solvers.methods import METHODS, Method, find_method
from polytomy.solvers.nested import SchemeLike, flatten_code, is_scheme, join_trees, solve_nested
from polytomy.solvers.voting import Loss
from polytomy.solvers.weights import check_weights

__all__ = ["decode", "solve"]

FloatArray = NDArray[np.float64]


def solve(
    code: CodingMatrix | ArrayLike | SchemeLike,
    decisions: ArrayLike,
    method: str = "least-squares",
    *,
    algorithm: str | None = None,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Return class probabilities from the answers of binary classifiers.

    Parameters
    ----------
    code : CodingMatrix, array-like of −1, 0 and 1, or Scheme
        A nested scheme is solved node by node, and the probabilities are multiplied down.
    decisions : array of shape (n_samples, n_partitions)
        P(+1) − P(−1) of each binary, in [-1, 1]; columns in the order of the code's rows or of
        `scheme.partitions`. NaN where a binary gave no answer: that partition is left out for that
        sample.
    method : str, default="least-squares"
        One of METHODS that gives probabilities.
    algorithm : str, optional
        For least squares: forces the algorithm that the structure of the code would choose.
    weights : array of shape (n_partitions,), optional
        For the divergences: how much each partition counts.

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> solve([[-1, 1, 1], [1, -1, 1], [1, 1, -1]], [[0.2, 0.4, 0.6]])
    array([[0.43333333, 0.33333333, 0.23333333]])
    """
    chosen = find_method(method)
    if not chosen.gives_probabilities:
        raise ArgumentError(
            f'method="{method}" gives scores, not probabilities. Use polytomy.decode for the '
            'scores, or method="least-squares".'
        )
    return _apply(chosen, code, decisions, algorithm=algorithm, weights=weights)


def decode(
    code: CodingMatrix | ArrayLike | SchemeLike,
    decisions: ArrayLike,
    method: str = "least-squares",
    *,
    loss: str | Loss | None = None,
    algorithm: str | None = None,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Return scores of the classes from the answers of binary classifiers, by any method.

    The largest score wins, the first among equals. The scores of a method that gives probabilities
    are the probabilities; those of different methods do not compare. A nested scheme is scored by
    its flat code.

    Parameters
    ----------
    code, decisions, algorithm : as for `solve`
    method : str, default="least-squares"
        One of METHODS.
    loss : str or callable, optional
        For "loss-based" and "loss-weighted": one of LOSSES, by default "quadratic", or a function
        from an array of margins a·r to one of losses.
    weights : array of shape (n_partitions,), optional
        As for `solve`. For "loss-weighted" also of shape (n_partitions, n_classes): how often each
        binary is right on each class.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> decode([[-1, 1, 1], [1, -1, 1], [1, 1, -1]], [[0.2, 0.4, 0.6]], "hamming")
    array([[1., 1., 1.]])
    """
    chosen = find_method(method)
    return _apply(chosen, code, decisions, loss=loss, algorithm=algorithm, weights=weights)


def _apply(
    method: Method,
    code: CodingMatrix | ArrayLike | SchemeLike,
    decisions: ArrayLike,
    **options: Any,
) -> FloatArray:
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in method.options:
            takers = ", ".join(
                f'"{other.name}"' for other in METHODS.values() if option in other.options
            )
            raise ArgumentError(
                f'method="{method.name}" takes no {option}. '
                f"Leave it out, or use one of the methods that do: {takers}."
            )
    if is_scheme(code):
        return _apply_to_scheme(method, code, decisions, given)
    if not isinstance(code, CodingMatrix):
        code = CodingMatrix(code)  # type: ignore[arg-type]
    return method.function(code, decisions, **given)


def _apply_to_scheme(
    method: Method, scheme: SchemeLike, decisions: ArrayLike, options: dict[str, Any]
) -> FloatArray:
    n_partitions = sum(node.code.n_partitions for node in scheme.nodes)
    answers = check_decisions(decisions, n_partitions)
    if method.needs == "tree":
        return follow_winners(join_trees(scheme), answers)
    if not method.gives_probabilities:
        return method.function(flatten_code(scheme), answers, **options)
    weights = options.pop("weights", None)
    if weights is not None:
        weights = check_weights(weights, (n_partitions,))
        answers = np.where(weights > 0, answers, np.nan)

    def solve_node(
        code: CodingMatrix, own_answers: FloatArray, own_weights: FloatArray | None
    ) -> FloatArray:
        if own_weights is None:
            return method.function(code, own_answers, **options)
        return method.function(code, own_answers, weights=own_weights, **options)

    # Every method answers a single question alike; a forced algorithm should still be used.
    multiply_trees = "algorithm" not in options
    return solve_nested(scheme, answers, weights, solve_node, multiply_trees=multiply_trees)
