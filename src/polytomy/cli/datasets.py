"""The commands `datasets list` and `datasets get`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polytomy.cli.completing import complete_datasets
from polytomy.cli.data_options import AsJson, to_json
from polytomy.cli.help_pages import HelpfulCommand, HelpfulGroup
from polytomy.cli.text_files import print_text

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    group = typer.Typer(
        cls=HelpfulGroup,
        help="List and download datasets for trials.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.command("list", cls=HelpfulCommand)(list_datasets)
    group.command("get", cls=HelpfulCommand)(get_datasets)
    app.add_typer(group, name="datasets")


def list_datasets(
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of datasets, NAME.csv.gz, to check.")
    ] = None,
    as_json: AsJson = False,
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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row_texts in rows:
        cells = zip(row_texts, widths, strict=True)
        print_text("  ".join(text.ljust(width) for text, width in cells).rstrip())
    if others:
        print_text(f"also in {data}: {', '.join(others)}")


def _check_file(name: str, folder: Path) -> str:
    """Return whether a file holds the dataset of the experiments, or why it cannot be read."""
    from polytomy.errors import PolytomyError
    from polytomy.trials import CATALOGUE
    from polytomy.trials.datasets import check_dataset, load_datasets

    try:
        (dataset,) = load_datasets([name], folder)
    except (PolytomyError, OSError) as error:
        return f"cannot be read: {error}"
    return str(check_dataset(dataset, CATALOGUE[name]))


def get_datasets(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="Datasets, by the names that `polytomy datasets list` shows.",
            autocompletion=complete_datasets,
        ),
    ],
    data: Annotated[Path, typer.Option(metavar="DIR", help="Folder to download to.")] = Path(
        "data"
    ),
    accept_other_values: Annotated[
        bool,
        typer.Option(
            "--accept-other-values", help="Accept data of the right size with a different checksum."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Download datasets from openml.org, and check those already in the folder.

    Example: `polytomy datasets get letter pendigits --data data`
    """
    from polytomy.trials.datasets import fetch_dataset

    found = []
    for name in names:
        path, check = fetch_dataset(name, data, accept_other_values=accept_other_values)
        found.append({"name": name, "file": str(path), "state": str(check)})
        if not as_json:
            print_text(f"{path} is {check}")
    if as_json:
        print_text(to_json(found))
