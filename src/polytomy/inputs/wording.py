"""Parts of sentences, for messages and pages."""

from __future__ import annotations

__all__ = ["count_things"]


def count_things(number: int, one: str, many: str | None = None) -> str:
    """Return a number and its noun; the plural ends in s unless `many` is given.

    Examples
    --------
    >>> count_things(1, "split"), count_things(3, "split"), count_things(0, "class", "classes")
    ('1 split', '3 splits', '0 classes')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
