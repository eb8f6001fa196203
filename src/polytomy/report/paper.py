"""The section that compares results with the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polytomy.report.markup import Markup, tag
from polytomy.report.names import Name
from polytomy.report.parts import details, section
from polytomy.report.tables import beside_table, verdict_table
from polytomy.trials import Beside
from polytomy.trials.results import PairName

__all__ = ["count_agreements", "published_section"]


def count_agreements(beside: Sequence[Beside]) -> tuple[int, int]:
    """Return how many scores agree with the published ones or are better, and of how many.

    Times do not count: they were measured on another machine.
    """
    scores = [each for each in beside if not _is_time(each)]
    return sum(each.verdict != "worse" for each in scores), len(scores)


def published_section(beside: Sequence[Beside], names: Mapping[PairName, Name]) -> Markup | None:
    """Return the comparison with the published figures, measure by measure."""
    if not beside:
        return None
    worse = [each for each in beside if each.verdict == "worse" and not _is_time(each)]
    note = (
        "Our results compared with the tables in Peter Mills, “Solving for multi-class: a survey "
        "and synthesis”. A result agrees if it is within two published standard deviations. "
        "The published times were measured on another machine and do not count in the first "
        "section."
    )
    number = f"{len(worse)} score{'s' if len(worse) != 1 else ''}"
    return section(
        "published",
        "Compared with the paper",
        tag("p", note),
        verdict_table(beside),
        details(f"{number} worse than published", beside_table(worse, names)) if worse else None,
    )


def _is_time(each: Beside) -> bool:
    return each.measure.endswith("seconds")
