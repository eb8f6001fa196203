"""Commands that help to choose a scheme for the data: distances, search."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.class_orders import ClassOrder, parse_class_order
from polytomy.cli.completing import complete_names, complete_schemes
from polytomy.cli.data_options import (
    AsJson,
    DataFile,
    Format,
    Header,
    Jobs,
    OneHot,
    Scale,
    Seed,
    Target,
    ZeroBased,
    join_choices,
    read_scaled,
    to_json,
)
from polytomy.cli.final_calibrations import FinalCalibration, parse_final_calibration
from polytomy.cli.grids import Grid, parse_grids
from polytomy.cli.text_files import check_output, print_text, write_text
from polytomy.errors import ArgumentError
from polytomy.metrics import METRICS

__all__ = ["register"]

# Same as in polytomy.distances, which the help does not import.
_DISTANCES = ("hausdorff", "robust-hausdorff", "centroid", "energy", "separability")
_SCORES = tuple(name for name, metric in METRICS.items() if metric.needs_only_predictions)

Estimator = Annotated[
    str,
    typer.Option(
        metavar="SPEC",
        help='Binary classifier, such as "svc C=10", or LIBSVM options such as "-t 2 -c 10".',
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command()(distances)
    app.command()(search)


def distances(
    data: DataFile,
    distance: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Distance between classes: {join_choices(_DISTANCES)}.",
            autocompletion=complete_names(_DISTANCES),
        ),
    ] = "hausdorff",
    measure: Annotated[str | None, typer.Option("--measure", hidden=True)] = None,
    target: Target = "-1",
    scale: Scale = "standard",
    format: Format = None,
    header: Header = None,
    zero_based: ZeroBased = "auto",
    one_hot: OneHot = False,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot the distances and their dendrogram to this file."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write a CSV table to this file."),
    ] = None,
) -> None:
    """Print the distances between the classes of the data.

    Example: `polytomy distances iris.csv --distance centroid`
    """
    from polytomy.distances import compute_distances

    check_output(output, data)
    X, y = read_scaled(
        data,
        target=target,
        scale=scale,
        format=format,
        header=header,
        one_hot=one_hot,
        zero_based=zero_based,
    )
    found = compute_distances(measure or distance, X, y)
    if plot is not None:
        _draw_distances(found, plot)
    if as_json:
        print_text(
            to_json({"measure": found.name, "classes": found.classes, "matrix": found.matrix})
        )
    elif output is None:
        print_text(str(found))
    if output is not None:
        write_text(_csv_of(found), output)


def search(
    data: DataFile,
    estimator: Estimator = "svc",
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            "--candidate",
            "-c",
            metavar="SCHEME",
            help="Design, control file or control text to compare, or SCHEME,SOLVER (repeatable). "
            'Designs are listed by "polytomy design --help".',
            autocompletion=complete_schemes(),
        ),
    ] = None,
    grid: Grid = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            "--score",
            "-s",
            metavar="NAME",
            help=f"Score to report (repeatable); the first decides: {join_choices(_SCORES)}.",
            autocompletion=complete_names(_SCORES),
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=2, metavar="N", help="Number of cross-validation folds.")
    ] = 5,
    budget: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Start no new fold after this many seconds."),
    ] = None,
    final_calibration: FinalCalibration = "auto",
    class_order: ClassOrder = None,
    target: Target = "-1",
    scale: Scale = "standard",
    format: Format = None,
    header: Header = None,
    zero_based: ZeroBased = "auto",
    one_hot: OneHot = False,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Plot the candidates' scores against their cost; with --grid, a heat map of them.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write the chosen scheme to this control file."
        ),
    ] = None,
) -> None:
    """Compare schemes, and values of parameters, by cross-validation and choose one.

    Example: `polytomy search iris.csv --estimator "svc C=10" -o iris.control`

    Example: `polytomy search iris.csv --grid "C=0.1,1,10 gamma=0.01,0.1"`
    """
    from sklearn.svm import SVC

    from polytomy.learners.specification import estimator_from
    from polytomy.search import SchemeSearchCV

    check_output(output, data)
    calibrated = parse_final_calibration(final_calibration)
    param_grid = parse_grids(grid)
    X, y = read_scaled(
        data,
        target=target,
        scale=scale,
        format=format,
        header=header,
        one_hot=one_hot,
        zero_based=zero_based,
    )
    found = SchemeSearchCV(
        estimator_from(estimator, SVC()),
        [_parse_candidate(text) for text in candidate] if candidate else "default",
        scoring=tuple(score) if score else ("log_loss", "uncertainty_coefficient"),
        final_calibration=calibrated,
        cv=folds,
        budget=budget,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(sys.stderr is not None and sys.stderr.isatty()),
        class_order=parse_class_order(class_order),
        param_grid=param_grid,
    ).fit(X, y)
    if plot is not None:
        _draw_candidates(found, plot, has_grid=param_grid is not None)
    if as_json:
        chosen: dict[str, Any] = {
            "scheme": str(found.best_scheme_),
            "solver": found.best_candidate_.solver,
        }
        if param_grid is not None:
            chosen["params"] = found.best_params_
        results = found.cv_results_
        print_text(to_json({"chosen": found.best_candidate_.name, **chosen, "results": results}))
    else:
        print_text(_table(found))
    if output is not None:
        write_text(str(found.best_scheme_), output)


def _parse_candidate(text: str) -> Any:
    scheme, comma, solver = text.rpartition(",")
    return (scheme.strip(), solver.strip()) if comma else text


def _table(found: Any) -> str:
    """Return the results as text.

    The means of dropped candidates are over fewer folds than the others, so their scores are shown
    as differences from the best candidate on the same folds.
    """
    results = found.cv_results_
    means = [
        *(name.removeprefix("difference_") for name in results if name.startswith("difference_")),
        *("fit_time", "predict_time"),
    ]
    heads = ["", "candidate", "folds", "binaries", *(name.replace("_", " ") for name in means)]
    rows = [heads]
    has_difference = False
    for i in results["rank"].argsort():
        marks = ("*" if results["is_chosen"][i] else "") + ("p" if results["is_pareto"][i] else "")
        n_folds = results["n_folds"][i]
        is_partly = n_folds < found.n_folds_
        row = [marks, str(results["candidate"][i])]
        row.append(f"{n_folds} of {found.n_folds_}" if is_partly else f"{n_folds}")
        row.append(f"{results['n_binaries'][i]:g}")
        for name in means:
            is_difference = is_partly and f"difference_{name}" in results
            value = results[f"difference_{name}" if is_difference else f"mean_{name}"][i]
            is_difference = is_difference and value == value  # not NaN
            row.append(f"{value:+.4g}" if is_difference else f"{value:.4g}")
            has_difference = has_difference or is_difference
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if k < 2 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    reasons = [
        f"{name}: {reason}"
        for name, reason in zip(results["candidate"], results["reason"], strict=True)
        if reason
    ]
    legend = ["*: chosen; p: no candidate is better in one column without being worse in another"]
    if has_difference:
        legend.append("+ and -: difference from the first candidate on the same folds")
    if found.best_params_:
        legend.append(_advise_training(found))
    return "\n".join([*lines, "", *legend, *reasons])


def _advise_training(found: Any) -> str:
    """Return the options of `train` for the chosen parameters."""
    from polytomy.learners.specification import specification_of

    try:
        specification = specification_of(found.best_candidate_.estimator)
    except ArgumentError:  # for example a pipeline
        return f"chosen parameters: {found.best_params_}"
    return f"To train with the chosen parameters: --estimator {shlex.quote(specification)}"


def _csv_of(found: Any) -> str:
    from polytomy.files import to_csv

    rows = [[label, *row] for label, row in zip(found.classes, found.matrix.tolist(), strict=True)]
    return to_csv([[found.name, *found.classes], *rows]).rstrip("\n")


def _draw_distances(found: Any, path: Path) -> None:
    from polytomy import plots

    left, _ = plots.distances(found)
    _save(left.figure, path)


def _draw_candidates(found: Any, path: Path, *, has_grid: bool) -> None:
    from polytomy import plots

    _save((plots.grid if has_grid else plots.pareto)(found).figure, path)


def _save(figure: Any, path: Path) -> None:
    from polytomy.files import open_atomically

    known = figure.canvas.get_supported_filetypes()
    kind = path.suffix.lstrip(".").lower()
    if kind not in known:
        raise ArgumentError(
            f"--plot {path}: the file name must end in one of {', '.join(sorted(known))}"
        )
    with open_atomically(path) as file:
        figure.savefig(file, format=kind, dpi=150)
