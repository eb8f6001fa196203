"""Explanations of predictions: contributions to the winner's lead over the runner-up, and text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

from polytomy.errors import ArgumentError

__all__ = ["Explanation", "Explanations", "Term"]

_MOST_LABELS, _MOST_LINES, _LONGEST_SIDES = 3, 10, 60


class Term(NamedTuple):
    """One partition in an explanation.

    Attributes
    ----------
    name : str, the name of the partition
    sides : tuple with the labels on each side
    answers : tuple with the probability of each side, as the partition answered
    adds : float, what that adds to the winner's lead over the runner-up
    """

    name: str
    sides: tuple[tuple[Any, ...], ...]
    answers: tuple[float, ...]
    adds: float

    def describe(self) -> str:
        """Return the sides and their probabilities as text.

        Examples
        --------
        >>> Term("m", (("a",), ("b", "c")), (0.25, 0.75), 0.1).describe()
        'a: 0.25 / b c: 0.75'
        """
        parts = [
            f"{_name_side(labels)}: {answer:.2f}"
            for labels, answer in zip(self.sides, self.answers, strict=True)
        ]
        text = " / ".join(parts)
        return text if len(text) <= _LONGEST_SIDES else f"{text[: _LONGEST_SIDES - 1]}…"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why a sample's likeliest class beats the second.

    The numbers that `terms` and `rest` add sum to `difference`.

    Attributes
    ----------
    sample : int, the row of the sample
    winner, runner_up : labels of the classes with the largest and the second largest score
    scores : tuple of float, their probabilities, or scores if the solver gives scores
    scale : {"log-odds", "probability", "score"}
        What `difference` is: log P(winner) − log P(runner-up), the difference of the two
        probabilities, or that of two scores.
    method : {"linear terms", "path", "leave one out"}
        How the terms were found. "linear terms" and "path" are exact.
    difference : float
    terms : tuple of Term, the largest first
        The partitions that decided: all, or in a tree those on the paths to the two classes.
    rest : dict of str to float
        Other contributions. "interaction": answers that contradict each other, and probabilities
        that must not be negative. "final calibration" and "prior": the effect of these. "not
        attributed": what remains after leaving out one partition at a time.
    prediction : label that `predict` returns; not `winner` if costs favour another class
    """

    sample: int
    winner: Any
    runner_up: Any
    scores: tuple[float, float]
    scale: str
    method: str
    difference: float
    terms: tuple[Term, ...]
    rest: Mapping[str, float]
    prediction: Any

    def __str__(self) -> str:
        letter = "score" if self.scale == "score" else "P"
        first, second = (f"{letter} = {each:.3g}" for each in self.scores)
        lines = [
            f"sample {self.sample}: {self.winner} ({first}) over {self.runner_up} ({second}), "
            f"{_SCALES[self.scale]} {self.difference:.3g}"
        ]
        if self.prediction != self.winner:
            lines.append(f"  {self.prediction} is predicted, because of the costs")
        lines.append("     adds  partition")
        shown = self.terms[:_MOST_LINES]
        width = max([len(term.name) for term in shown], default=0)
        lines += [_line(term.adds, f"{term.name:{width}}  {term.describe()}") for term in shown]
        others = self.terms[_MOST_LINES:]
        if others:
            lines.append(_line(sum(term.adds for term in others), f"{len(others)} more partitions"))
        return "\n".join([*lines, *(_line(adds, name) for name, adds in self.rest.items())])

    def records(self) -> list[dict[str, Any]]:
        """Return a dict for each contribution to the winner's lead, partitions first."""
        same = {
            "sample": self.sample,
            "winner": self.winner,
            "runner_up": self.runner_up,
            "difference": self.difference,
            "scale": self.scale,
            "method": self.method,
        }
        own = [
            {**same, "kind": "partition", "name": each.name, "adds": each.adds,
             "sides": each.sides, "answers": each.answers}
            for each in self.terms
        ]  # fmt: skip
        rest = [
            {**same, "kind": "rest", "name": name, "adds": adds, "sides": (), "answers": ()}
            for name, adds in self.rest.items()
        ]
        return own + rest


class Explanations(Sequence[Explanation]):
    """The explanations of several samples.

    Examples
    --------
    >>> term = Term("m", (("a",), ("b",)), (0.25, 0.75), 1.0)
    >>> one = Explanation(0, "b", "a", (0.7, 0.3), "log-odds", "path", 0.9, (term,),
    ...                   {"final calibration": -0.1}, "b")
    >>> print(Explanations([one]))
    sample 0: b (P = 0.7) over a (P = 0.3), log-odds 0.9
         adds  partition
       +1.000  m  a: 0.25 / b: 0.75
       -0.100  final calibration
    """

    def __init__(self, explanations: Sequence[Explanation]) -> None:
        self._explanations = tuple(explanations)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...

    @overload
    def __getitem__(self, index: slice) -> Explanations: ...

    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        found = self._explanations[index]
        return Explanations(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._explanations)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._explanations))

    def __repr__(self) -> str:
        return f"<Explanations of {len(self)} samples; print them to read them>"

    def records(self) -> list[dict[str, Any]]:
        """Return the records of all samples."""
        return [record for each in self._explanations for record in each.records()]

    def to_frame(self) -> Any:
        """Return the records as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise ArgumentError(
                "a frame needs pandas, which is not installed. records() has the same values."
            ) from None
        return pandas.DataFrame(self.records())


_SCALES = {
    "log-odds": "log-odds",
    "probability": "difference of probabilities",
    "score": "difference of scores",
}


def _line(adds: float, text: str) -> str:
    return f"{adds:+9.3f}  {text}"


def _name_side(labels: Sequence[Any]) -> str:
    shown = [str(label) for label in labels[:_MOST_LABELS]]
    more = len(labels) - _MOST_LABELS
    return " ".join(shown) + (f" +{more}" if more > 0 else "")
