"""LIBSVM's training options, as a scikit-learn support vector classifier.

The options and their defaults are those of ``svm-train`` (Chang and Lin 2011). Two defaults differ
from scikit-learn's: gamma is 1 / number of features, and the cache has 100 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from sklearn.svm import SVC, NuSVC

from polytomy.errors import ArgumentError

__all__ = ["classifier_from_options"]

_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
_MACHINES = ("C-SVC", "nu-SVC", "one-class SVM", "epsilon-SVR", "nu-SVR")
_OPTIONS = "-s -t -d -g -r -c -n -m -e -h -b -w1 -w-1 -q"
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
        match option:
            case "-s":
                machine = _read_choice(option, text, _MACHINES)
            case "-t":
                parameters["kernel"] = _KERNELS[_read_choice(option, text, _KERNELS)]
            case "-d":
                parameters["degree"] = _read_number(option, text, int)
            case "-g":
                # Zero means the default, as in LIBSVM.
                parameters["gamma"] = _read_number(option, text, float) or "auto"
            case "-r":
                parameters["coef0"] = _read_number(option, text, float)
            case "-c":
                only_for[0]["C"] = _read_number(option, text, float)
            case "-n":
                only_for[1]["nu"] = _read_number(option, text, float)
            case "-m":
                parameters["cache_size"] = _read_number(option, text, float)
            case "-e":
                parameters["tol"] = _read_number(option, text, float)
            case "-h":
                parameters["shrinking"] = _read_switch(option, text)
            case "-b":
                _read_switch(option, text)
            case "-p" | "-v":
                purpose = "regression" if option == "-p" else "cross-validation"
                raise ArgumentError(f"option {option} is for {purpose} only. Remove it.")
            case _ if option.startswith("-w"):
                weights = parameters.setdefault("class_weight", {})
                weights[_read_side(option)] = _read_number(option, text, float)
            case _:
                raise ArgumentError(f"{option} is not a LIBSVM option. Use {_OPTIONS}.")
    if machine not in only_for:
        raise ArgumentError(
            f"-s {machine} is {_MACHINES[machine]}, which is not a classifier. "
            "Use -s 0 (C-SVC) or -s 1 (nu-SVC)."
        )
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
