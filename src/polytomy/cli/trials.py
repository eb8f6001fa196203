"""The command `trials`: compare schemes and solvers on datasets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.class_orders import parse_class_order
from polytomy.cli.completing import complete_datasets, complete_list, complete_schemes
from polytomy.cli.data_options import AsJson, Jobs, join_choices, to_json
from polytomy.cli.text_files import print_text
from polytomy.solvers.solving import METHODS

__all__ = ["register"]

# The exit code that shells use for a command ended by Ctrl-C.
_INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command()(trials)


def trials(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of datasets, NAME.csv or NAME.csv.gz; all of them run. Default: the "
            "datasets of scikit-learn.",
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Run only these datasets, comma-separated (repeatable). Without --data: digits, "
            "wine, iris and breast-cancer.",
            autocompletion=complete_datasets,
        ),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Run only the datasets of the paper in the folder.")
    ] = False,
    schemes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCHEMES",
            help="Designs, control files or control texts, comma-separated (repeatable). "
            'SCHEME:SOLVER sets the solver of one scheme. "polytomy design --help" lists designs.',
            autocompletion=complete_schemes(),
        ),
    ] = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOLVERS",
            help="Solvers for schemes without their own, comma-separated (repeatable): "
            f"{join_choices(METHODS)}.",
            autocompletion=complete_list(METHODS),
        ),
    ] = None,
    calibrated: Annotated[
        bool | None,
        typer.Option(
            "--calibrated/--no-calibrated",
            help="Whether to also compare pairs with a final calibration. Default: yes, except "
            "with --paper.",
            show_default=False,
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help='Binary classifier, such as "svc C=10". Default: chosen by dataset.',
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of trials per dataset.")
    ] = 10,
    test: Annotated[
        float, typer.Option(metavar="FRACTION", help="Fraction of each class to hold out.")
    ] = 0.3,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the splits and random designs.")
    ] = 0,
    class_order: Annotated[
        str | None,
        typer.Option(
            "--class-order",
            metavar="LABELS",
            help="Class labels from first to last, for adjacent, chain and tree: a,b,c or a file, "
            "which may be a JSON object of datasets and their labels.",
        ),
    ] = None,
    jobs: Jobs = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the results.")
    ] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Compare schemes and solvers on datasets, in repeated trials.

    Run the same command again to continue after an interruption. Several runs can share a folder.

    Example: `polytomy trials --datasets iris,wine --repeats 2 -o results`
    """
    from polytomy.trials import run
    from polytomy.trials.tables import results_to_text

    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    try:
        results = run(
            _split_commas(datasets),
            data=data,
            schemes=_parse_schemes(schemes),
            solvers=_split_commas(solvers),
            calibrated=calibrated,
            estimator=estimator,
            repeats=repeats,
            test=test,
            seed=seed,
            n_jobs=jobs,
            folder=output,
            paper=paper,
            class_order=parse_class_order(class_order),
            verbose=int(is_terminal or not as_json),
            report=True,
        )
    except KeyboardInterrupt:
        _print_notice(_describe_interruption(output))
        raise typer.Exit(_INTERRUPTED) from None
    page = output / "report.html"
    if as_json:
        answer = {"folder": str(output), "report": str(page), "trials": results.rows()}
        print_text(to_json(answer))
        return
    print_text(f"\n{results_to_text(results)}")
    print_text(f"\ntables: {output} (tables.md, tables.tex, summary.csv, results.json)")
    print_text(f"report: {page}")


def _describe_interruption(folder: Path) -> str:
    """Return a message that says what an interrupted run saved, and how to continue."""
    from polytomy.errors import PolytomyError
    from polytomy.trials import Results

    try:
        n_trials = len(Results.read(folder).records)
    except PolytomyError:  # no trial had started
        return "stopped before any trial was finished"
    saved = f"{n_trials} finished trial{'s are' if n_trials != 1 else ' is'} saved in {folder}"
    text = f"stopped; {saved}. Run the same command to continue"
    return f"{text}. Their report: {folder / 'report.html'}" if n_trials else text


def _print_notice(text: str) -> None:
    print(f"polytomy: {text}", file=sys.stderr, flush=True)


def _split_commas(texts: list[str] | None) -> list[str] | None:
    """Return the comma-separated values of a repeatable option."""
    if texts is None:
        return None
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _parse_schemes(texts: list[str] | None) -> list[Any] | None:
    if texts is None:
        return None
    # A control text is one scheme, even if it contains commas.
    found = [
        word for text in texts for word in ([text] if "{" in text else _split_commas([text]) or [])
    ]
    pairs = [word.rpartition(":") for word in found]
    return [
        (scheme, solver) if solver in METHODS and scheme else word
        for word, (scheme, _, solver) in zip(found, pairs, strict=True)
    ]
