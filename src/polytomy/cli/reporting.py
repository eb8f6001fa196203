"""The command `report`: write the report of trials again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polytomy.cli.data_options import AsJson, to_json
from polytomy.cli.text_files import print_text

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command()(report)


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Results folder of `polytomy trials`.")
    ] = Path("results"),
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Page to write. Default: FOLDER/report.html."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of trials, finished or not: one page with all tables and figures.

    Example: `polytomy trials --datasets iris --repeats 2 && polytomy report results -o iris.html`
    """
    from polytomy.report import write_report

    page = write_report(folder, output)
    if as_json:
        print_text(to_json({"folder": str(folder), "report": str(page)}))
        return
    print_text(f"report of {folder}: {page}")
