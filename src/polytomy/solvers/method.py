"""Methods of solving: what a method tells about itself, and the values that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.inputs.numbers import as_floats
from polytomy.onnx_graph import Graph, Value
from polytomy.scheme import CodingMatrix, Scheme

_LEAST_OVERSHOOT = 1e-9
_OVERSHOOT_IN_ROUNDINGS = 8

# How much each side may add to the error of a sum: the error of clipped log-odds.
_SUM_ROUNDING = 1e-6
_NO_ROUNDING = 1e-15
_LEAST_WEIGHT = 1e-100


def check_decisions(
    decisions: ArrayLike, n_partitions: int, rows_per_partition: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Return decision values as a C-contiguous float64 array within [−1, 1].

    NaN is allowed: it means that a binary gave no answer. A value slightly outside the interval is
    clipped if rounding can explain it (1e-9, or 8 units in the last place of the given type,
    whichever is more). An array that needs no change is returned as it is, not copied.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_partitions), or (n_samples, n_rows)
        P(+1) − P(−1) of each binary, one row per sample. A partition with more than two sides has a
        column for each side, 2 q − 1 with the probability q of the side; these probabilities must
        sum to one, and are divided by their sum if it is off by rounding.
    n_partitions : int
        Number of partitions of the code.
    rows_per_partition : array of shape (n_partitions,), optional
        Number of columns of each partition; default one.

    Returns
    -------
    array of the same shape, float64, C-contiguous

    Raises
    ------
    ArgumentError
        If `decisions` has the wrong shape, or values that are not real numbers in [−1, 1].

    Examples
    --------
    >>> check_decisions([[0.5, -1]], n_partitions=2)
    array([[ 0.5, -1. ]])
    """
    given = _as_real_array(decisions)
    n_columns = n_partitions if rows_per_partition is None else int(rows_per_partition.sum())
    _check_shape(given.shape, n_partitions, n_columns)
    values = np.ascontiguousarray(given, dtype=np.float64)
    # Unlike max and min, these ignore NaN.
    highest = np.fmax.reduce(values, axis=None, initial=-1.0)
    lowest = np.fmin.reduce(values, axis=None, initial=1.0)
    if lowest < -1.0 or highest > 1.0:
        _check_range(values, _overshoot(given.dtype))
        values = np.clip(values, -1.0, 1.0)
    if rows_per_partition is None or n_columns == n_partitions:
        return values
    return _normalise_sides(values, rows_per_partition, _overshoot(given.dtype))


def _normalise_sides(
    values: NDArray[np.float64], rows_per_partition: NDArray[np.intp], rounding: float
) -> NDArray[np.float64]:
    """Scale decisions so that the probabilities of each partition's sides sum to one."""
    starts = np.cumsum(rows_per_partition) - rows_per_partition
    chances = 0.5 * (1.0 + values)
    totals = np.add.reduceat(chances, starts, axis=1)
    n_missing = np.add.reduceat(np.isnan(chances), starts, axis=1, dtype=np.intp)
    is_wide, error = rows_per_partition > 1, np.abs(totals - 1.0)
    is_partial = (n_missing > 0) & (n_missing < rows_per_partition)
    is_wrong = is_partial | (error > rows_per_partition * (_SUM_ROUNDING + rounding))
    is_wrong &= is_wide
    if is_wrong.any():
        partition = int(np.argmax(is_wrong.any(axis=0)))
        sample, n_sides = int(np.argmax(is_wrong[:, partition])), int(rows_per_partition[partition])
        answers = values[sample, starts[partition] : starts[partition] + n_sides].tolist()
        raise ArgumentError(
            Argument("decisions"),
            f" of partition {partition} must be 2 q - 1, with probabilities q of its {n_sides} "
            f"sides that sum to one; sample {sample} has {answers}. NaN in all of these "
            "columns means no answer.",
        )
    is_off = is_wide & (error > _NO_ROUNDING * rows_per_partition)
    if not is_off.any():
        return values
    totals, is_off = (np.repeat(each, rows_per_partition, axis=1) for each in (totals, is_off))
    return np.where(is_off, 2.0 * chances / np.where(is_off, totals, 1.0) - 1.0, values)


