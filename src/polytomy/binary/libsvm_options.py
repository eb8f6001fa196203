"""LIBSVM's own training options, as a support vector classifier of scikit-learn.

What ``svm-train`` takes (Chang and Lin 2011), with its defaults where they differ from
scikit-learn's: gamma is 1 / number of features, the cache 100 MB.
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
# The labels of the two sides, as every binary is trained on them.
_SIDES = (-1, 1)

_Number = TypeVar("_Number", int, float)


def classifier_from_options(options: Sequence[str]) -> Any:
    """Return the SVC or NuSVC that LIBSVM's options describe.

    Of a repeated option the last one counts, as in LIBSVM. ``-b`` (probabilities) changes nothing,
    for calibration is not the binary's own matter here; neither does ``-q``.

    Parameters
    ----------
    options : sequence of str
        The words after ``svm-train``.

    Examples
    --------
    >>> classifier_from_options(["-c", "10", "-g", "0.1", "-w1", "2"])
    SVC(C=10.0, cache_size=100.0, class_weight={1: 2.0}, gamma=0.1)
    """
    machine = 0
    parameters: dict[str, Any] = {"gamma": "auto", "cache_size": 100.0}
    only_for = {0: {"C": 1.0}, 1: {"nu": 0.5}}
    for option, text in _pairs(options):
        match option:
            case "-s":
                machine = _choice(option, text, _MACHINES)
            case "-t":
                parameters["kernel"] = _KERNELS[_choice(option, text, _KERNELS)]
            case "-d":
                parameters["degree"] = _number(option, text, int)
            case "-g":
                # Zero is LIBSVM's way of asking for the default.
                parameters["gamma"] = _number(option, text, float) or "auto"
            case "-r":
                parameters["coef0"] = _number(option, text, float)
            case "-c":
                only_for[0]["C"] = _number(option, text, float)
            case "-n":
                only_for[1]["nu"] = _number(option, text, float)
            case "-m":
                parameters["cache_size"] = _number(option, text, float)
            case "-e":
                parameters["tol"] = _number(option, text, float)
            case "-h":
                parameters["shrinking"] = _switch(option, text)
            case "-b":
                _switch(option, text)
            case "-p" | "-v":
                purpose = "regression" if option == "-p" else "cross-validation"
                raise ArgumentError(f"option {option} is for {purpose} only. Leave it out.")
            case _ if option.startswith("-w"):
                weights = parameters.setdefault("class_weight", {})
                weights[_side(option)] = _number(option, text, float)
            case _:
                raise ArgumentError(f"{option} is no option of LIBSVM. It knows {_OPTIONS}.")
    if machine not in only_for:
        raise ArgumentError(
            f"-s {machine} is {_MACHINES[machine]}, which tells no two classes apart. "
            "Use -s 0 (C-SVC) or -s 1 (nu-SVC)."
        )
    classifier = NuSVC if machine else SVC
    return classifier(**parameters, **only_for[machine])


def _pairs(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    words = iter(options)
    for option in words:
        if not option.startswith("-"):
            raise ArgumentError(f"{option} stands where an option is due ({_OPTIONS}).")
        if option == "-q":
            continue
        text = next(words, None)
        if text is None:
            raise ArgumentError(f"option {option} has no value. Put one after it.")
        yield option, text


def _number(option: str, text: str, kind: type[_Number]) -> _Number:
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ArgumentError(f"option {option} needs {what}, not {text}.") from None


def _choice(option: str, text: str, names: tuple[str, ...]) -> int:
    number = _number(option, text, int)
    if not 0 <= number < len(names):
        known = ", ".join(f"{k} ({name})" for k, name in enumerate(names))
        raise ArgumentError(f"option {option} has no {number}. It knows {known}.")
    return number


def _switch(option: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise ArgumentError(f"option {option} needs 0 or 1, not {text}.")
    return text == "1"


def _side(option: str) -> int:
    label = option.removeprefix("-w")
    if label not in map(str, _SIDES):
        raise ArgumentError(
            f"option {option} weighs a class that no binary has. "
            "The sides are -1 and 1: use -w-1 or -w1."
        )
    return int(label)
