"""Schemes of one code, built from the number of classes alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy.typing as npt

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.seeds import RandomState
from polytomy.scheme import CodingMatrix, Label, Scheme, codes, coverings
from polytomy.scheme.nodes import normalize_labels, number_binaries

# Making and printing a tree of this many classes takes 2 GB.
_MOST_CLASSES = 2**20


def one_vs_one(classes: Iterable[Any] | int, *, name: str = "one-vs-one") -> Scheme:
    """Return the scheme with one binary for each pair of classes (Hastie and Tibshirani 1998).

    It has n(n−1)/2 small binary problems, and is the usual choice for support vector machines (Hsu
    and Lin 2002).

    Parameters
    ----------
    classes : labels, or a number of classes
    name : base of the binaries' names

    Examples
    --------
    >>> print(one_vs_one(["corn", "pine", "oak"]))
    one-vs-one-00 0 / 1;
    one-vs-one-01 0 / 2;
    one-vs-one-02 1 / 2;
    {corn pine oak}
    """
    return _named(codes.one_vs_one, classes, name)


def one_vs_rest(classes: Iterable[Any] | int, *, name: str = "one-vs-rest") -> Scheme:
    """Return the scheme with one binary for each class against all others.

    It has n binary problems, each on all the data (Rifkin and Klautau 2004 argue for it).

    Parameters
    ----------
    classes : labels, or a number of classes
    name : base of the binaries' names

    Examples
    --------
    >>> print(one_vs_rest(["corn", "pine", "oak"]))
    one-vs-rest-00 1 2 / 0;
    one-vs-rest-01 0 2 / 1;
    one-vs-rest-02 0 1 / 2;
    {corn pine oak}
    """
    return _named(codes.one_vs_rest, classes, name)


def exhaustive(classes: Iterable[Any] | int, *, name: str = "exhaustive") -> Scheme:
    """Return the scheme with all 2^(n−1) − 1 dichotomies (Dietterich and Bakiri 1995).

    Parameters
    ----------
    classes : labels, or a number of classes, at most 20
    name : base of the binaries' names

    Examples
    --------
    >>> print(exhaustive(["corn", "pine", "oak"]))
    exhaustive-00 0 / 1 2;
    exhaustive-01 1 / 0 2;
    exhaustive-02 0 1 / 2;
    {corn pine oak}
    """
    return _named(codes.exhaustive, classes, name)


def adjacent(classes: Iterable[Any] | int, *, name: str = "adjacent") -> Scheme:
    """Return the scheme with one binary for each cut of the ordered classes.

    Each of its n−1 binaries separates the classes before a cut from those after it (Frank and Hall
    2001; Mills calls it adjacent partitioning).

    Parameters
    ----------
    classes : labels in order, or a number of classes
    name : base of the binaries' names

    Examples
    --------
    >>> print(adjacent(["dry", "damp", "wet"]))
    adjacent-00 0 / 1 2;
    adjacent-01 0 1 / 2;
    {dry damp wet}
    """
    return _named(codes.adjacent, classes, name)


def chain(
    classes: Iterable[Any] | int, *, direction: str = "forward", name: str = "chain"
) -> Scheme:
    """Return the scheme that splits off one class at a time, in the order of the classes.

    This is the continuation-ratio model (Fienberg 1980). Each of its n−1 binaries separates a class
    from all that follow it or, backward, from all that precede it. The binaries are the nodes of a
    tree, so the probabilities are products.

    Parameters
    ----------
    classes : labels in order, or a number of classes
    direction : {"forward", "backward"}
        Which end to start from: the first class or the last
    name : base of the binaries' names

    Examples
    --------
    >>> print(chain(["dry", "damp", "wet"]))
    chain-00 0 / 1 2;
    chain-01 1 / 2;
    {dry damp wet}
    >>> print(chain(["dry", "damp", "wet"], direction="backward"))
    chain-00 0 1 / 2;
    chain-01 0 / 1;
    {dry damp wet}
    """
    return _named(codes.chain, classes, name, direction=direction)


def chain_backward(classes: Iterable[Any] | int, *, name: str = "chain-backward") -> Scheme:
    """Return the scheme that splits off the last class first: `chain` backward.

    Parameters
    ----------
    classes, name : see `chain`

    Examples
    --------
    >>> print(chain_backward(["dry", "damp", "wet"]))
    chain-backward-00 0 1 / 2;
    chain-backward-01 0 / 1;
    {dry damp wet}
    """
    return chain(classes, direction="backward", name=name)


def orthogonal(
    classes: Iterable[Any] | int, *, random_state: RandomState = None, name: str = "orthogonal"
) -> Scheme:
    """Return a scheme whose code has orthogonal columns, from a Hadamard matrix (Mills 2019).

    Two or three classes have no such code; they get a code with equiangular columns.

    Parameters
    ----------
    classes : labels, or a number of classes
    random_state : int, generator, or None, which always gives the same code
    name : base of the binaries' names

    Examples
    --------
    >>> matrix = orthogonal(5).code.matrix.astype(int)
    >>> matrix.T @ matrix
    array([[8, 0, 0, 0, 0],
           [0, 8, 0, 0, 0],
           [0, 0, 8, 0, 0],
           [0, 0, 0, 8, 0],
           [0, 0, 0, 0, 8]])
    """
    return _named(codes.orthogonal, classes, name, random_state=random_state)


def random_code(
    classes: Iterable[Any] | int,
    *,
    n_partitions: int | None = None,
    ternary: bool = False,
    random_state: RandomState = None,
    name: str = "random",
) -> Scheme:
    """Return a scheme with a random code, the best of many draws (Allwein, Schapire, Singer 2000).

    Parameters
    ----------
    classes : labels, or a number of classes
    n_partitions : number of binaries; by default 10·log2(n), or 15·log2(n) for a ternary code
    ternary : whether partitions leave out classes, each with probability one half
    random_state : int, generator, or None for a different code each time
    name : base of the binaries' names

    Examples
    --------
    >>> random_code(10, random_state=0)
    <Scheme: code, 10 classes, 34 partitions>
    """
    draw = codes.random_ternary if ternary else codes.random_strict
    return _named(draw, classes, name, n_partitions=n_partitions, random_state=random_state)


def random_ternary(
    classes: Iterable[Any] | int,
    *,
    n_partitions: int | None = None,
    random_state: RandomState = None,
    name: str = "random",
) -> Scheme:
    """Return a scheme with a random ternary code: `random_code` with ``ternary=True``.

    Parameters
    ----------
    classes, n_partitions, random_state, name : see `random_code`

    Examples
    --------
    >>> random_ternary(10, random_state=0)
    <Scheme: code, 10 classes, 50 partitions>
    """
    return random_code(
        classes, n_partitions=n_partitions, ternary=True, random_state=random_state, name=name
    )


def direct(classes: Iterable[Any] | int, *, name: str = "direct") -> Scheme:
    """Return the scheme of one model for all classes, which predicts as it would without a scheme.

    Parameters
    ----------
    classes : labels, or a number of classes
    name : base of the model's name

    Examples
    --------
    >>> print(direct(["a", "b", "c"]))
    direct-00 {a b c}
    """
    return _named(codes.direct, classes, name)


def n_ary_code(
    classes: Iterable[Any] | int,
    *,
    sides: int | None = None,
    rows: int | None = None,
    random_state: RandomState = None,
    name: str = "n-ary",
) -> Scheme:
    """Return a scheme with a random code of partitions with several sides (Zhou et al. 2019).

    Parameters
    ----------
    classes : labels, or a number of classes
    sides : number of sides of each partition; 4 by default, or fewer for fewer classes
    rows : number of partitions, each with a model; by default 10·log(n) to the base `sides`
    random_state : int, generator, or None for a different code each time
    name : base of the models' names

    Examples
    --------
    >>> n_ary_code(10, random_state=0)
    <Scheme: code, 10 classes, 17 partitions>
    """
    return _named(codes.n_ary, classes, name, sides=sides, rows=rows, random_state=random_state)


def blocks(
    classes: Iterable[Any] | int,
    *,
    sides: int = coverings.DEFAULT_SIDES,
    random_state: RandomState = None,
    name: str = "blocks",
) -> Scheme:
    """Return the scheme of models for `sides` classes each, in which every pair of classes meets.

    Each model leaves out all other classes. It is for models that take only a few classes, and for
    few more classes than that: 15 classes need 3 models for ten classes, 26 need 11, 60 need 55.

    Parameters
    ----------
    classes : labels, or a number of classes
    sides : number of classes of a model; with no more classes than that, it is `direct`
    random_state : int, generator, or None, which always gives the same code
    name : base of the models' names

    Examples
    --------
    >>> print(blocks(["a", "b", "c", "d"], sides=3))
    blocks-00 0 / 1 / 2;
    blocks-01 1 / 2 / 3;
    blocks-02 0 / 1 / 3;
    {a b c d}
    """
    return _named(coverings.blocks, classes, name, sides=sides, random_state=random_state)


def cover(
    classes: Iterable[Any] | int,
    *,
    sides: int = coverings.DEFAULT_SIDES,
    rows: int | None = None,
    random_state: RandomState = None,
    name: str = "cover",
) -> Scheme:
    """Return the scheme of models that separate some classes from each other and from the rest.

    Each model has a side for each of ``sides − 1`` classes, and one for all others. Every class has
    a side of its own in as many models as any other class, or in one less.

    Parameters
    ----------
    classes : labels, or a number of classes
    sides : number of sides of a model; with no more classes than that, it is `direct`
    rows : number of models; by default max(⌈n / (sides − 1)⌉, 4 ⌈log n⌉), to the base `sides`
    random_state : int, generator, or None for a different code each time
    name : base of the models' names

    Examples
    --------
    >>> print(cover(["a", "b", "c", "d"], sides=3, rows=2, random_state=0))
    cover-00 2 / 3 / 0 1;
    cover-01 0 / 1 / 2 3;
    {a b c d}
    """
    return _named(coverings.cover, classes, name, sides=sides, rows=rows, random_state=random_state)


def from_matrix(
    matrix: CodingMatrix | npt.ArrayLike,
    classes: Iterable[Any] | None = None,
    *,
    name: str = "code",
) -> Scheme:
    """Return the scheme of a coding matrix.

    Parameters
    ----------
    matrix : CodingMatrix, or array of −1, 0 and 1 of shape (n_partitions, n_classes)
    classes : labels of the columns; by default 0, 1, …
    name : base of the binaries' names

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
            f"the matrix has {code.n_classes} columns, but there are {len(labels)} classes."
        )
    return Scheme.from_code(code, labels, number_binaries(name, code.n_partitions))


