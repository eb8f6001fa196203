"""Class labels, and how they are written in a control text.

An unquoted word that is the usual spelling of a number, ``True`` or ``False`` *is* that value. All
other words, and everything in quotes, are strings: ``7`` is the integer, ``"7"`` and ``07`` are
strings. So every label can be written and read back unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from polytomy.errors import Argument, SchemeError
from polytomy.language.lexer import find_lone_surrogate, is_bare_word
from polytomy.language.nodes import Word

__all__ = ["Label", "label_to_word", "normalize_label", "normalize_labels", "word_to_label"]

Label: TypeAlias = str | int | float | bool

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?")
_TRUTH: dict[str, Label] = {"True": True, "False": False}


def word_to_label(word: Word) -> Label:
    """Return the label that a word stands for.

    Examples
    --------
    >>> word_to_label(Word("7", False, 0, 1)), word_to_label(Word("7", True, 0, 3))
    (7, '7')
    """
    return word.text if word.quoted else _bare_word_value(word.text)


def _bare_word_value(text: str) -> Label:
    if text in _TRUTH:
        return _TRUTH[text]
    # 64-bit numbers are shorter; longer ones are words.
    if len(text) > 30 or not _NUMBER.fullmatch(text):
        return text
    value = float(text) if "." in text or "e" in text else int(text)
    return value if str(value) == text and _is_representable(value) else text


def _is_representable(value: int | float) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return -(2**63) <= value < 2**64


def label_to_word(label: Label) -> Word:
    """Return the word for a label, in quotes only if it needs them."""
    text = str(label)
    quoted = isinstance(label, str) and (
        not is_bare_word(text) or not isinstance(_bare_word_value(text), str)
    )
    return Word(text, quoted, 0, 0)


def normalize_label(value: Any) -> Label:
    """Return a label as a plain Python value, or raise SchemeError if it cannot be a label.

    Examples
    --------
    >>> normalize_label(np.int64(3)), normalize_label(np.str_("corn"))
    (3, 'corn')
    """
    label = value.item() if isinstance(value, np.generic) else value
    if type(label) is str:
        if find_lone_surrogate(label) >= 0:
            raise SchemeError(f"label {label!r} is not valid text: it has a lone surrogate")
        return label
    # Subclasses of plain types, such as members of an Enum, may print differently.
    if isinstance(label, str):
        return normalize_label(str.__str__(label))
    if isinstance(label, bool):
        return label
    if isinstance(label, int) and _is_representable(label):
        return int(label)
    if isinstance(label, float) and _is_representable(label):
        return float(label)
    reason = "a label must be a string, a bool or a finite 64-bit number"
    raise SchemeError(f"{value!r} of type {type(value).__name__} cannot be a class label: {reason}")


def normalize_labels(values: Iterable[Any]) -> tuple[Label, ...]:
    """Return labels as plain Python values, or raise SchemeError if one is invalid or repeated."""
    if isinstance(values, (str, bytes)):
        raise SchemeError(
            Argument("classes", values),
            " is a single string. Use a list of labels or a number of classes.",
        )
    labels = tuple([normalize_label(value) for value in values])
    seen: dict[Label, Label] = {}
    for label in labels:
        if label in seen:
            reason = (
                "is given twice" if repr(label) == repr(seen[label]) else f"equals {seen[label]!r}"
            )
            raise SchemeError(f"class {label!r} {reason}; list each class once")
        seen[label] = label
    return labels
