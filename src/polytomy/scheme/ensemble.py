"""Ensembles of schemes over the same classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polytomy.errors import SchemeError
from polytomy.scheme.labels import Label
from polytomy.scheme.scheme import Scheme

__all__ = ["SchemeEnsemble"]


class SchemeEnsemble:
    """Several schemes over the same classes, to be used as the `scheme` of a classifier.

    The classifier averages the probabilities of the schemes. A dichotomy that occurs in several
    schemes is trained once. An ensemble is immutable, and prints as the control texts of its
    schemes.

    Parameters
    ----------
    schemes : one or more schemes over the same classes, in any order

    Attributes
    ----------
    schemes : tuple of Scheme

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> both = SchemeEnsemble([parse("m {a n {b c}}"), parse("m {n {c b} a}")])
    >>> both
    <SchemeEnsemble: 2 schemes, 3 classes, 2 different dichotomies>
    """

    schemes: tuple[Scheme, ...]

    def __init__(self, schemes: Iterable[Scheme]) -> None:
        members = tuple(schemes)
        if not members:
            raise SchemeError("an ensemble needs at least one scheme")
        for position, scheme in enumerate(members):
            if not isinstance(scheme, Scheme):
                raise SchemeError(f"member {position} of the ensemble is {scheme!r}, not a scheme")
            strange = set(scheme.classes) ^ set(members[0].classes)
            if strange:
                raise SchemeError(
                    f"member {position} of the ensemble does not have the classes of the first; "
                    f"they differ in {', '.join(sorted(map(repr, strange)))}"
                )
        self.__dict__["schemes"] = members

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels, in the order of the first scheme."""
        return self.schemes[0].classes

    @property
    def n_dichotomies(self) -> int:
        """Number of different dichotomies; the order of the sides does not matter."""
        sides = {
            frozenset(map(frozenset, each.side_classes))
            for scheme in self.schemes
            for each in scheme.partitions
        }
        return len(sides)

    def __len__(self) -> int:
        return len(self.schemes)

    def __str__(self) -> str:
        texts = (f"# {number}\n{scheme}" for number, scheme in enumerate(self.schemes, start=1))
        return "\n\n".join(texts)

    def __repr__(self) -> str:
        return (
            f"<SchemeEnsemble: {len(self)} schemes, {len(self.classes)} classes, "
            f"{self.n_dichotomies} different dichotomies>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SchemeEnsemble):
            return NotImplemented
        return self.schemes == other.schemes

    def __hash__(self) -> int:
        return hash(self.schemes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an ensemble cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an ensemble cannot be changed: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return SchemeEnsemble, (self.schemes,)
