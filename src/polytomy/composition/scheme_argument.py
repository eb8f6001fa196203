"""The option ``scheme``: from its value to a scheme."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from polytomy.codes import CodingMatrix, RandomState
from polytomy.designs import (
    DATA_DESIGNS,
    DESIGNS,
    ENSEMBLES,
    SCHEME_NAMES,
    design,
    find_design,
    from_matrix,
)
from polytomy.errors import ArgumentError
from polytomy.scheme import Scheme, parse, read
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = ["SchemeArgument", "members_of", "scheme_from"]

SchemeArgument: TypeAlias = (
    str
    | os.PathLike[str]
    | Scheme
    | SchemeEnsemble
    | CodingMatrix
    | npt.ArrayLike
    | Callable[[Any, Any], Any]
)

_LONGEST_PATH = 1024
_CONTROL_TEXT = re.compile(r'[\s{};"@]')


def scheme_from(
    argument: SchemeArgument,
    classes: Iterable[Any],
    *,
    X: Any = None,
    y: Any = None,
    random_state: RandomState = None,
) -> Scheme | SchemeEnsemble:
    """Return the scheme that the value of the option ``scheme`` describes.

    Parameters
    ----------
    argument : the name of a design or of an ensemble, control text, a path, a Scheme or an ensemble
        of them, a coding matrix, or a callable.
        A callable gets X and y and returns any of the others.
    classes : the labels of the data, in order: designs and matrices divide these
    X, y : the training data, for callables and for designs that are made from it
    random_state : for designs that are drawn at random

    Examples
    --------
    >>> print(scheme_from("tree {corn oak}", ["corn", "oak"]))
    tree {corn oak}
    >>> scheme_from("one-vs-rest", ["a", "b", "c"]).n_partitions
    3
    """
    if callable(argument) and not isinstance(argument, Scheme | SchemeEnsemble | CodingMatrix):
        if X is None:
            raise ArgumentError(
                f"scheme={argument!r} makes a scheme from the data, which only fit has as a whole. "
                "Give the scheme itself."
            )
        answer = argument(X, y)
        if callable(answer):
            raise ArgumentError(f"scheme={argument!r} returned {answer!r}, which is no scheme")
        return scheme_from(answer, classes, X=X, y=y, random_state=random_state)
    if isinstance(argument, Scheme | SchemeEnsemble):
        return argument
    if isinstance(argument, os.PathLike):
        return read(argument)
    if isinstance(argument, str):
        return _from_text(argument, classes, X, y, random_state)
    if argument is None or np.ndim(argument) != 2:
        raise ArgumentError(
            f"scheme={argument!r} is none of: the name of a design, control text, a path, a "
            "Scheme, a coding matrix of two dimensions, a callable"
        )
    return from_matrix(argument, classes)


def _from_text(
    text: str, classes: Iterable[Any], X: Any, y: Any, random_state: RandomState
) -> Scheme | SchemeEnsemble:
    if text in DESIGNS or text in DATA_DESIGNS:
        found = find_design(text)
        seed = random_state if "random_state" in found.options else None
        if not found.needs_data:
            return design(text, classes, random_state=seed)
        if X is not None:
            return design(text, X=X, y=y, random_state=seed)
    if text in ENSEMBLES and X is not None:
        return ENSEMBLES[text](X, y, random_state=random_state)
    if text in SCHEME_NAMES or text == "auto":
        raise ArgumentError(
            f"scheme={text!r} makes a scheme from the data, which only fit has as a whole. Give "
            "the scheme itself."
        )
    if len(text) < _LONGEST_PATH and "\0" not in text and Path(text).is_file():
        return read(text)
    if _CONTROL_TEXT.search(text):
        return parse(text, "scheme")
    known = [*SCHEME_NAMES, "auto"]
    near = get_close_matches(text, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ArgumentError(
        f"scheme={text!r} is neither a file nor a design; the designs are {', '.join(known)}.{hint}"
    )


def members_of(scheme: Scheme | SchemeEnsemble) -> tuple[Scheme, ...]:
    """Return the schemes of an ensemble, or the one scheme itself."""
    return scheme.schemes if isinstance(scheme, SchemeEnsemble) else (scheme,)
