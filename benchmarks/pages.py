"""Write tables of measurements into the pages of docs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def replace_table(
    page: str, name: str, header: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    """Replace the lines between `<!-- table: name -->` and `<!-- end of table -->` of a page."""
    path = DOCS / page
    text = path.read_text()
    first, last = f"<!-- table: {name} -->\n", "<!-- end of table -->"
    before, found, rest = text.partition(first)
    _, ended, after = rest.partition(last)
    if not (found and ended):
        raise ValueError(
            f"{path} has no lines {first.strip()} and {last}; add them, one below the other"
        )
    lines = ["", header, ["---"] * len(header), *rows, ""]
    table = "".join(f"| {' | '.join(line)} |\n" if line else "\n" for line in lines)
    path.write_text(f"{before}{first}{table}{last}{after}")
