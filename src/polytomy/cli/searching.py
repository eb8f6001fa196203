"""Commands that help to choose a scheme for the data: distances, search."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polytomy.cli.data import (
    align_columns,
    check_output,
    has_terminal,
    make_scaler,
    parse_labels,
    print_text,
    read_samples,
    read_scaled,
    to_json,
    write_text,
)
from polytomy.cli.options import (
    AS_JSON,
    CLASS_ORDER,
    JOBS,
    MAX_SIDES,
    SEED,
    DataFile,
    FeatureOptions,
    complete,
    final_calibration,
    given,
    group,
    option,
    parse_none,
)
from polytomy.errors import ArgumentError

_SEARCH = "search:SchemeSearchCV"
_EXAMPLE = 'Write it like "C=0.1,1,10 gamma=0.01,0.1".'


def distances(
    data: DataFile,
    reading: FeatureOptions,
    distance: str = option(
        names="distances", help="Distance between classes: {distances}.", default="hausdorff"
    ),
    as_json: bool = AS_JSON,
    plot: Path | None = option(help="Plot the distances and their dendrogram to this file."),
    output: Path | None = option("-o", "--output", help="Write a CSV table to this file."),
) -> None:
    """Print the distances between the classes of the data.

    Example: `polytomy distances iris.csv --distance centroid`
    """
    from polytomy.distances import compute_distances

    check_output(output, data)
    X, y = read_scaled(data, reading)
    found = compute_distances(distance, X, y)
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


@group()
class SearchOptions:
    """Parameters of the search; None stands for the default of its constructor."""

    estimator: str | None = option(
        metavar="SPEC",
        help='Binary classifier, such as "svc C=10", or LIBSVM options such as "-t 2 -c 10"; '
        "svc by default.",
    )
    candidates: list[str] | None = option(
        "--candidate",
        "-c",
        metavar="SCHEME",
        autocompletion=complete("schemes", before=["pool"], files="*.control"),
        help="Design, control file or control text to compare, or SCHEME,SOLVER (repeatable). "
        'Designs are listed by "polytomy design --help".',
    )
    param_grid: list[str] | None = option(
        "--grid",
        metavar="GRID",
        help="Values of the estimator's parameters to try, such as \"C=0.1,1,10 "
        'gamma=0.01,0.1" (repeatable: grids are tried one after the other).',
    )
    scoring: list[str] | None = option(
        "--score",
        "-s",
        names="scores",
        help="Score to report (repeatable); the first decides: {scores}.",
    )
    cv: int | None = option(
        "--folds", min=2, sets=_SEARCH, help="Number of cross-validation folds."
    )
    budget: float | None = option(
        min=0, metavar="SECONDS", help="Start no new fold after this many seconds."
    )
    pool: int | None = option(
        min=2,
        help="Combine the best N candidates, with weights learnt from out-of-fold probabilities; "
        "then -o writes the trained model.",
    )
    final_calibration: str | None = final_calibration(_SEARCH)
    class_order: str | None = CLASS_ORDER
    max_sides: int | None = MAX_SIDES

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the search that are given, as in Python."""
        from sklearn.svm import SVC

        from polytomy.learners.specification import estimator_from

        parameters = given(
            self,
            estimator=lambda text: estimator_from(text, SVC()),
            candidates=lambda texts: [_parse_candidate(text) for text in texts],
            param_grid=parse_grids,
            scoring=tuple,
            final_calibration=parse_none,
            class_order=parse_labels,
        )
        limit = parameters.pop("max_sides", None)
        if limit is not None:
            from polytomy import PolytomyClassifier

            estimator = parameters.get("estimator")
            parameters["estimator"] = PolytomyClassifier(estimator, max_sides=limit)
        return parameters


