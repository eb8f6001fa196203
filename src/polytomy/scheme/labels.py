"""Class labels, and how they stand in a control text.

An unquoted word that is the usual spelling of a number or of a truth value *is* that value; every
other word is a string, and so is everything in quotes. ``7`` is the integer, ``"7"`` and ``07`` are
strings. So every label can be written such that it reads back as itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from polytomy.errors import SchemeError
from polytomy.language.lexer import find_half_character, is_bare_word
from polytomy.language.nodes import Word

__all__ = ["Label", "label_of_word", "normal_label", "normal_labels", "word_of_label"]

Label: TypeAlias = str | int | float | bool

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?")
_TRUTH: dict[str, Label] = {"True": True, "False": False}


def label_of_word(word: Word) -> Label:
    """Return the label a word stands for.

    >>> label_of_word(Word("7", False, 0, 1)), label_of_word(Word("7", True, 0, 3))
    (7, '7')
    """
    return word.text if word.quoted else _value_of_bare(word.text)


def _value_of_bare(text: str) -> Label:
    if text in _TRUTH:
        return _TRUTH[text]
    # Twenty digits are enough for 64 bits; longer numbers, with an exponent or not, are words.
    if len(text) > 30 or not _NUMBER.fullmatch(text):
        return text
    value = float(text) if "." in text or "e" in text else int(text)
    return value if str(value) == text and _fits(value) else text


def _fits(value: int | float) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return -(2**63) <= value < 2**64


def word_of_label(label: Label) -> Word:
    """Return the word that reads back as a label, quoted only where it must be."""
    text = str(label)
    quoted = isinstance(label, str) and (
        not is_bare_word(text) or not isinstance(_value_of_bare(text), str)
    )
    return Word(text, quoted, 0, 0)


def normal_label(value: Any) -> Label:
    """Return a label as a plain Python value, or raise SchemeError if it cannot be a label.

    >>> normal_label(np.int64(3)), normal_label(np.str_("corn"))
    (3, 'corn')
    """
    label = value.item() if isinstance(value, np.generic) else value
    if type(label) is str:
        if find_half_character(label) >= 0:
            raise SchemeError(f"label {label!r} is not valid text: it holds half a character")
        return label
    # What derives from a plain type, as members of an Enum do, may print as something else.
    if isinstance(label, str):
        return normal_label(str.__str__(label))
    if isinstance(label, bool):
        return label
    if isinstance(label, int) and _fits(label):
        return int(label)
    if isinstance(label, float) and _fits(label):
        return float(label)
    reason = "a label is a string, a finite number of 64 bits or a truth value"
    raise SchemeError(f"{value!r} of type {type(value).__name__} cannot be a class label: {reason}")


def normal_labels(values: Iterable[Any]) -> tuple[Label, ...]:
    """Return labels as plain Python values, or raise SchemeError if one is bad or stands twice."""
    if isinstance(values, (str, bytes)):
        message = f"classes={values!r} is one text; give a list of labels, or a number of classes"
        raise SchemeError(message)
    labels = tuple([normal_label(value) for value in values])
    seen: dict[Label, Label] = {}
    for label in labels:
        if label in seen:
            reason = (
                "is given twice" if repr(label) == repr(seen[label]) else f"equals {seen[label]!r}"
            )
            raise SchemeError(f"class {label!r} {reason}; give each class one place")
        seen[label] = label
    return labels
