"""The argument ``scheme``: from the values that users give to the schemes that they mean."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from polytomy.designs import (
    DATA_DESIGNS,
    DESIGNS,
    ENSEMBLES,
    LABEL_DESIGNS,
    SCHEME_NAMES,
    design,
    find_design,
    from_hierarchy,
    from_matrix,
)
from polytomy.designs.flat import class_labels
from polytomy.designs.orders import order_classes
from polytomy.designs.registry import options_of, split_options, uses_class_order
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.label_order import has_natural_order, sort_naturally
from polytomy.inputs.seeds import RandomState
from polytomy.inputs.training_data import read_class_order
from polytomy.scheme import CodingMatrix, Scheme, SchemeEnsemble, parse, read
from polytomy.scheme.coverings import DEFAULT_SIDES

SchemeArgument: TypeAlias = (
    str
    | os.PathLike[str]
    | Scheme
    | SchemeEnsemble
    | Mapping[Any, Any]
    | CodingMatrix
    | npt.ArrayLike
    | Sequence[Any]
    | Callable[[Any, Any], Any]
)

ORDERED = "ordered"
"""The scheme for ordered classes: "adjacent", with an order that is found if none is given."""

_FOR_ORDERED_CLASSES = (ORDERED, "adjacent", "chain", "chain-backward")

LIMITED = "limited"
"""The scheme for models that take only a few classes: chosen among designs that suit these."""

CHOSEN = ("auto", LIMITED)
"""Schemes that are chosen by comparing designs on the training data."""

_LONGEST_PATH = 1024
_CONTROL_TEXT = re.compile(r'[\s{};"@]')


def scheme_from(
    argument: SchemeArgument,
    classes: Iterable[Any],
    *,
    X: Any = None,
    y: Any = None,
    random_state: RandomState = None,
    class_order: Iterable[Any] | None = None,
    warns_of_order: bool = True,
    max_sides: int | None = None,
) -> Scheme | SchemeEnsemble:
    """Return the scheme that a value of the option ``scheme`` describes.

    Parameters
    ----------
    argument : the name of a design or of an ensemble, control text, a path, a Scheme or
        SchemeEnsemble, a hierarchy of the classes as nested dicts, a coding matrix, a list of such
        schemes, or a callable of (X, y) that returns any of these; "ordered" is "adjacent" if the
        order of the classes is given or they are numbers, else "ordered-adjacent"
    classes : the labels of the data, sorted; designs and matrices divide these
    X, y : the training data, for callables and for designs made from data
    random_state : for random designs
    class_order : all labels in order, for designs that use it and for the columns of matrices
    warns_of_order : whether to warn if a design uses an order that the labels do not have
    max_sides : largest number of sides of a partition; designs with the option ``sides`` use it

    Examples
    --------
    >>> print(scheme_from("tree {corn oak}", ["corn", "oak"]))
    tree {corn oak}
    >>> scheme_from("one-vs-rest", ["a", "b", "c"]).n_partitions
    3
    """
    if class_order is not None:
        classes = list(classes)
        class_order = order_classes(classes, class_order)  # check it for any scheme
    options: dict[str, Any] = {
        "X": X,
        "y": y,
        "random_state": random_state,
        "class_order": class_order,
        "warns_of_order": warns_of_order,
    }
    if max_sides is not None:
        labels = list(classes)
        limited = _limit_sides(argument, min(max_sides, len(labels)))
        scheme = scheme_from(limited, labels, **options)
        check_sides(scheme, max_sides)
        return scheme
    if callable(argument):
        if X is None:
            raise _needs_data(argument)
        answer = argument(X, y)
        if callable(answer):
            raise ArgumentError(
                Argument("scheme", argument), f" returned {answer!r}, which is not a scheme."
            )
        argument = answer
    if isinstance(argument, Scheme | SchemeEnsemble):
        return argument
    if isinstance(argument, os.PathLike):
        return read(argument)
    if isinstance(argument, str):
        if argument == ORDERED:
            has_order = class_order is not None or has_natural_order(list(classes))
            argument = "adjacent" if has_order else "ordered-adjacent"
        if uses_class_order(split_options(argument)[0]):
            designs = [argument] if warns_of_order else []
            classes = order_classes(classes, class_order, designs)
        return _from_text(argument, classes, X, y, random_state)
    if isinstance(argument, Mapping):
        return from_hierarchy(argument)
    if is_list_of_schemes(argument):
        if not argument:
            raise ArgumentError(Argument("scheme"), " is an empty list. List one scheme or more.")
        schemes = [scheme_from(each, classes, **options) for each in argument]
        return SchemeEnsemble([member for each in schemes for member in members_of(each)])
    try:
        is_matrix = np.ndim(np.asarray(argument)) == 2
    except ValueError:  # lists of different lengths
        is_matrix = False
    if not is_matrix:
        raise ArgumentError(
            Argument("scheme"),
            " must be the name of a design, control text, a path, a Scheme, a dict that names "
            "groups of labels, a two-dimensional coding matrix, a callable or a list of schemes; "
            f"got {argument!r}.",
        )
    matrix: Any = argument
    return from_matrix(matrix, classes if class_order is None else class_order)


def follows_labels(argument: Any) -> bool:
    """Return whether a scheme follows from the text of the labels, as "paths" does.

    Examples
    --------
    >>> follows_labels("paths"), follows_labels("tree")
    (True, False)
    """
    return isinstance(argument, str) and split_options(argument)[0] in LABEL_DESIGNS


def _from_text(
    text: str, classes: Iterable[Any], X: Any, y: Any, random_state: RandomState
) -> Scheme | SchemeEnsemble:
    if text.removeprefix("@") in DATA_DESIGNS:
        text = text.removeprefix("@")
    text, options = split_options(text)
    if text in DESIGNS or text in LABEL_DESIGNS or text in DATA_DESIGNS:
        found = find_design(text)
        seed = random_state if "random_state" in found.options else None
        if options and not (found.needs_data and X is None):
            if found.check_labels is not None:
                found.check_labels(class_labels(classes), options.get("separator"))
            seeds = {} if seed is None else {"random_state": seed}
            return found.make(*((X, y) if found.needs_data else (classes,)), **seeds, **options)
        if not found.needs_data:
            return design(text, classes, random_state=seed)
        if X is not None:
            return design(text, X=X, y=y, random_state=seed)
    if text in ENSEMBLES and X is not None:
        return ENSEMBLES[text](X, y, random_state=random_state, **options)
    if text in CHOSEN:
        raise ArgumentError(
            Argument("scheme", text),
            " compares designs itself, in PolytomyClassifier.fit. Use it alone, or name designs.",
        )
    if text in SCHEME_NAMES:
        raise _needs_data(text)
    if len(text) < _LONGEST_PATH and "\0" not in text and Path(text).is_file():
        return read(text)
    if _CONTROL_TEXT.search(text):
        return parse(text, "scheme")
    known = [*SCHEME_NAMES, ORDERED, *CHOSEN]
    raise ArgumentError(
        Argument("scheme", text),
        f" is neither a file nor a design; the designs are {', '.join(known)}."
        f"{did_you_mean(text, known)}",
    )


def needs_data(
    argument: SchemeArgument, classes: Iterable[Any], class_order: Iterable[Any] | None = None
) -> bool:
    """Return whether a value of the option ``scheme`` is made from the training data.

    Examples
    --------
    >>> needs_data("one-vs-rest", [0, 1, 2]), needs_data("auto", [0, 1, 2])
    (False, True)
    """
    if is_list_of_schemes(argument):
        return any(needs_data(each, classes, class_order) for each in argument)
    if not isinstance(argument, str):
        return callable(argument)
    if argument == ORDERED:
        return class_order is None and not has_natural_order(list(classes))
    name = split_options(argument)[0]
    return name in DATA_DESIGNS or name in ENSEMBLES or name in CHOSEN


def _limit_sides(argument: SchemeArgument, most: int) -> SchemeArgument:
    """Return a design with as many sides as are allowed, if it has that option and no value."""
    if is_list_of_schemes(argument):
        return [_limit_sides(each, most) for each in argument]
    if isinstance(argument, Mapping):
        return from_hierarchy(argument, sides=most)
    if not isinstance(argument, str):
        return argument
    name, options = split_options(argument)
    if name not in SCHEME_NAMES or "sides" in options or "branches" in options:
        return argument
    return f"{argument} sides={most}" if "sides" in options_of(name) else argument


def check_sides(scheme: Scheme | SchemeEnsemble, most: int) -> None:
    """Raise an ArgumentError if a partition has more sides than a model can separate.

    Examples
    --------
    >>> check_sides(parse("land {corn wheat pine oak}"), 3)
    Traceback (most recent call last):
    ...
    polytomy.errors.ArgumentError: partition "land" has 4 sides, more than max_sides=3. Use \
