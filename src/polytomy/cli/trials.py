"""Commands about trials and their data: trials, report, split, datasets list, datasets get."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.data import (
    STANDARD_INPUT,
    InterruptedWorkError,
    align_columns,
    has_terminal,
    parse_labels,
    print_answer,
    print_text,
    read_samples,
    to_json,
)
from polytomy.cli.options import (
    AS_JSON,
    JOBS,
    SEED,
    ColumnOptions,
    DataFile,
    DataOptions,
    complete,
    default_of,
    flag,
    given,
    group,
    option,
)
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import count_things

_RUN = "trials.running:run"
_PROTOCOL = "trials.protocol:Protocol"


@group()
class TrialOptions:
    """What to compare; None stands for the default of `polytomy.trials.run`."""

    data: Path | None = option(
        metavar="PATH",
        help="Data file, or folder of datasets, NAME.csv or NAME.csv.gz; all of them run. Default: "
        "the datasets of scikit-learn.",
    )
    datasets: list[str] | None = option(
        metavar="NAMES",
        autocompletion=complete("datasets", is_list=True),
        help="Run only these datasets, comma-separated (repeatable). Without --data: digits, "
        "wine, iris and breast-cancer.",
    )
    paper: bool = flag("--paper", "Run only the datasets of the paper in the folder.")
    schemes: list[str] | None = option(
        metavar="SCHEMES",
        autocompletion=complete("schemes", before=["pool"], files="*.control"),
        help="Designs, control files or control texts, comma-separated (repeatable). "
        'SCHEME:SOLVER sets the solver of one scheme. "polytomy design --help" lists designs.',
    )
    solvers: list[str] | None = option(
        metavar="SOLVERS",
        autocompletion=complete("methods", is_list=True),
        help="Solvers for schemes without their own, comma-separated (repeatable): {methods}.",
    )
    calibrated: bool | None = flag(
        "--calibrated/--no-calibrated",
        "Whether to also compare pairs with a final calibration. Default: yes, except with "
        "--paper.",
        default=None,
    )
    estimator: str | None = option(
        metavar="SPEC", help='Binary classifier, such as "svc C=10". Default: chosen by dataset.'
    )
    repeats: int | None = option(min=1, sets=_RUN, help="Number of trials per dataset.")
    test: float | None = option(
        metavar="FRACTION", sets=_PROTOCOL, help="Fraction of each class to hold out."
    )
    seed: int | None = option(min=0, sets=_PROTOCOL, help="Seed of the splits and random designs.")
    class_order: str | None = option(
        metavar="LABELS",
        help="Class labels from first to last, for adjacent, chain and tree: a,b,c or a file, "
        "which may be a JSON object of datasets and their labels.",
    )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `polytomy.trials.run` that are given, as in Python."""
        found = given(
            self,
            datasets=_split_commas,
            schemes=_parse_schemes,
            solvers=_split_commas,
            class_order=parse_labels,
        )
        return found if self.calibrated is None else {**found, "calibrated": self.calibrated}


