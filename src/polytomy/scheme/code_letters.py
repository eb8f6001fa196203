"""libAGF's letters for models that decide between all branches: ``"-k 5" K {a b c}``."""

from __future__ import annotations

from polytomy.errors import ArgumentError

__all__ = ["translate_letter"]

_NEIGHBOURS = 11  # libAGF's default for -k

_NOT_HERE = {
    "A": "adaptive Gaussian filtering",
    "G": "an external program",
}


def translate_letter(letter: str, options: str) -> str:
    """Return the model specification that a letter and its options stand for.

    Raises ArgumentError if polytomy has no such model.

    Examples
    --------
    >>> translate_letter("K", "-k 5")
    'k-neighbors n_neighbors=5'
    """
    if letter in _NOT_HERE:
        raise ArgumentError(
            f"{letter} stands for {_NOT_HERE[letter]} of libAGF, which is not available; use K "
            "(nearest neighbours), or the specification of a scikit-learn classifier"
        )
    words, n_neighbours = options.split(), _NEIGHBOURS
    while words:
        option, *words = words
        if option != "-k":
            raise ArgumentError(f"K takes the option -k, the number of neighbours; got {option}")
        value, *words = words or [""]
        if not value.isdecimal() or int(value) < 1:
            raise ArgumentError(
                f"-k of K must be a positive whole number; got {value or 'nothing'}"
            )
        n_neighbours = int(value)
    return f"k-neighbors n_neighbors={n_neighbours}"
