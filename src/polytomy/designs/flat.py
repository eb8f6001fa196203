"""Schemes that are one code, made from the number of classes alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy.typing as npt

from polytomy import codes
from polytomy.codes import CodingMatrix
from polytomy.designs.classes import class_labels
from polytomy.errors import ArgumentError
from polytomy.inputs.random_states import RandomState
from polytomy.scheme import Scheme
from polytomy.scheme.naming import numbered_binaries

__all__ = [
    "adjacent",
    "exhaustive",
    "from_matrix",
    "one_vs_one",
    "one_vs_rest",
    "orthogonal",
    "random_code",
]


def _numbered(code: CodingMatrix, labels: Sequence[Any], name: str) -> Scheme:
    return Scheme.from_code(code, labels, numbered_binaries(name, code.n_partitions))


def one_vs_one(classes: Iterable[Any] | int, *, name: str = "one-vs-one") -> Scheme:
    """Return the scheme that has a binary for every pair of classes (Hastie and Tibshirani 1998).

    n(n−1)/2 small binary problems; the usual choice for support vector machines (Hsu and Lin 2002).

    Parameters
    ----------
    classes : labels, or a number of classes
    name : base of the names of its binaries

    Examples
    --------
    >>> print(one_vs_one(["corn", "pine", "oak"]))
    one-vs-one-00 0 / 1;
    one-vs-one-01 0 / 2;
    one-vs-one-02 1 / 2;
    {corn pine oak}
    """
    labels = class_labels(classes)
    return _numbered(codes.one_vs_one(len(labels)), labels, name)


def one_vs_rest(classes: Iterable[Any] | int, *, name: str = "one-vs-rest") -> Scheme:
    """Return the scheme that has a binary for every class against all others.

    n binary problems, each on all the data (Rifkin and Klautau 2004 defend it).

    Examples
    --------
    >>> one_vs_rest(4).code.matrix.tolist()[0]
    [1, -1, -1, -1]
    """
    labels = class_labels(classes)
    return _numbered(codes.one_vs_rest(len(labels)), labels, name)


def exhaustive(classes: Iterable[Any] | int, *, name: str = "exhaustive") -> Scheme:
    """Return the scheme of all 2^(n−1) − 1 dichotomies (Dietterich and Bakiri 1995).

    Refused past 20 classes.

    Examples
    --------
    >>> exhaustive(4).n_partitions
    7
    """
    labels = class_labels(classes)
    return _numbered(codes.exhaustive(len(labels)), labels, name)


def adjacent(classes: Iterable[Any] | int, *, name: str = "adjacent") -> Scheme:
    """Return the scheme that cuts the given order of classes at every place.

    For ordered classes (Frank and Hall 2001; Mills calls it adjacent partitioning): n−1 binaries,
    each telling the classes before a cut from those after it.

    Examples
    --------
    >>> print(adjacent(["dry", "damp", "wet"]))
    adjacent-00 0 / 1 2;
    adjacent-01 0 1 / 2;
    {dry damp wet}
    """
    labels = class_labels(classes)
    return _numbered(codes.adjacent(len(labels)), labels, name)


def orthogonal(
    classes: Iterable[Any] | int, *, random_state: RandomState = None, name: str = "orthogonal"
) -> Scheme:
    """Return a scheme whose code has orthogonal columns, from a Hadamard matrix (Mills 2019).

    For 2 and 3 classes, where that cannot be, its columns are equiangular.

    Parameters
    ----------
    classes : labels, or a number of classes
    random_state : picks among the orthogonal codes; None is one and the same code always
    name : base of the names of its binaries

    Examples
    --------
    >>> import numpy as np
    >>> matrix = orthogonal(7).code.matrix.astype(int)
    >>> (matrix.T @ matrix == 8 * np.eye(7)).all()
    np.True_
    """
    labels = class_labels(classes)
    return _numbered(codes.orthogonal(len(labels), random_state=random_state), labels, name)


def random_code(
    classes: Iterable[Any] | int,
    *,
    rows: int | None = None,
    ternary: bool = False,
    random_state: RandomState = None,
    name: str = "random",
) -> Scheme:
    """Return a scheme with a random code, the best of many draws (Allwein, Schapire, Singer 2000).

    Parameters
    ----------
    classes : labels, or a number of classes
    rows : number of binaries; 10·log2(n) of a strict and 15·log2(n) of a ternary code if None
    ternary : whether a partition leaves classes out, each with probability one half
    random_state : int, generator or None for another code each time
    name : base of the names of its binaries

    Examples
    --------
    >>> random_code(10, random_state=0).n_partitions
    34
    """
    labels = class_labels(classes)
    draw = codes.random_ternary if ternary else codes.random_strict
    return _numbered(draw(len(labels), rows=rows, random_state=random_state), labels, name)


def from_matrix(
    matrix: CodingMatrix | npt.ArrayLike,
    classes: Iterable[Any] | None = None,
    *,
    name: str = "code",
) -> Scheme:
    """Return the scheme of any coding matrix, partitions by classes, of −1, 0 and 1.

    Parameters
    ----------
    matrix : CodingMatrix or array; CodeError says what is wrong with it
    classes : labels of the columns; 0, 1, … if None
    name : base of the names of its binaries

    Examples
    --------
    >>> print(from_matrix([[-1, 1, 1], [0, -1, 1]], ["a", "b", "c"]))
    code-00 0 / 1 2;
    code-01 1 / 2;
    {a b c}
    """
    code = matrix if isinstance(matrix, CodingMatrix) else CodingMatrix(matrix)
    labels = class_labels(code.n_classes if classes is None else classes)
    if len(labels) != code.n_classes:
        raise ArgumentError(
            f"{len(labels)} classes are given for the {code.n_classes} columns of the matrix"
        )
    return _numbered(code, labels, name)
