"""The argument ``scheme``: from the values that users give to the schemes that they mean."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
from polytomy.designs.orders import order_classes
from polytomy.designs.registry import uses_class_order
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.label_order import has_natural_order
from polytomy.inputs.seeds import RandomState
from polytomy.scheme import CodingMatrix, Scheme, SchemeEnsemble, parse, read

SchemeArgument: TypeAlias = (
    str
    | os.PathLike[str]
    | Scheme
    | SchemeEnsemble
    | Mapping[Any, Any]
    | CodingMatrix
    | npt.ArrayLike
    | Callable[[Any, Any], Any]
)

ORDERED = "ordered"
"""The scheme for ordered classes: "adjacent", with an order that is found if none is given."""

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
) -> Scheme | SchemeEnsemble:
    """Return the scheme that a value of the option ``scheme`` describes.

    Parameters
    ----------
    argument : the name of a design or of an ensemble, control text, a path, a Scheme or
        SchemeEnsemble, a hierarchy of the classes as nested dicts, a coding matrix, or a callable
        of (X, y) that returns any of these; "ordered" is "adjacent" if the order of the classes is
        given or they are numbers, else "ordered-adjacent"
    classes : the labels of the data, sorted; designs and matrices divide these
    X, y : the training data, for callables and for designs made from data
    random_state : for random designs
    class_order : all labels in order, for designs that use it and for the columns of matrices
    warns_of_order : whether to warn if a design uses an order that the labels do not have

    Examples
    --------
    >>> print(scheme_from("tree {corn oak}", ["corn", "oak"]))
    tree {corn oak}
    >>> scheme_from("one-vs-rest", ["a", "b", "c"]).n_partitions
    3
    """
    if class_order is not None:
        class_order = order_classes(classes, class_order)  # check it for any scheme
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
        if uses_class_order(argument):
            designs = [argument] if warns_of_order else []
            classes = order_classes(classes, class_order, designs)
        return _from_text(argument, classes, X, y, random_state)
    if isinstance(argument, Mapping):
        return from_hierarchy(argument)
    try:
        is_matrix = np.ndim(np.asarray(argument)) == 2
    except ValueError:  # lists of different lengths
        is_matrix = False
    if not is_matrix:
        raise ArgumentError(
            Argument("scheme"),
            " must be the name of a design, control text, a path, a Scheme, a dict that names "
            f"groups of labels, a two-dimensional coding matrix or a callable; got {argument!r}.",
        )
    matrix: Any = argument
    return from_matrix(matrix, classes if class_order is None else class_order)


def _from_text(
    text: str, classes: Iterable[Any], X: Any, y: Any, random_state: RandomState
) -> Scheme | SchemeEnsemble:
    if text.removeprefix("@") in DATA_DESIGNS:
        text = text.removeprefix("@")
    if text in DESIGNS or text in LABEL_DESIGNS or text in DATA_DESIGNS:
        found = find_design(text)
        seed = random_state if "random_state" in found.options else None
        if not found.needs_data:
            return design(text, classes, random_state=seed)
        if X is not None:
            return design(text, X=X, y=y, random_state=seed)
    if text in ENSEMBLES and X is not None:
        return ENSEMBLES[text](X, y, random_state=random_state)
    if text in SCHEME_NAMES or text == "auto":
        raise _needs_data(text)
    if len(text) < _LONGEST_PATH and "\0" not in text and Path(text).is_file():
        return read(text)
    if _CONTROL_TEXT.search(text):
        return parse(text, "scheme")
    known = [*SCHEME_NAMES, ORDERED, "auto"]
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
    if not isinstance(argument, str):
        return callable(argument)
    if argument == ORDERED:
        return class_order is None and not has_natural_order(list(classes))
    if argument in DESIGNS or argument in DATA_DESIGNS:
        return find_design(argument).needs_data
    return argument == "auto" or argument in ENSEMBLES


def _needs_data(argument: Any) -> ArgumentError:
    return ArgumentError(
        Argument("scheme", argument),
        " builds a scheme from all the training data, which only fit has. Pass a Scheme, or a "
        "design that needs no data.",
    )


def members_of(scheme: Scheme | SchemeEnsemble) -> tuple[Scheme, ...]:
    """Return the schemes of an ensemble, or the scheme itself."""
    return scheme.schemes if isinstance(scheme, SchemeEnsemble) else (scheme,)
