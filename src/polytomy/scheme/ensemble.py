"""Several schemes over the same classes, whose probabilities are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.codes import CodingMatrix
from polytomy.errors import SchemeError
from polytomy.scheme.labels import Label
from polytomy.scheme.layout import Node
from polytomy.scheme.naming import numbered_binaries
from polytomy.scheme.scheme import Partition, Scheme

__all__ = ["Member", "SchemeEnsemble"]


class Member(NamedTuple):
    """A scheme of an ensemble, and where its binaries and classes are in the union.

    Attributes
    ----------
    scheme : Scheme
    columns : array of shape (n_partitions,), the partition of the union that each one is
    signs : array of shape (n_partitions,), −1 where the sides are swapped there
    positions : array of shape (n_classes,), the place in the scheme of each class of the union
    """

    scheme: Scheme
    columns: NDArray[np.intp]
    signs: NDArray[np.float64]
    positions: NDArray[np.intp]


class SchemeEnsemble:
    """Schemes over the same classes; a dichotomy that occurs in several is trained once.

    To train it, it is the flat scheme `union` of all distinct dichotomies; it has `classes`,
    `nodes` and `partitions` as a scheme has. Its probabilities are the mean of its members'.

    Parameters
    ----------
    schemes : one scheme or more, of the same classes in any order
    name : base of the names of the binaries in the union

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> both = SchemeEnsemble([parse("m {a n {b c}}"), parse("m {n {c b} a}")])
    >>> len(both), both.n_partitions
    (2, 2)
    >>> both.members[1].columns, both.members[1].signs
    (array([0, 1]), array([-1., -1.]))
    """

    schemes: tuple[Scheme, ...]
    name: str

    def __init__(self, schemes: Iterable[Scheme], *, name: str = "ensemble") -> None:
        members = tuple(schemes)
        if not members:
            raise SchemeError("an ensemble needs a scheme or more")
        for position, scheme in enumerate(members):
            if not isinstance(scheme, Scheme):
                raise SchemeError(f"member {position} of the ensemble is {scheme!r}, not a scheme")
            if set(scheme.classes) != set(members[0].classes):
                strange = set(scheme.classes) ^ set(members[0].classes)
                raise SchemeError(
                    f"member {position} of the ensemble has other classes than the first: "
                    f"{', '.join(sorted(map(repr, strange)))}"
                )
            for partition in scheme.partitions:
                if partition.binary.is_specification:
                    raise SchemeError(
                        f"member {position} of the ensemble has the specification "
                        f"{partition.binary}; an ensemble has binaries of one kind. Write a name."
                    )
        self.__dict__.update(schemes=members, name=name)

    # -- as a scheme that is trained ------------------------------------------------------------

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels, in the order of the first scheme."""
        return self.schemes[0].classes

    @cached_property
    def union(self) -> Scheme:
        """The flat scheme of all distinct dichotomies, in order of appearance."""
        if len(self.classes) == 1:
            return self.schemes[0]
        code = CodingMatrix(np.array(list(self._columns_by_row), dtype=np.int8).reshape(
            len(self._columns_by_row), len(self.classes)))  # fmt: skip
        return Scheme.from_code(code, self.classes, numbered_binaries(self.name, code.n_partitions))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Those of the union."""
        return self.union.nodes

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Every distinct dichotomy, once."""
        return self.union.partitions

    @property
    def n_partitions(self) -> int:
        """The number of binary classifiers."""
        return len(self._columns_by_row)

    # -- as the average of its members ----------------------------------------------------------

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The schemes, each with the place of its binaries and classes in the union."""
        found = []
        for scheme in self.schemes:
            rows = [self._row(partition) for partition in scheme.partitions]
            columns = [self._columns_by_row[_first_negative(row)] for row in rows]
            signs = [1.0 if row == _first_negative(row) else -1.0 for row in rows]
            place = {label: index for index, label in enumerate(scheme.classes)}
            positions = [place[label] for label in self.classes]
            found.append(
                Member(
                    scheme,
                    np.array(columns, dtype=np.intp),
                    np.array(signs, dtype=np.float64),
                    np.array(positions, dtype=np.intp),
                )
            )
        return tuple(found)

    def average(
        self,
        decisions: NDArray[np.float64],
        solve: Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return the mean of the members' probabilities.

        Parameters
        ----------
        decisions : array of shape (n_samples, n_partitions), answers of the union's binaries
        solve : function of a scheme and its own decisions, such as `polytomy.solve`

        Returns
        -------
        array of shape (n_samples, n_classes), in the order of `classes`
        """
        total = np.zeros((len(decisions), len(self.classes)))
        for scheme, columns, signs, positions in self.members:
            total += solve(scheme, decisions[:, columns] * signs)[:, positions]
        return total / len(self.schemes)

    @cached_property
    def _columns_by_row(self) -> dict[tuple[int, ...], int]:
        """The distinct dichotomies, as rows whose first side is −1, and their places."""
        places: dict[tuple[int, ...], int] = {}
        for scheme in self.schemes:
            for partition in scheme.partitions:
                places.setdefault(_first_negative(self._row(partition)), len(places))
        return places

    def _row(self, partition: Partition) -> tuple[int, ...]:
        sides = dict.fromkeys(partition.negative_classes, -1)
        sides |= dict.fromkeys(partition.positive_classes, 1)
        return tuple(sides.get(label, 0) for label in self.classes)

    # -- a value like any other -----------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.schemes)

    def __repr__(self) -> str:
        return (
            f"<SchemeEnsemble: {len(self)} schemes, {len(self.classes)} classes, "
            f"{self.n_partitions} partitions>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SchemeEnsemble):
            return NotImplemented
        return (self.schemes, self.name) == (other.schemes, other.name)

    def __hash__(self) -> int:
        return hash((self.schemes, self.name))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an ensemble cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an ensemble cannot be changed: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _ensemble, (self.schemes, self.name)


def _ensemble(schemes: tuple[Scheme, ...], name: str) -> SchemeEnsemble:
    return SchemeEnsemble(schemes, name=name)


def _first_negative(row: tuple[int, ...]) -> tuple[int, ...]:
    first = next(value for value in row if value)
    return row if first < 0 else tuple(-value for value in row)
