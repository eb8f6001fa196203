"""Commands that make and choose schemes: design, check, show, flatten, tree; distances, search."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.data import (
    align_columns,
    check_output,
    explain_failure,
    has_terminal,
    make_scaler,
    parse_labels,
    print_text,
    read_control,
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
    flag,
    given,
    group,
    option,
    parse_none,
)
from polytomy.designs import design as make_design
from polytomy.designs import find_design
from polytomy.designs.orders import order_classes
from polytomy.errors import ArgumentError, ControlError, Problem
from polytomy.files import open_atomically
from polytomy.inputs.arguments import count_things
from polytomy.language.parser import Word
from polytomy.scheme import Label, Scheme, parse
from polytomy.scheme.nodes import word_to_label
from polytomy.scheme.reading import parse_with_warnings

ControlFile = Annotated[
    str, typer.Argument(metavar="FILE", help="Control file or saved model; - reads standard input.")
]
OUTPUT = option("-o", "--output", metavar="FILE", help="Write to this file instead of printing.")
COMPACT = flag("--compact", "Write codes as designs where possible: @one-vs-one.")


@group()
class DesignOptions:
    """Parameters of the design."""

    random_state: int | None = option(
        "--seed", min=0, help="Random seed, for designs that use one."
    )
    n_partitions: int | None = option(
        "--partitions", min=1, help="Number of partitions, for designs that let you choose it."
    )
    sides: int | None = option(min=2, help="Number of sides of each partition of n-ary.")
    separator: str | None = option(
        metavar="TEXT", help="Separator of labels such as a/b/c, for paths."
    )
    name: str | None = option(help="Base of the binaries' names.")
    class_order: str | None = CLASS_ORDER


def design(
    design: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="One of {designs}; or, from data, {data_designs}.",
            autocompletion=complete("schemes"),
        ),
    ],
    options: DesignOptions,
    reading: FeatureOptions,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Data file; required by designs made from data."),
    ] = None,
    classes: int | None = option(
        "--classes", "-n", min=1, help="Number of classes, named 0, 1, 2, …"
    ),
    labels: str | None = option(
        "--labels", "-l", metavar="LABELS", help="Class labels, separated by commas."
    ),
    compact: bool = COMPACT,
    output: Path | None = OUTPUT,
) -> None:
    """Write the control text of a design, for given classes or for a data file.

    Example: `polytomy design one-vs-one --labels corn,wheat,oak`

    Example: `polytomy design empirical-tree iris.csv`
    """
    chosen = given(options, class_order=parse_labels)
    found = find_design(design)
    if data is not None:
        if classes is not None or labels is not None:
            raise ArgumentError("the classes come from the data; leave out --classes and --labels")
        check_output(output, data)
        X, y = read_scaled(data, reading)
        if found.needs_data:
            scheme = make_design(design, X=X, y=y, **chosen)
        else:
            labels_found = sorted(set(y.tolist()))
            if found.uses_order and options.class_order is None:
                labels_found = order_classes(labels_found, None, [design])
            scheme = make_design(design, labels_found, **chosen)
    else:
        if found.needs_data:
            raise ArgumentError(
                f"{design!r} is made from data; pass a data file: polytomy design {design} DATA"
            )
        if (classes is None) == (labels is None):
            raise ArgumentError(
                "pass either --classes or --labels, such as --labels corn,wheat,oak"
            )
        named: int | list[Label] = classes or 0
        if labels is not None:
            words = parse_labels(labels, "--labels")
            named = [word_to_label(Word(word, False, 0, 0)) for word in words]
        scheme = make_design(design, named, **chosen)
    write_text(_scheme_text(scheme, compact), output)


def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Control files; - reads standard input.")
    ],
    strict: bool = flag("--strict", "Treat warnings as problems."),
    as_json: bool = AS_JSON,
) -> None:
    """Report the problems in control files.

    The exit code is 1 if there are problems, and 2 if a file cannot be read.

    Example: `polytomy check land.control`
    """
    worst = 0
    results: list[dict[str, Any]] = []
    for file in files:
        result: dict[str, Any] = {"file": file, "problems": [], "warnings": []}
        try:
            text, name = read_control(file)
            scheme, warnings = parse_with_warnings(text, name)
        except ControlError as error:
            result["problems"] = [_placed(problem) for problem in error.problems]
            worst = max(worst, 1)
            if not as_json:
                print_text(str(error))
        except OSError as error:
            worst = 2
            print(f"polytomy: {explain_failure(error)}", file=sys.stderr)
            continue
        else:
            result["warnings"] = [_placed(warning) for warning in warnings]
            result["scheme"] = _scheme_facts(scheme)
            worst = max(worst, int(strict and bool(warnings)))
            if not as_json:
                for warning in warnings:
                    print_text(f"warning: {warning}")
                print_text(f"{name}: {_summary(scheme)}")
        results.append(result)
    if as_json:
        print_text(to_json(results))
    if worst:
        raise typer.Exit(worst)


def _placed(problem: Problem) -> dict[str, Any]:
    return {"line": problem.line, "column": problem.column, "message": problem.message}


def show(
    file: ControlFile,
    matrix: bool = flag("--matrix", "Draw the coding matrix."),
    output: Path | None = option(
        "-o", "--output", help="Write a picture: FILE.png, FILE.svg or FILE.pdf."
    ),
) -> None:
    """Draw a scheme, as a tree or as a coding matrix, in the terminal or as a picture.

    Example: `polytomy show land.control --matrix`
    """
    if output is None:
        print_text(_parse_file(file).draw(matrix=matrix))
        return
    check_output(output, file, endings=(".png", ".svg", ".pdf"))
    scheme = _parse_file(file)
    from polytomy import plots  # matplotlib is slow to import

    axes = plots.code(scheme) if matrix else plots.tree(scheme)
    _save(axes.figure, output, bbox_inches="tight", dpi="figure")


def flatten(file: ControlFile, compact: bool = COMPACT, output: Path | None = OUTPUT) -> None:
    """Convert a nested scheme to one code over all classes, with the same binaries.

    Example: `polytomy flatten land.control`
    """
    write_text(_scheme_text(_parse_file(file).flatten(), compact), output)


def tree(file: ControlFile, output: Path | None = OUTPUT) -> None:
    """Convert a code to the tree with the same partitions: the reverse of flatten.

    Example: `polytomy flatten land.control | polytomy tree -`
    """
    write_text(_scheme_text(_parse_file(file).to_tree(), compact=False), output)


def _parse_file(file: str) -> Scheme:
    if not file.endswith(".polytomy"):
        return parse(*read_control(file))
    from polytomy.persistence import read_info

    texts = read_info(file).schemes
    if len(texts) != 1:
        raise ArgumentError(f"{file} has {len(texts)} schemes; polytomy info lists them.")
    return parse(texts[0], file)


def _scheme_text(scheme: Scheme, compact: bool) -> str:
    return scheme.compact() if compact else str(scheme)


def _scheme_facts(scheme: Scheme) -> dict[str, Any]:
    kind = "tree" if scheme.is_tree else "code" if scheme.is_flat else "mixture of codes"
    return {"kind": kind, "classes": list(scheme.classes), "partitions": scheme.n_partitions}


def _summary(scheme: Scheme) -> str:
    kind, classes, n_partitions = _scheme_facts(scheme).values()
    counted = count_things(len(classes), "class", "classes")
    return f"{kind}, {counted}, {count_things(n_partitions, 'partition')}"


# -- choosing a scheme for the data ----------------------------------------------------------------


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
        from polytomy import plots

        _save(plots.distances(found)[0].figure, plot)
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
        from polytomy import plots

        _save((plots.grid if has_grid else plots.pareto)(found).figure, plot)
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


def _save(figure: Any, path: Path, **options: Any) -> None:
    known = figure.canvas.get_supported_filetypes()
    kind = path.suffix.lstrip(".").lower()
    if kind not in known:
        raise ArgumentError(
            f"--plot {path}: the file name must end in one of {', '.join(sorted(known))}"
        )
    with open_atomically(path) as file:
        figure.savefig(file, format=kind, **{"dpi": 150, **options})


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