def _as_real_array(decisions: ArrayLike) -> NDArray[np.generic]:
    try:
        given = np.asarray(decisions)
        if given.dtype.kind == "O":
            # Lists with None in them, or tables with columns of several types, may be numbers.
            given = given.astype(np.float64)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"got type {given.dtype}")
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            Argument("decisions"),
            " must be real numbers in [-1, 1], with rows of the same length: "
            f"{str(error).rstrip('.')}. Give P(+1) - P(-1) of each binary; NaN means no answer.",
        ) from error
    return given


def _check_shape(shape: tuple[int, ...], n_partitions: int, n_columns: int) -> None:
    if len(shape) == 2 and shape[1] == n_columns:
        return
    for_sides = "; a partition with more than two sides has a column for each side"
    raise ArgumentError(
        Argument("decisions"),
        f" must have shape (n_samples, {n_columns}); got {shape}. Give one row per sample and one "
        f"column per partition, in the order of the code{for_sides * (n_columns != n_partitions)}.",
    )


def _overshoot(dtype: np.dtype[Any]) -> float:
    """Return how far outside [−1, 1] a value of this type may be due to rounding."""
    if dtype.kind != "f":
        return _LEAST_OVERSHOOT
    return max(_LEAST_OVERSHOOT, _OVERSHOOT_IN_ROUNDINGS * float(np.finfo(dtype).eps))


def _check_range(values: NDArray[np.float64], overshoot: float) -> None:
    outside = np.argwhere(np.abs(values) > 1.0 + overshoot)
    if not len(outside):
        return
    sample, partition = (int(index) for index in outside[0])
    more = f" ({len(outside)} values are outside)" if len(outside) > 1 else ""
    raise ArgumentError(
        Argument("decisions"),
        f" must lie in [-1, 1]; sample {sample} has {values[sample, partition]!s} for partition "
        f"{partition}{more}. Give P(+1) - P(-1) of calibrated binaries; NaN means no answer.",
    )


