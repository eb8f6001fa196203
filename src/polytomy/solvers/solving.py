"""`solve` and `decode`, which apply a method to a code or a scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix
from polytomy.errors import Argument, ArgumentError
from polytomy.solvers.applicability import check_applicable
from polytomy.solvers.decisions import check_decisions
from polytomy.solvers.greedy import score_tree_greedily
from polytomy.solvers.methods import METHODS, Method, find_method
from polytomy.solvers.nested import (
    SchemeLike,
    flatten_code,
    is_scheme,
    join_trees,
    row_counts,
    solve_nested,
)
from polytomy.solvers.voting import Loss
from polytomy.solvers.weights import scale_weights

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
        A nested scheme is solved node by node, and probabilities are multiplied down the tree.
    decisions : array of shape (n_samples, n_rows)
        P(+1) − P(−1) of each binary, in [-1, 1]; columns in the order of the code's rows or of
        `scheme.partitions`. A partition with more than two sides has a column for each side,
        2 q − 1 with the probability q of that side. NaN means no answer: the partition is left out
        for that sample.
    method : str, default="least-squares"
        A method of METHODS that returns probabilities.
    algorithm : str, optional
        For "least-squares": the algorithm to use instead of the one chosen from the structure of
        the code.
    weights : array of shape (n_partitions,), optional
        For "divergence" and "hastie-tibshirani": how much each partition counts.

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> solve([[-1, 1, 1], [1, -1, 1], [1, 1, -1]], [[0.2, 0.4, 0.6]])
    array([[0.43333333, 0.33333333, 0.23333333]])

    One partition with three sides, and a binary one that contradicts it:

    >>> from polytomy.scheme import parse
    >>> scheme = parse("m 0 / 1 / 2; n 0 / 1; {a b c}")
    >>> solve(scheme, [[0.0, -0.5, -0.5, 0.5]]).round(3)
    array([[0.325, 0.375, 0.3  ]])
    """
    chosen = find_method(method)
    if not chosen.gives_probabilities:
        raise ArgumentError(
            Argument("method", method),
            " gives scores, not probabilities. Use polytomy.decode for the scores, or ",
            Argument("method", "least-squares"),
            ".",
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

    The class with the largest score wins; in a tie, the first one. If the method returns
    probabilities, they are the scores. Scores of different methods are not comparable. Methods that
    only return scores use a nested scheme as one flat code, except "greedy".

    Parameters
    ----------
    code, decisions, algorithm : as for `solve`
    method : str, default="least-squares"
        One of METHODS.
    loss : str or callable, optional
        For "loss-based" and "loss-weighted": one of LOSSES ("quadratic" by default) or a function
        from an array of margins a·r to an array of losses.
    weights : array of shape (n_partitions,), optional
        As for `solve`. "loss-weighted" also accepts shape (n_partitions, n_classes): how often each
        binary is correct on each class.

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
                Argument("method", method.name),
                " takes no ",
                Argument(option),
                f". Leave it out, or use a method that takes it: {takers}.",
            )
    if not is_scheme(code) and not isinstance(code, CodingMatrix):
        code = CodingMatrix(code)  # type: ignore[arg-type]
    check_applicable(method.name, code)
    if is_scheme(code):
        return _apply_to_scheme(method, code, decisions, given)
    return method.function(code, decisions, **given)


def _apply_to_scheme(
    method: Method, scheme: SchemeLike, decisions: ArrayLike, options: dict[str, Any]
) -> FloatArray:
    counts = row_counts(scheme)
    answers = check_decisions(decisions, len(counts), counts)
    if method.needs == "tree":
        return score_tree_greedily(join_trees(scheme), counts, answers, len(scheme.classes))
    if method.uses_flat_code:
        return method.function(flatten_code(scheme), answers, **options)
    weights = options.pop("weights", None)
    if weights is not None:
        weights = scale_weights(weights, (len(counts),))
        answers = np.where(np.repeat(weights > 0, counts), answers, np.nan)

    def solve_node(
        code: CodingMatrix, own_answers: FloatArray, own_weights: FloatArray | None
    ) -> FloatArray:
        if own_weights is None:
            return method.function(code, own_answers, **options)
        return method.function(code, own_answers, weights=own_weights, **options)

    # All methods agree on a two-way node, so its solution is known; but if the user specifies an
    # algorithm, that algorithm should run.
    multiply_trees = "algorithm" not in options
    return solve_nested(scheme, answers, weights, solve_node, multiply_trees=multiply_trees)