scheme="limited", or @one-vs-one in place of the partition.
    """
    design = "@blocks" if most >= DEFAULT_SIDES else "@one-vs-one"
    for member in members_of(scheme):
        for partition in () if member.is_binary else member.partitions:
            if partition.n_sides > most:
                raise ArgumentError(
                    f'partition "{partition.binary}" has {partition.n_sides} sides, more than ',
                    Argument("max_sides", most),
                    ". Use ",
                    Argument("scheme", LIMITED),
                    f", or {design} in place of the partition.",
                )


def find_known_order(
    argument: SchemeArgument, y: Any, classes: NDArray[Any], class_order: Iterable[Any] | None
) -> list[Any] | None:
    """Return the classes in order: as given, else as the categories of y are; None if unknown.

    Schemes for ordered classes say that numbers are in the order of their values.

    Parameters
    ----------
    argument : a value of the option ``scheme``
    y : labels as given to `fit`, before they are converted
    classes : array of all labels
    class_order : all labels in order, or None

    Examples
    --------
    >>> find_known_order("ordered", ["9", "10"], np.array(["10", "9"]), None)
    ['9', '10']
    """
    order = read_class_order(y, classes, class_order)
    labels = classes.tolist()
    is_ordered = isinstance(argument, str) and argument in _FOR_ORDERED_CLASSES
    if order is None and is_ordered and has_natural_order(labels):
        order = sort_naturally(labels)
    return order


def _needs_data(argument: Any) -> ArgumentError:
    return ArgumentError(
        Argument("scheme", argument),
        " builds a scheme from all the training data, which only fit has. Pass a Scheme, or a "
        "design that needs no data.",
    )


def is_list_of_schemes(argument: Any) -> TypeGuard[Sequence[Any]]:
    """Return whether a value of the option ``scheme`` is a list of schemes, not a matrix.

    Examples
    --------
    >>> is_list_of_schemes(["tree", "one-vs-one"]), is_list_of_schemes([[1, -1]])
    (True, False)
    """
    kinds: Any = (str, os.PathLike, Scheme, SchemeEnsemble, Mapping, CodingMatrix)
    return isinstance(argument, list | tuple) and (
        not argument
        or any(isinstance(each, kinds) or callable(each) for each in argument)
        or any(isinstance(each, np.ndarray) and each.ndim == 2 for each in argument)
    )


def members_of(scheme: Scheme | SchemeEnsemble) -> tuple[Scheme, ...]:
    """Return the schemes of an ensemble, or the scheme itself."""
    return scheme.schemes if isinstance(scheme, SchemeEnsemble) else (scheme,)