def _named(
    make: Callable[..., CodingMatrix], classes: Iterable[Any] | int, name: str, **options: Any
) -> Scheme:
    labels = class_labels(classes)
    code = make(len(labels), **options)
    return Scheme.from_code(code, labels, number_binaries(name, code.n_partitions))


def class_labels(classes: Iterable[Any] | int) -> tuple[Label, ...]:
    """Return the class labels: those given, or 0, 1, … for a number of classes.

    Examples
    --------
    >>> class_labels(3), class_labels(["corn", "wheat"])
    ((0, 1, 2), ('corn', 'wheat'))
    """
    if isinstance(classes, Integral) and not isinstance(classes, bool):
        count = int(classes)
        if count > _MOST_CLASSES:
            raise ArgumentError(
                Argument("classes", count), f" is too many. The limit is {_MOST_CLASSES:,}."
            )
        classes = range(count)
    if isinstance(classes, (set, frozenset)):
        raise ArgumentError(
            Argument("classes"), " is a set, which has no order. Use sorted(classes)."
        )
    is_scalar = getattr(classes, "shape", None) == ()  # NumPy wrongly calls it iterable
    if is_scalar or not isinstance(classes, Iterable):
        raise ArgumentError(
            Argument("classes"),
            f" must be a list of labels or a number of classes; got {type(classes).__name__}.",
        )
    labels = normalize_labels(classes)
    if not labels:
        raise ArgumentError(Argument("classes"), " is empty. Give at least one class.")
    return labels