def scale_weights(weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return weights as a float64 array of the given shape, scaled so that the largest is one.

    Only ratios of weights matter. If all weights are zero, they stay zero. Other weights are raised
    to at least 1e-100 of the largest, because products of smaller ones would underflow.

    Parameters
    ----------
    weights : array-like, finite and not negative
    shape : (n_partitions,), or (n_partitions, n_classes) for separate weights for each class

    Examples
    --------
    >>> scale_weights([2, 1, 0], (3,))
    array([1. , 0.5, 0. ])
    """
    values = as_floats("weights", weights)
    if values.shape != shape:
        raise ArgumentError(
            Argument("weights"),
            f" must have shape {shape}; got {values.shape}. "
            "Give one for each partition of the code, in the order of its rows.",
        )
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise ArgumentError(
            Argument("weights"),
            f" must be finite and not negative; partition {place[0]} has {values[place]:g}. "
            "Use 0 to leave a partition out.",
        )
    largest = values.max(initial=0.0)
    if largest == 0:
        return values
    return np.where(values > 0, np.maximum(values / largest, _LEAST_WEIGHT), 0.0)


# -- structures and methods ------------------------------------------------------------------------


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Structure(NamedTuple):
    """A structure that a code may have, and the reason why a code has not.

    Attributes
    ----------
    title : name for tables
    name : name of a code with this structure, including the article
    is_met_by : function of a code that returns whether it has the structure
    why_not : function of a code without the structure that returns the reason, as a clause

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [-1, -1, 1], [1, -1, 1]])
    >>> print(f"needs {TREE.name}; {TREE.why_not(code)}")
    needs a tree; a tree over 3 classes has 2 splits, the code has 3 partitions
    """

    title: str
    name: str
    is_met_by: Callable[[CodingMatrix], bool]
    why_not: Callable[[CodingMatrix], str]

    def __str__(self) -> str:
        return self.title


def _name_wide_partition(code: CodingMatrix) -> str:
    partition = int(np.argmax(code.rows_per_partition > 1))
    return f"partition {partition} has {_in_words(int(code.rows_per_partition[partition]))} sides"


def _in_words(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else str(number)


def _why_not_tree(code: CodingMatrix) -> str:
    n_splits = code.n_classes - 1
    if code.is_binary and code.n_partitions != n_splits:
        return (
            f"a tree over {code.n_classes} classes has {count_things(n_splits, 'split')}, the code "
            f"has {count_things(code.n_partitions, 'partition')}"
        )
    return "the partitions do not nest, so they are not the splits of one tree"


def _why_not_one_vs_one(code: CodingMatrix) -> str:
    if not code.is_binary:
        return _name_wide_partition(code)
    if code.pairs is None:
        sizes = np.count_nonzero(code.matrix, axis=1)
        partition = int(np.argmax(sizes != 2))
        return f"partition {partition} has {_in_words(int(sizes[partition]))} classes"
    negative, positive = code.pairs
    is_compared = np.eye(code.n_classes, dtype=np.bool_)
    is_compared[negative, positive] = is_compared[positive, negative] = True
    first, second = np.argwhere(~is_compared)[0]
    return f"no partition compares classes {first} and {second}"


ANY_CODE = Structure("any code", "any code", lambda _: True, str)
ONE_VS_ONE = Structure(
    "one-vs-one", "a one-vs-one code", lambda code: code.is_one_vs_one, _why_not_one_vs_one
)
TREE = Structure("tree", "a tree", lambda code: code.is_tree, _why_not_tree)


@dataclass(frozen=True, slots=True)
class Method:
    """A method that computes class probabilities or scores from decision values.

    Attributes
    ----------
    name : as users write it
    function : function of a code and decisions of shape (n_samples, n_rows) that returns an array
        of shape (n_samples, n_classes)
        It may also take `weights` or `loss`, the options of `decode`. NaN in the
        decisions means no answer.
    summary : one line that says what it returns, for tables and help
    reference : the publication it comes from
    gives_probabilities : whether it returns probabilities, so that `solve` accepts it, or scores
    gives_confidence : whether the largest score is the probability of its class
    needs : the structure that a code must have
    uses_only_signs : whether only the signs of decisions matter, so that binaries need no
        calibration
    counts_votes : whether a class's score is the number of answers for it minus those against it,
        so that pairs of classes can be counted without probabilities
    function_of_scheme : function of a nested scheme and decisions, optional
        By default, probabilities of the nodes are multiplied down the tree, and scores are those of
        the flat code.
    to_onnx : function of a Graph, decisions (a Value) and a code that returns the same as
        `function` as a Value, optional
    can_export : function of a scheme, and of whether all answers are inside (−1, 1), that returns
        whether `to_onnx` holds for it; by default it holds for every scheme
    """

    name: str
    function: Callable[..., NDArray[np.float64]]
    summary: str = ""
    reference: str = ""
    gives_probabilities: bool = True
    gives_confidence: bool = False
    needs: Structure = ANY_CODE
    uses_only_signs: bool = False
    counts_votes: bool = False
    function_of_scheme: Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]] | None = None
    to_onnx: Callable[[Graph, Value, CodingMatrix], Value] | None = None
    can_export: Callable[[Scheme, bool], bool] | None = None

    @property
    def options(self) -> frozenset[str]:
        """The options of `decode` that the function takes: weights, loss."""
        return frozenset(list(signature(self.function).parameters)[2:])

    @property
    def uses_flat_code(self) -> bool:
        """Whether a nested scheme is scored as one flat code instead of node by node."""
        return not self.gives_probabilities and self.function_of_scheme is None

    @property
    def exports_all(self) -> bool:
        """Whether the method can be exported for every scheme that it takes."""
        return self.to_onnx is not None and self.can_export is None

    def exports(self, scheme: Scheme, is_inside: bool) -> bool:
        """Return whether the method can be exported for a scheme; see `can_export`."""
        if self.to_onnx is None or self.can_export is None:
            return self.to_onnx is not None
        return self.can_export(scheme, is_inside)
