"""Estimators written as text, the quoted form of a two-class model in a control text.

A specification is one of::

    ""                          the default estimator
    "svc C=10 kernel=poly"      a classifier of scikit-learn and its parameters
    "C=10"                      the default estimator with other parameters
    "-t 2 -c 10 -g 0.1"         LIBSVM's options

Values are Python literals; words that are none are text. Nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
import shlex
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from polytomy.binary.libsvm_options import classifier_from_options
from polytomy.errors import ArgumentError

__all__ = ["estimator_from", "specification_of"]

_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TEXT = re.compile(r"[A-Za-z_][\w .+/-]*")
# Numbers that have no literal in Python.
_NAMED_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def estimator_from(specification: str, default: Any) -> Any:
    """Return the new, unfitted estimator that a specification describes.

    Parameters
    ----------
    specification : str
        A kebab-case name of a classifier of scikit-learn (the ending ``-classifier`` may be left
        out) and ``parameter=value`` pairs, or the pairs alone, or LIBSVM's options. A value with
        spaces is quoted.
    default : estimator
        What an empty specification means, and what pairs alone change; it is copied.

    Returns
    -------
    estimator

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> estimator_from("logistic-regression C=0.1", default=SVC())
    LogisticRegression(C=0.1)
    >>> estimator_from("C=10 kernel=poly", default=SVC())
    SVC(C=10, kernel='poly')
    >>> estimator_from("-t 0 -c 10", default=SVC())
    SVC(C=10.0, cache_size=100.0, gamma='auto', kernel='linear')
    """
    try:
        return _read(specification, default)
    except ArgumentError as error:
        raise ArgumentError(f'Specification "{specification}": {error}') from None


def specification_of(estimator: Any) -> str:
    """Return the specification that describes an estimator, with what differs from its defaults.

    ``estimator_from(specification_of(estimator), ...)`` is an estimator with the same parameters.

    Parameters
    ----------
    estimator : a classifier of scikit-learn whose parameters are numbers, text and the like

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> specification_of(SVC(C=10, class_weight={-1: 2, 1: 1}))
    "svc C=10 'class_weight={-1: 2, 1: 1}'"
    """
    kind = type(estimator)
    name = _kebab(kind.__name__)
    if _classifiers().get(name) is not kind:
        raise ArgumentError(
            f"{kind.__name__} is no classifier of scikit-learn, so no specification "
            'describes it. Give it a name, as models={"name": estimator}.'
        )
    words = [name]
    defaults = inspect.signature(kind).parameters
    for parameter, value in estimator.get_params(deep=False).items():
        if not _same(value, defaults[parameter].default):
            text = _print_value(value)
            if text is None:
                raise ArgumentError(
                    f"{parameter}={value!r} of {kind.__name__} cannot be written in a "
                    'specification. Give the estimator a name, as models={"name": estimator}.'
                )
            words.append(shlex.quote(f"{parameter}={text}"))
    return " ".join(words)


def _read(specification: str, default: Any) -> Any:
    try:
        words = shlex.split(specification)
    except ValueError as error:
        raise ArgumentError(f"{error}. Close what is quoted.") from None
    if words and words[0].startswith("-"):
        return _checked(classifier_from_options(words))
    is_named = words and "=" not in words[0]
    estimator = _new_classifier(words.pop(0)) if is_named else clone(default)
    return _checked(_with_parameters(estimator, _read_parameters(words)))


def _read_parameters(words: Iterable[str]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise ArgumentError(
                f"{word} is not of the form parameter=value. A value with spaces needs quotes, "
                "as in 'class_weight={-1: 2, 1: 1}'."
            )
        if name in parameters:
            raise ArgumentError(f"{name} is given twice. Give it once.")
        parameters[name] = _read_value(name, text)
    return parameters


def _read_value(name: str, text: str) -> Any:
    if text in _NAMED_NUMBERS:
        return _NAMED_NUMBERS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if _TEXT.fullmatch(text):
            return text
    raise ArgumentError(
        f"the value of {name}, {text or 'nothing'}, is neither a literal (10, 0.1, None, True, "
        "(1, 2)) nor a word."
    )


def _print_value(value: Any) -> str | None:
    """Return a text that reads as `value`, or None where there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    candidates = (value, repr(value)) if isinstance(value, str) else (repr(value),)
    for text in candidates:
        try:
            again = _read_value("", text)
        except ArgumentError:
            continue
        if type(again) is type(value) and _same(again, value):
            return text
    return None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    equal = one == other
    # Arrays compare value by value; they are no literals and so never the same as one.
    return one is other or (isinstance(equal, bool | np.bool_) and bool(equal))


@lru_cache(maxsize=1)
def _classifiers() -> Mapping[str, type]:
    """Return the classifiers of scikit-learn by kebab-case name, short names included."""
    # It imports all of scikit-learn, so only when a name has to be looked up.
    from sklearn.utils.discovery import all_estimators

    full = {_kebab(name): kind for name, kind in all_estimators(type_filter="classifier")}
    short = {name.removesuffix("-classifier"): kind for name, kind in full.items()}
    return short | full


def _kebab(name: str) -> str:
    return _WORD_BOUNDARY.sub("-", name).lower()


def _new_classifier(name: str) -> Any:
    classifiers = _classifiers()
    kind = classifiers.get(_kebab(name))
    if kind is None:
        raise ArgumentError(
            f"{name} is no classifier of scikit-learn.{_near(name, classifiers)} Of another "
            'estimator, give an object: models={"name": estimator}.'
        )
    required = [
        parameter.name
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.default is parameter.empty
    ]
    if required:
        raise ArgumentError(
            f"{name} needs {' and '.join(required)}, which text cannot give. "
            'Give an object: models={"name": estimator}.'
        )
    return kind()


def _with_parameters(estimator: Any, parameters: dict[str, Any]) -> Any:
    known = estimator.get_params(deep=True)
    for name in parameters:
        if name not in known:
            raise ArgumentError(
                f"{type(estimator).__name__} has no parameter {name}."
                f"{_near(name, known) or ' It has ' + ', '.join(sorted(known)) + '.'}"
            )
    return estimator.set_params(**parameters)


def _checked(estimator: Any) -> Any:
    """Let scikit-learn judge the values now and not only when the estimator is fitted."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if isinstance(part, BaseEstimator) and hasattr(part, "_parameter_constraints"):
            try:
                part._validate_params()
            except ValueError as error:
                raise ArgumentError(str(error)) from None
    return estimator


def _near(name: str, known: Iterable[str]) -> str:
    # Compared without case, for c is meant for C more often than for any other parameter.
    by_folded = {each.lower(): each for each in known}
    near = [each for each in by_folded if each.endswith(f"__{name.lower()}")]
    near = near or difflib.get_close_matches(name.lower(), by_folded, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(by_folded[each] for each in near)}?" if near else ""
