"""The registry of methods, and `solve` and `decode`, which apply one to a code or a scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import check_choice
from polytomy.onnx_graph import Graph, Value
from polytomy.scheme import CodingMatrix, Scheme
from polytomy.scheme.code_checks import MAX_ENTRIES
from polytomy.scheme.scheme import flatten_code
from polytomy.solvers.coupling import DIVERGENCE, HASTIE_TIBSHIRANI, LIBSVM, PRICE, WU_LIN_WENG_1
from polytomy.solvers.decoding import GREEDY, HAMMING, LOSS_BASED, LOSS_WEIGHTED, VOTING, Loss
from polytomy.solvers.least_squares import LEAST_SQUARES
from polytomy.solvers.method import Method, check_decisions, scale_weights
from polytomy.solvers.nested import export_nested, row_counts, solve_nested

FloatArray = NDArray[np.float64]

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        LEAST_SQUARES,
        DIVERGENCE,
        HASTIE_TIBSHIRANI,
        WU_LIN_WENG_1,
        PRICE,
        LIBSVM,
        VOTING,
        HAMMING,
        LOSS_BASED,
        LOSS_WEIGHTED,
        GREEDY,
    )
}
"""Every method, by name."""


def register(method: Method) -> Method:
    """Add a method to METHODS, so that its name is accepted wherever a solver is chosen; return it.

    Examples
    --------
    >>> def softmax_of_votes(code, decisions):
    ...     odds = np.exp(decode(code, decisions, "voting"))
    ...     return odds / odds.sum(axis=1, keepdims=True)
    >>> method = register(Method("softmax", softmax_of_votes, "the softmax of the votes"))
    >>> solve([[-1, 1, 1], [1, -1, 1], [1, 1, -1]], [[0.2, 0.4, 0.6]], "softmax").round(3)
    array([[0.472, 0.316, 0.212]])
    >>> del METHODS["softmax"]
    """
    if method.name in {"auto", *METHODS}:
        raise ArgumentError(
            f"There is already a solver called {method.name!r}. Give this one another name."
        )
    METHODS[method.name] = method
    return method


def find_method(name: str, parameter: str = "method") -> Method:
    """Return the method with the given name.

    Parameters
    ----------
    name : str
    parameter : str, default="method"
        The caller's name for the parameter, to use in the error message.

    Examples
    --------
    >>> print(find_method("price").needs)
    one-vs-one
    >>> find_method("least-square")
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: method="least-square" is not one of least-squares, divergence,
    hastie-tibshirani, wu-lin-weng-1, price, libsvm, voting, hamming, loss-based, loss-weighted,
    greedy. Did you mean "least-squares"?
    """
    check_choice(parameter, name, METHODS)
    return METHODS[name]


def check_applicable(
    method: str, code: CodingMatrix | ArrayLike | Scheme, parameter: str = "method"
) -> None:
    """Raise an ArgumentError if `solve` or `decode` could not apply a method to a code or scheme.

    Parameters
    ----------
    method : str
        One of METHODS.
    code : CodingMatrix, array-like of −1, 0 and 1, or Scheme
        Each node of a nested scheme needs the structure that the method needs.
    parameter : str, default="method"
        The caller's name for the parameter, to use in the error message.

    Raises
    ------
    ArgumentError
        If the method is not known, if it needs a structure that the code or a node of the scheme
        does not have, or if it needs a flat code that would be too large.

    Examples
    --------
    >>> one_vs_rest = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> check_applicable("divergence", one_vs_rest)
    >>> check_applicable("price", one_vs_rest, parameter="solver")
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: solver="price" needs a one-vs-one code; partition 0 has three
    classes. Use solver="least-squares".
    """
    found = find_method(method, parameter)
    if not isinstance(code, Scheme):
        if not isinstance(code, CodingMatrix):
            code = CodingMatrix(code)
        _check_structure(found, code, "", parameter)
        return
    for position, node in enumerate(code.nodes):
        place = f"in node {position} of the scheme, " if len(code.nodes) > 1 else ""
        _check_structure(found, node.code, place, parameter)
    n_classes, n_rows = len(code.classes), code.n_rows
    if found.uses_flat_code and n_rows * n_classes > MAX_ENTRIES:
        raise ArgumentError(
            f"The flat code of the scheme would have {n_rows:,} rows of {n_classes:,} "
            "classes, which is too large. Use ",
            Argument(parameter, "least-squares"),
            ", which does not need it.",
        )


def _check_structure(method: Method, code: CodingMatrix, place: str, parameter: str) -> None:
    if method.needs.is_met_by(code):
        return
    raise ArgumentError(
        Argument(parameter, method.name),
        f" needs {method.needs.name}; {place}{method.needs.why_not(code)}. Use ",
        Argument(parameter, "least-squares"),
        ".",
    )


def solve(
    code: CodingMatrix | ArrayLike | Scheme,
    decisions: ArrayLike,
    method: str = "least-squares",
    *,
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
    return _apply(chosen, code, decisions, weights=weights)


def decode(
    code: CodingMatrix | ArrayLike | Scheme,
    decisions: ArrayLike,
    method: str = "least-squares",
    *,
    loss: str | Loss | None = None,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Return scores of the classes from the answers of binary classifiers, by any method.

    The class with the largest score wins; in a tie, the first one. If the method returns
    probabilities, they are the scores. Scores of different methods are not comparable. Methods that
    only return scores use a nested scheme as one flat code, except "greedy".

    Parameters
    ----------
    code, decisions : as for `solve`
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
    return _apply(chosen, code, decisions, loss=loss, weights=weights)


def _apply(
    method: Method,
    code: CodingMatrix | ArrayLike | Scheme,
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
    if not isinstance(code, Scheme) and not isinstance(code, CodingMatrix):
        code = CodingMatrix(code)
    check_applicable(method.name, code)
    if isinstance(code, Scheme):
        return _apply_to_scheme(method, code, decisions, given)
    answers = check_decisions(decisions, code.n_partitions, code.rows_per_partition)
    return method.function(code, answers, **given)


def _apply_to_scheme(
    method: Method, scheme: Scheme, decisions: ArrayLike, options: dict[str, Any]
) -> FloatArray:
    counts = row_counts(scheme)
    answers = check_decisions(decisions, len(counts), counts)
    if method.function_of_scheme is not None:
        return method.function_of_scheme(scheme, answers)
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

    return solve_nested(scheme, answers, weights, solve_node)


def export_decoding(graph: Graph, decisions: Value, scheme: Scheme, method: str) -> Value:
    """Return `decode` of a scheme as a graph, for a method that can be exported.

    Parameters
    ----------
    graph : Graph to add nodes to
    decisions : of shape (n_samples, n_rows), without NaN
    scheme : Scheme
    method : a method with `to_onnx`
    """
    export = find_method(method).to_onnx
    assert export is not None
    if find_method(method).uses_flat_code:
        return export(graph, decisions, flatten_code(scheme))
    return export_nested(graph, decisions, scheme, export)