def search(
    data: DataFile,
    options: SearchOptions,
    reading: FeatureOptions,
    n_jobs: int | None = JOBS,
    random_state: int = SEED,
    as_json: bool = AS_JSON,
    plot: Path | None = option(
        help="Plot the candidates' scores against their cost; with --grid, a heat map of them."
    ),
    output: Path | None = option(
        "-o",
        "--output",
        help="Write the chosen scheme to this control file; if it is a pool, the trained model to "
        "this model file.",
    ),
) -> None:
    """Compare schemes, and values of parameters, by cross-validation and choose one.

    Example: `polytomy search iris.csv --estimator "svc C=10" -o iris.control`

    Example: `polytomy search iris.csv --grid "C=0.1,1,10 gamma=0.01,0.1"`
    """
    from polytomy.scheme import SchemeEnsemble
    from polytomy.search import SchemeSearchCV, options_for_control_text

    check_output(output, data)
    parameters = options.parameters()
    search_cv = SchemeSearchCV(
        **parameters, n_jobs=n_jobs, random_state=random_state, verbose=int(has_terminal())
    )
    reading = reading.for_estimator(search_cv)
    samples, labels = read_samples(data, reading)
    scaler = make_scaler(reading.scale, samples.X)
    found = search_cv.fit(samples.X if scaler is None else scaler.fit_transform(samples.X), labels)
    has_grid = options.param_grid is not None
    # A control text cannot describe a pool, so its model is written.
    is_pool = hasattr(found, "pool_") or isinstance(found.best_scheme_, SchemeEnsemble)
    advice = "" if is_pool else _advise_training(found)
    if plot is not None:
        _draw_candidates(found, plot, has_grid=has_grid)
    if as_json:
        chosen: dict[str, Any] = {
            "scheme": str(found.best_scheme_),
            "solver": found.best_candidate_.solver,
            "options": options_for_control_text(found),
        }
        if has_grid:
            chosen["params"] = found.best_params_
        if hasattr(found, "pool_"):
            chosen["pool"] = [each.name for each in found.pool_]
            chosen["pool_weights"] = _weights_of_pool(found)
        results = found.cv_results_
        print_text(to_json({"chosen": found.best_candidate_.name, **chosen, "results": results}))
    else:
        print_text("\n".join(filter(None, [_table(found), advice])))
    if output is not None and is_pool:
        from sklearn.pipeline import make_pipeline

        from polytomy.cli.training import describe_data
        from polytomy.persistence import save

        model = found.best_estimator_.set_params(verbose=0)
        model = model if scaler is None else make_pipeline(scaler, model)
        save(model, output, metadata=describe_data(samples, reading))
    elif output is not None:
        # A control text has no options: without these, `train` would not train what was scored.
        write_text(
            "\n".join(filter(None, [advice and f"# {advice}", str(found.best_scheme_)])), output
        )


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
    reasons = [
        f"{name}: {reason}"
        for name, reason in zip(results["candidate"], results["reason"], strict=True)
        if reason
    ]
    legend = ["*: chosen; p: no candidate is better in one column without being worse in another"]
    if has_difference:
        legend.append("+ and -: difference from the first candidate on the same folds")
    pool = []
    if hasattr(found, "pool_"):
        name, weights = means[0].replace("_", " "), _weights_of_pool(found)
        score = f"{name} {abs(found.best_score_):.4g}, with weights learnt from the other folds"
        pool = [f"pool of {len(found.pool_)}: {score}"]
        pool += [
            f"{weight:6.2f} {each.name}" for weight, each in zip(weights, found.pool_, strict=True)
        ]
        pool.append("")
    return "\n".join([*align_columns(rows, 2), "", *pool, *legend, *reasons])


def _weights_of_pool(found: Any) -> list[float]:
    """Return the weight of each member; there may be only one, if the others failed."""
    if len(found.pool_) == 1:
        return [1.0]
    weights: list[float] = found.best_estimator_.pool_weights_.tolist()
    return weights


def _advise_training(found: Any) -> str:
    """Return the options of `train` for the chosen candidate; empty if it needs none."""
    from polytomy.learners.specification import specification_of
    from polytomy.search import options_for_control_text

    words = [
        f"--{name.replace('_', '-')} {shlex.quote('none' if value is None else str(value))}"
        for name, value in options_for_control_text(found).items()
    ]
    others = ""
    if found.best_params_:
        try:
            specification = specification_of(found.best_candidate_.estimator)
            words.append(f"--estimator {shlex.quote(specification)}")
        except ArgumentError:  # for example a pipeline
            others = f" and the parameters {found.best_params_}"
    if not words:
        return others and f"chosen parameters: {found.best_params_}"
    return f"To train with the chosen parameters: {' '.join(words)}{others}"


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


def parse_grids(texts: Sequence[str]) -> list[dict[str, list[Any]]]:
    """Return the value of the parameter `param_grid` given by the options.

    Examples
    --------
    >>> parse_grids(["C=0.1,1 gamma=scale,0.5", "kernel=linear"])
    [{'C': [0.1, 1], 'gamma': ['scale', 0.5]}, {'kernel': ['linear']}]
    """
    return [_parse_grid(text) for text in texts]


def _parse_grid(text: str) -> dict[str, list[Any]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ArgumentError(f"--grid {text}: {error}. Close the quotes.") from None
    if not words:
        raise ArgumentError(f"--grid is empty. {_EXAMPLE}")
    grid: dict[str, list[Any]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not (name and equals):
            raise ArgumentError(
                f'--grid "{text}": "{word}" does not have the form parameter=value,value. '
                f"{_EXAMPLE}"
            )
        if name in grid:
            raise ArgumentError(
                f'--grid "{text}": {name} occurs twice. List all its values once: {name}=1,10.'
            )
        grid[name] = [_parse_value(text, name, each) for each in _split_at_commas(values)]
    return grid


def _parse_value(grid: str, name: str, text: str) -> Any:
    from polytomy.learners.specification import read_value

    if not text.strip():
        raise ArgumentError(f'--grid "{grid}": {name} has an empty value. {_EXAMPLE}')
    try:
        return read_value(name, text.strip())
    except ArgumentError as error:
        raise ArgumentError(f'--grid "{grid}": ', *error.args) from None


def _split_at_commas(text: str) -> list[str]:
    """Return the parts of a text between commas that are not inside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
