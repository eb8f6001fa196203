"""Estimators written as text: the quoted form of a two-class model in a control text.

A specification is one of

======================  ============================================
""                      the default estimator
"svc C=10 kernel=poly"  a scikit-learn classifier and its parameters
"C=10"                  the default estimator with other parameters
"-t 2 -c 10 -g 0.1"     LIBSVM's options
======================  ============================================

Values of parameters are Python literals; a word that is not a literal is text. Nothing is
evaluated. ``C=scale`` of ``logistic-regression`` and ``linear-svc`` is 3 divided by the median
squared distance of the training rows from their mean. LIBSVM's options and their defaults are those
of ``svm-train`` (Chang and Lin 2011). Two defaults differ from scikit-learn's: gamma is 1 / number
of features, and the cache has 100 MB.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVC, NuSVC

from polytomy.errors import ArgumentError, PythonOnly
from polytomy.inputs.arguments import did_you_mean
from polytomy.learners.svm.kernels import KERNELS, validate_parameters

_BY_NUMBER = {kernel.libsvm_number: name for name, kernel in KERNELS.items()}
_KERNELS = (*(_BY_NUMBER[number] for number in range(4)), "precomputed")
_MACHINES = ("C-SVC", "nu-SVC", "one-class SVM", "epsilon-SVR", "nu-SVR")
_OPTIONS = "-s -t -d -g -r -c -n -m -e -h -b -w1 -w-1 -q"
# The parameters that are numbers, and those of only one machine.
_NUMBERS: dict[str, tuple[str, Any]] = {
    "-d": ("degree", int),
    "-g": ("gamma", float),
    "-r": ("coef0", float),
    "-m": ("cache_size", float),
    "-e": ("tol", float),
}
_NUMBERS_OF_ONE = {"-c": (0, "C"), "-n": (1, "nu")}
# The labels of the two sides of a binary.
_SIDES = (-1, 1)

_Number = TypeVar("_Number", int, float)


def classifier_from_options(options: Sequence[str]) -> Any:
    """Return the SVC or NuSVC that LIBSVM's options describe.

    If an option is repeated, the last one is used, as in LIBSVM. ``-b`` (probabilities) and ``-q``
    have no effect: decision values of binaries are calibrated outside LIBSVM.

    Parameters
    ----------
    options : sequence of str
        The arguments of ``svm-train``.

    Examples
    --------
    >>> classifier_from_options(["-c", "10", "-g", "0.1", "-w1", "2"])
    SVC(C=10.0, cache_size=100.0, class_weight={1: 2.0}, gamma=0.1)
    """
    machine = 0
    parameters: dict[str, Any] = {"gamma": "auto", "cache_size": 100.0}
    only_for = {0: {"C": 1.0}, 1: {"nu": 0.5}}
    for option, text in _split_options(options):
        if option in _NUMBERS:
            name, kind = _NUMBERS[option]
            parameters[name] = _read_number(option, text, kind)
        elif option in _NUMBERS_OF_ONE:
            of_machine, name = _NUMBERS_OF_ONE[option]
            only_for[of_machine][name] = _read_number(option, text, float)
        elif option == "-s":
            machine = _read_choice(option, text, _MACHINES)
        elif option == "-t":
            parameters["kernel"] = _KERNELS[_read_choice(option, text, _KERNELS)]
        elif option == "-h":
            parameters["shrinking"] = _read_switch(option, text)
        elif option == "-b":
            _read_switch(option, text)
        elif option.startswith("-w"):
            weights = parameters.setdefault("class_weight", {})
            weights[_read_side(option)] = _read_number(option, text, float)
        else:
            purpose = {"-p": "for regression only", "-v": "for cross-validation only"}.get(option)
            if purpose is not None:
                raise ArgumentError(f"option {option} is {purpose}. Remove it.")
            raise ArgumentError(f"{option} is not a LIBSVM option. Use {_OPTIONS}.")
    if machine not in only_for:
        raise ArgumentError(
            f"-s {machine} is {_MACHINES[machine]}, which is not a classifier. "
            "Use -s 0 (C-SVC) or -s 1 (nu-SVC)."
        )
    # Zero means the default, as in LIBSVM.
    parameters["gamma"] = parameters["gamma"] or "auto"
    classifier = NuSVC if machine else SVC
    return classifier(**parameters, **only_for[machine])


def _split_options(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each option that has a value, with its value."""
    words = iter(options)
    for option in words:
        if not option.startswith("-"):
            raise ArgumentError(f"{option} is not an option. Use {_OPTIONS}.")
        if option == "-q":
            continue
        text = next(words, None)
        if text is None:
            raise ArgumentError(f"option {option} has no value. Add one after it.")
        yield option, text


def _read_number(option: str, text: str, kind: type[_Number]) -> _Number:
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ArgumentError(f"option {option} must be {what}; got {text}.") from None


def _read_choice(option: str, text: str, names: tuple[str, ...]) -> int:
    number = _read_number(option, text, int)
    if not 0 <= number < len(names):
        known = ", ".join(f"{k} ({name})" for k, name in enumerate(names))
        raise ArgumentError(f"option {option} must be {known}; got {number}.")
    return number