def trials(
    options: TrialOptions,
    reading: ColumnOptions,
    n_jobs: int | None = JOBS,
    folder: Path | None = option(
        "-o", "--output", metavar="DIR", sets=_RUN, help="Folder for the results."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Compare schemes and solvers on datasets, in repeated trials.

    Run the same command again to continue after an interruption. Several runs can share a folder.

    Example: `polytomy trials --datasets iris,wine --repeats 2 -o results`
    """
    from polytomy.trials import run
    from polytomy.trials.tables import results_to_text

    folder = Path(folder or default_of(_RUN, "folder"))
    verbose = int(has_terminal() or not as_json)
    try:
        results = run(
            **options.arguments(),
            reading=_read_like(reading),
            n_jobs=n_jobs,
            folder=folder,
            verbose=verbose,
            report=True,
        )
    except KeyboardInterrupt:
        raise InterruptedWorkError(_describe_interruption(folder)) from None
    page = folder / "report.html"
    if as_json:
        answer = {"folder": str(folder), "report": str(page), "trials": results.rows()}
        print_text(to_json(answer))
        return
    print_text(f"\n{results_to_text(results)}")
    print_text(f"\ntables: {folder} (tables.md, tables.tex, summary.csv, results.json)")
    print_text(f"report: {page}")


def _read_like(options: ColumnOptions) -> dict[str, Any]:
    """Return how to read data files; the estimator decides about missing values by default."""
    found = options.reading()
    if options.missing is None:
        del found["missing"]
    return found


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


def _split_commas(texts: list[str]) -> list[str]:
    """Return the comma-separated values of a repeatable option."""
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _parse_schemes(texts: list[str]) -> list[Any]:
    from polytomy.solvers import METHODS

    # A control text is one scheme, even if it contains commas.
    found = [word for text in texts for word in ([text] if "{" in text else _split_commas([text]))]
    pairs = [word.rpartition(":") for word in found]
    return [
        (scheme, solver) if solver in METHODS and scheme else word
        for word, (scheme, _, solver) in zip(found, pairs, strict=True)
    ]


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Results folder of `polytomy trials`.")
    ] = Path("results"),
    output: Path | None = option(
        "-o", "--output", help="Page to write. Default: FOLDER/report.html."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Write the report of trials, finished or not: one page with all tables and figures.

    Example: `polytomy trials --datasets iris --repeats 2 && polytomy report results -o iris.html`
    """
    from polytomy.report import write_report

    page = write_report(folder, output)
    facts = {"folder": str(folder), "report": str(page)}
    print_answer(facts, f"report of {folder}: {page}", as_json)


# -- data ------------------------------------------------------------------------------------------


def split(
    data: DataFile,
    reading: DataOptions,
    test: float | None = option(
        metavar="FRACTION", sets=_PROTOCOL, help="Fraction of each class to hold out."
    ),
    seed: int = SEED,
    output: str | None = option(
        "-o",
        "--output",
        metavar="PREFIX",
        help="Prefix of both file names, or a folder for them. By default, the files are in "
        "the working directory.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Split a data file into a training set and a test set, stratified by class.

    The files NAME.train.csv and NAME.test.csv are written to the working directory. Both have the
    label column last, under its own name.

    Example: `polytomy split iris.csv --test 0.3`
    """
    import numpy as np

    from polytomy.datasets import write_data
    from polytomy.trials.protocol import split_classes

    test = default_of(_PROTOCOL, "test") if test is None else test
    if not 0 < test < 1:
        raise ArgumentError(f"--test must be between 0 and 1; got {test:g}")
    if data == STANDARD_INPUT and (output is None or _is_folder(output)):
        raise ArgumentError("standard input has no name; use --output PREFIX")
    samples, labels = read_samples(data, reading, categories="one-hot", missing="nan")
    class_indices = np.unique(labels, return_inverse=True)[1]
    is_held_out = split_classes(class_indices, test, np.random.default_rng(seed))
    if not is_held_out.any():
        raise ArgumentError(f"{data}: no class has enough samples to hold out {test:g} of them")
    prefix, ending = _name_files(data, output)
    files = {part: Path(f"{prefix}.{part}{ending}") for part in ("train", "test")}
    masks = {"train": ~is_held_out, "test": is_held_out}
    default = "svmlight" if hasattr(samples.X, "toarray") else "csv"
    if output is not None and _is_folder(output):
        Path(output).mkdir(parents=True, exist_ok=True)
    for part, file in files.items():
        write_data(
            file,
            _select(samples, masks[part]),
            format=_choose_format(file, reading.format or default),
            target=samples.label_name or "label",
        )
    counts = {part: int(mask.sum()) for part, mask in masks.items()}
    facts = {part: {"file": str(file), "samples": counts[part]} for part, file in files.items()}
    lines = [f"{file}: {count_things(counts[part], 'sample')}" for part, file in files.items()]
    print_answer(facts, "\n".join(lines), as_json)


def _select(samples: Any, mask: Any) -> Any:
    return replace(
        samples, X=samples.X[mask], y=samples.y[mask], row_numbers=samples.row_numbers[mask]
    )


def _choose_format(file: Path, default: str) -> str:
    """Return the format given by a file name, or the default."""
    from polytomy.datasets import find_format

    try:
        return find_format(file)
    except ArgumentError:
        return default


def _name_files(data: str, output: str | None) -> tuple[str, str]:
    """Return the prefix of both file names, and their extension."""
    if data == STANDARD_INPUT:
        return output or "", ".csv"
    path = Path(data)
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    name = path.name.removesuffix(ending)
    if output is None:
        return name, ending
    return str(Path(output, name)) if _is_folder(output) else output, ending


def _is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def list_datasets(
    data: Path | None = option(metavar="DIR", help="Folder of datasets, NAME.csv.gz, to check."),
    as_json: bool = AS_JSON,
) -> None:
    """List known datasets, and those in a folder.

    Example: `polytomy datasets list`
    """
    from polytomy.trials import BUNDLED, CATALOGUE
    from polytomy.trials.datasets import load_datasets, names_in_folder

    present = [] if data is None else names_in_folder(data)
    found = []
    for name, known in CATALOGUE.items():
        row = {
            "name": name,
            "samples": known.n_samples,
            "features": known.n_features,
            "classes": len(known.classes),
            "estimator": known.estimator,
            "source": "" if known.openml is None else f"openml.org {known.openml}",
        }
        if data is not None:
            row["folder"] = _check_file(name, data) if name in present else "missing"
        found.append(row)
    for dataset in load_datasets(BUNDLED):
        n_samples, n_features = dataset.X.shape
        row = {"name": dataset.name, "samples": n_samples, "features": n_features}
        row |= {"classes": len(dataset.classes), "estimator": "", "source": "scikit-learn"}
        found.append(row)
    others = [name for name in present if name not in CATALOGUE]
    if as_json:
        print_text(to_json({"datasets": found, "others": others}))
        return
    heads = list(found[0])
    rows = [heads, *([str(row.get(head, "")) for head in heads] for row in found)]
    print_text("\n".join(align_columns(rows, len(heads))))
    if others:
        print_text(f"also in {data}: {', '.join(others)}")


def _check_file(name: str, folder: Path) -> str:
    """Return whether a file holds the dataset of the experiments, or why it cannot be read."""
    from polytomy.errors import PolytomyError
    from polytomy.trials import CATALOGUE
    from polytomy.trials.datasets import find_differences, load_datasets

    try:
        (dataset,) = load_datasets([name], folder)
    except (PolytomyError, OSError) as error:
        return f"cannot be read: {error}"
    return find_differences(dataset, CATALOGUE[name]) or "the dataset of the experiments"


def get_datasets(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="Datasets, by the names that `polytomy datasets list` shows.",
            autocompletion=complete("datasets", is_list=True),
        ),
    ],
    data: Path = option(metavar="DIR", help="Folder to download to.", default=Path("data")),
    as_json: bool = AS_JSON,
) -> None:
    """Download datasets from openml.org, unless the folder has them.

    Example: `polytomy datasets get letter pendigits --data data`
    """
    from polytomy.trials.datasets import fetch_dataset

    found = []
    for name in names:
        path = fetch_dataset(name, data)
        found.append({"name": name, "file": str(path)})
        if not as_json:
            print_text(f"{name}: {path}")
    if as_json:
        print_text(to_json(found))