def _read_switch(option: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise ArgumentError(f"option {option} must be 0 or 1; got {text}.")
    return text == "1"


def _read_side(option: str) -> int:
    label = option.removeprefix("-w")
    if label not in map(str, _SIDES):
        raise ArgumentError(
            f"option {option} weights a class that a binary does not have. Its sides are -1 and "
            "1. Use -w-1 or -w1."
        )
    return int(label)


_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TEXT = re.compile(r"[A-Za-z_][\w .+/-]*")
_GIVE_A_NAME = PythonOnly(' Give the estimator a name: models={"name": estimator}.')
# Numbers that have no literal in Python.
_NAMED_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def estimator_from(specification: str, default: Any) -> Any:
    """Return a new, unfitted estimator as described by a specification.

    Parameters
    ----------
    specification : str
        The kebab-case name of a scikit-learn classifier, with or without the ending
        ``-classifier``, and ``parameter=value`` pairs; or only pairs; or LIBSVM's options. A value
        with spaces needs quotes.
    default : estimator
        Estimator to clone if the specification is empty or has only pairs.

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
        return _read_specification(specification, default)
    except ArgumentError as error:
        raise ArgumentError(f'Specification "{specification}": ', *error.args) from None


def specification_of(estimator: Any) -> str:
    """Return the specification of an estimator: its name and its non-default parameters.

    ``estimator_from(specification_of(estimator), ...)`` returns an estimator with the same
    parameters.

    Parameters
    ----------
    estimator : scikit-learn classifier whose parameters are numbers, text and other literals

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
            f"{kind.__name__} is not a scikit-learn classifier, so it has no specification.",
            _GIVE_A_NAME,
        )
    words = [name]
    defaults = inspect.signature(kind).parameters
    for parameter, value in estimator.get_params(deep=False).items():
        if not _is_same_value(value, defaults[parameter].default):
            text = print_value(value)
            if text is None:
                raise ArgumentError(
                    f"{parameter}={value!r} of {kind.__name__} cannot be written in a "
                    "specification.",
                    _GIVE_A_NAME,
                )
            words.append(shlex.quote(f"{parameter}={text}"))
    return " ".join(words)


def _read_specification(specification: str, default: Any) -> Any:
    try:
        words = shlex.split(specification)
    except ValueError as error:
        raise ArgumentError(f"{error}. Close the quotes.") from None
    if words and words[0].startswith("-"):
        estimator = classifier_from_options(words)
    else:
        is_named = words and "=" not in words[0]
        estimator = _new_classifier(words.pop(0)) if is_named else clone(default)
        _set_parameters(estimator, _read_parameters(words))
    check_parameter_values(estimator)
    return estimator


def _read_parameters(words: Iterable[str]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise ArgumentError(
                f"{word} does not have the form parameter=value. A value with spaces needs quotes: "
                "'class_weight={-1: 2, 1: 1}'."
            )
        if name in parameters:
            raise ArgumentError(f"{name} occurs twice. Remove one of them.")
        parameters[name] = read_value(name, text)
    return parameters


def read_value(name: str, text: str) -> Any:
    """Return the value of a text: a literal, or the text itself if it is a word."""
    if text in _NAMED_NUMBERS:
        return _NAMED_NUMBERS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if _TEXT.fullmatch(text):
            return text
    raise ArgumentError(
        f"{name} must be a literal (10, 0.1, None, True, (1, 2)) or a word; got "
        f"{text or 'nothing'}."
    )


def print_value(value: Any) -> str | None:
    """Return a text that is read as `value`, or None if there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    candidates = (value, repr(value)) if isinstance(value, str) else (repr(value),)
    for text in candidates:
        try:
            again = read_value("", text)
        except ArgumentError:
            continue
        if type(again) is type(value) and _is_same_value(again, value):
            return text
    return None


def _is_same_value(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    equal = one == other
    # Arrays compare value by value. They are not literals, so they never equal one.
    return one is other or (isinstance(equal, bool | np.bool_) and bool(equal))


@lru_cache(maxsize=1)
def _classifiers() -> Mapping[str, type]:
    """Return scikit-learn's classifiers by their kebab-case names, long and short."""
    # This imports all of scikit-learn, so it is done only when a name has to be looked up.
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
            f"{name} is not a scikit-learn classifier.{did_you_mean(name, classifiers)}",
            PythonOnly(' Pass any other estimator as an object: models={"name": estimator}.'),
        )
    required = [
        parameter.name
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.default is parameter.empty
    ]
    if required:
        raise ArgumentError(
            f"{name} needs {' and '.join(required)}, which cannot be written as text.",
            PythonOnly(' Pass the estimator as an object: models={"name": estimator}.'),
        )
    return kind()


def _set_parameters(estimator: Any, parameters: dict[str, Any]) -> None:
    known = estimator.get_params(deep=True)
    for name in parameters:
        if name not in known:
            raise ArgumentError(
                f"{type(estimator).__name__} has no parameter {name}."
                f"{suggest_parameter(name, known) or ' It has ' + ', '.join(sorted(known)) + '.'}"
            )
    estimator.set_params(**parameters)


def check_parameter_values(estimator: Any) -> None:
    """Let scikit-learn check the values now rather than when the estimator is fitted."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if isinstance(part, BaseEstimator) and hasattr(part, "_parameter_constraints"):
            try:
                validate_parameters(part)
            except ValueError as error:
                raise ArgumentError(str(error)) from None


def suggest_parameter(name: str, known: Iterable[str]) -> str:
    """Return a suggestion, preferably a parameter with that name in a step of a pipeline."""
    known = list(known)
    of_steps = [each for each in known if each.lower().endswith(f"__{name.lower()}")]
    return did_you_mean(of_steps[0], of_steps) if of_steps else did_you_mean(name, known)
