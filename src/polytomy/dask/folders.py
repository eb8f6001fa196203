"""Folders of data files with the same columns, such as those that clusters write.

Each file is a part of the data. A survey of all files first finds what every part needs to
know: the classes and the values of text columns. So files can be read on different machines.
"""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as arrow
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.pipeline import make_pipeline

from dask import delayed
from polytomy.dask.cluster import explaining_faults, gather_as_completed, name_task, sending_data
from polytomy.dask.estimator import DaskPolytomyClassifier
from polytomy.datasets import FORMATS, find_format
from polytomy.datasets.columns import LabelIndex
from polytomy.datasets.parquet import ParquetTable
from polytomy.datasets.reading import Scan, open_table, read_table, scan_table
from polytomy.datasets.sources import list_files
from polytomy.datasets.tables import NoRowsError, ReadOptions
from polytomy.errors import Argument, ArgumentError, ClusterError, DataError
from polytomy.files import open_folder_atomically
from polytomy.learners.preparation import resolve_estimator
from polytomy.learners.workload import TrainingListener
from polytomy.model.estimator import progress_bar

# Size of the samples of a part of a Parquet file.
_PART_BYTES = 2**27


def list_data_files(path: str | Path, format: str | None = None) -> list[Path]:
    """Return the data files of a folder, sorted by name; or the file itself."""
    folder = Path(path)
    if not folder.exists():
        raise DataError(f"{folder}: there is no such folder")
    if not folder.is_dir():
        return [folder]
    known = [kind for kind in FORMATS.values() if kind.is_in_folders]
    endings = tuple(ending for kind in known for ending in kind.endings)
    files = list_files(folder, endings if format is None else ())
    if not files:
        raise DataError(f"{folder}: the folder has no Parquet, CSV or TSV files")
    kinds = {find_format(file, format) for file in files}
    if len(kinds) > 1:
        raise DataError(
            f"{folder}: the folder has files of the formats {' and '.join(sorted(kinds))}. Set ",
            Argument("format"),
            " or use one folder for each.",
        )
    if not FORMATS[min(kinds)].is_in_folders:
        raise ArgumentError(
            Argument("format", kinds.pop()),
            " cannot be read from a folder. Use Parquet, CSV or TSV files.",
        )
    return files


class FileSurvey(NamedTuple):
    """The survey of one file.

    Attributes
    ----------
    scan : what a pass over the file has found; None if it has no rows
    row_groups : number of rows of each row group of a Parquet file; empty for other formats
    """

    scan: Scan | None
    row_groups: tuple[int, ...] = ()


class FilePart(NamedTuple):
    """A file, or some row groups of a large Parquet file.

    Attributes
    ----------
    file : Path
    row_groups : numbers of consecutive row groups; None for all of the file
    """

    file: Path
    row_groups: tuple[int, ...] | None = None


def survey_file(file: Path, format: str | None, options: ReadOptions) -> FileSurvey:
    """Return the survey of one file, which is read in blocks."""
    try:
        table = open_table(file, format, options)
    except NoRowsError:
        return FileSurvey(None)
    # Labels stay as they are written, because their type also depends on the other files.
    scan = scan_table(table, are_all=False)
    return FileSurvey(scan, table.rows_of_groups if isinstance(table, ParquetTable) else ())


@dataclass(frozen=True, slots=True, eq=False)
class FolderSurvey:
    """The survey of a folder: what all its files have in common.

    Attributes
    ----------
    n_rows : int
    classes : array of all labels, sorted; integers if all labels are integers
    columns : names of the columns of features, or None
    n_columns : number of these columns
    label_name : name of the label column, or None
    categories : dict of text columns and all of their values, sorted
    parts : tuple of FilePart, in which to read the files
    """

    n_rows: int
    classes: NDArray[Any]
    columns: tuple[str, ...] | None
    n_columns: int
    label_name: str | None
    categories: dict[str, tuple[str, ...]]
    parts: tuple[FilePart, ...] = ()

    def reading_options(self, options: ReadOptions) -> ReadOptions:
        """Return options with which all files are read alike."""
        return replace(
            options,
            features=self.n_columns if self.columns is None else self.columns,
            categories=self.categories or "refuse",
            classes=self.classes,
        )


def merge_surveys(files: Sequence[Path], surveys: Sequence[FileSurvey]) -> FolderSurvey:
    """Return what all files have in common; DataError if their columns differ."""
    filled = [
        (file, survey.scan)
        for file, survey in zip(files, surveys, strict=True)
        if survey.scan is not None
    ]
    if not filled:
        raise DataError(f"{files[0].parent}: the files have no rows")
    first_file, first = filled[0]
    index = LabelIndex()
    categories: dict[str, set[str]] = {}
    for file, scan in filled:
        if (scan.columns, scan.n_features) != (first.columns, first.n_features):
            raise DataError(
                f"{file}: the columns are not those of {first_file}. All files of a folder need "
                "the same columns, in the same order."
            )
        if (scan.classes.dtype.kind == "U") != (first.classes.dtype.kind == "U"):
            kind = "text" if scan.classes.dtype.kind == "U" else "numbers"
            raise DataError(
                f"{file}: the labels are {kind}, but not in the files before it. Use one kind of "
                "labels."
            )
        for label in scan.classes.tolist():
            index.number(label)
        for name, values in scan.categories.items():
            categories.setdefault(name, set()).update(values)
    return FolderSurvey(
        sum(scan.n_rows for _, scan in filled),
        np.unique(index.found()),
        first.columns,
        first.n_features,
        first.label_name,
        {name: tuple(sorted(values)) for name, values in categories.items()},
        tuple(chain(*(_divide(file, survey) for file, survey in zip(files, surveys, strict=True)))),
    )


def _divide(file: Path, survey: FileSurvey) -> list[FilePart]:
    """Return the parts in which to read a file: all of it, or a large Parquet file in pieces.

    A piece has as many row groups as fit in 128 MB, or one if it is larger. A file without rows has
    no part.
    """
    if survey.scan is None:
        return []
    n_features = survey.scan.n_features + sum(map(len, survey.scan.categories.values()))
    most_rows = max(1, _PART_BYTES // (8 * max(1, n_features)))
    if survey.scan.n_rows <= most_rows or len(survey.row_groups) < 2:
        return [FilePart(file)]
    pieces: list[list[int]] = [[]]
    for number, n_rows in enumerate(survey.row_groups):
        if pieces[-1] and sum(survey.row_groups[k] for k in pieces[-1]) + n_rows > most_rows:
            pieces.append([])
        pieces[-1].append(number)
    return [FilePart(file, tuple(piece)) for piece in pieces]


def read_part(part: FilePart, format: str | None, options: ReadOptions) -> tuple[Any, NDArray[Any]]:
    """Return the samples of one part and their labels, typed as those of all files."""
    if part.row_groups is None:
        data = read_table(open_table(part.file, format, options))
    else:
        data = read_table(ParquetTable(part.file, options, part.row_groups))
    assert data.y is not None
    return data.X, data.y


# -- Training, prediction and evaluation on folders of files, one task for each file or part --


_LOCAL = "local"
_SECONDS_TO_CONNECT = 10


@contextmanager
def connect(address: str, jobs: int | None = None) -> Iterator[Any]:
    """Yield a client of the cluster at an address; "local" starts a cluster on this machine.

    Parameters
    ----------
    address : address of a scheduler, or "local"
    jobs : number of processes of a local cluster; default: one per core
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address == _LOCAL:
        n_workers = None if jobs is None or jobs < 0 else jobs
        with (
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
            explaining_faults(client),
        ):
            yield client
        return
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f'there is no Dask scheduler at {address}. Start one with "dask scheduler" and its '
            'workers with "dask worker", or use --dask local.'
        ) from error
    with client, explaining_faults(client):
        yield client


def _run_on_files(
    client: Any, verb: str, files: Sequence[Path], function: Callable[..., Any], *arguments: Any
) -> list[Any]:
    """Return ``function(file, *arguments)`` for each file; show progress on a terminal.

    Arguments are sent to the cluster once. A file is processed again if its worker is lost, but not
    if it raises an error.
    """
    with sending_data():
        shared = [delayed(argument, traverse=False) for argument in arguments]
        work = delayed(function)
        tasks = [work(file, *shared, dask_key_name=name_task(verb)) for file in files]
        futures = client.compute(tasks)
    results: list[Any] = [None] * len(files)
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    silent = nullcontext(TrainingListener())
    with progress_bar(len(files), verb) if is_terminal else silent as bar:
        for number, result in gather_as_completed(client, futures):
            results[number] = result
            bar.trained(files[number].name)
    return results


# -- train ---------------------------------------------------------------------------------------


def survey_folder(client: Any, path: str, format: str | None, options: ReadOptions) -> FolderSurvey:
    """Read all files of a folder once, and return what they have in common.

    Parameters
    ----------
    client : distributed.Client
    path : folder of files, or a file
    format : name of a format, or None
    options : how to read the files
    """
    files = list_data_files(path, format)
    return merge_surveys(
        files, _run_on_files(client, "reading", files, survey_file, format, options)
    )


def train_on_folder(
    client: Any,
    survey: FolderSurvey,
    format: str | None,
    options: ReadOptions,
    classifier: Any,
    scaler: Any,
) -> Any:
    """Return a classifier trained on the files of a folder.

    Parameters
    ----------
    client : distributed.Client
    survey : from `survey_folder`
    format, options : as for `survey_folder`
    classifier : PolytomyClassifier, unfitted
    scaler : scaler of the features, unfitted, or None
    """
    shared = delayed(survey.reading_options(options), traverse=False)
    parts = [delayed(read_part, nout=2)(part, format, shared) for part in survey.parts]
    parameters = classifier.get_params(deep=False)
    del parameters["reservoir_size"]  # only for streams
    if scaler is not None:
        estimator = resolve_estimator(parameters["estimator"])
        parameters |= {
            "estimator": make_pipeline(scaler, estimator),
            "shared_preprocessing": True,
        }
    trained = DaskPolytomyClassifier(**parameters, client=client)
    trained.fit([X for X, _ in parts], [y for _, y in parts])
    return trained.to_local()


# -- predict -------------------------------------------------------------------------------------


def predict_folder(
    client: Any,
    folder: str,
    loaded: Any,
    output: Path,
    *,
    target: str | int | None,
    proba: bool,
    top_columns: Sequence[str] = (),
) -> int:
    """Write the predictions for the files of a folder to a folder of Parquet files.

    Each file of the output has the predictions for one file of the input, in the same order. The
    folder is written completely or not at all. Return the number of samples.

    Parameters
    ----------
    client : distributed.Client
    folder : folder of files, or a file
    loaded : model that reads its data, see `polytomy.cli.loaded_models`
    output : folder to write
    target : label column, or None
    proba : whether to write the probabilities of all classes
    top_columns : names of the columns: the most likely classes, each followed by its probability
    """
    files = list_data_files(folder, loaded.format)
    with open_folder_atomically(output) as temporary:
        numbers = {file: number for number, file in enumerate(files)}
        columns = proba, list(top_columns)
        arguments = loaded, temporary, numbers, target, *columns
        counts = _run_on_files(client, "predicting", files, _predict_file, *arguments)
        missing = [each for each in numbers.values() if not _part_file(temporary, each).exists()]
        if missing:
            raise ClusterError(
                f"{_part_file(output, missing[0])} was not written. The workers need the same file "
                "system as this machine."
            )
        written = {_part_file(temporary, each) for each in numbers.values()}
        for leftover in set(temporary.iterdir()) - written:
            leftover.unlink()  # left by a worker that was killed
    return sum(counts)


def _part_file(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05}.parquet"


def _predict_file(
    file: Path,
    loaded: Any,
    folder: Path,
    numbers: dict[Path, int],
    target: str | int | None,
    proba: bool,
    top_columns: list[str],
) -> int:
    """Write the predictions for one file, block by block, and return their number."""
    schema = _make_schema(loaded, proba, top_columns)
    path = _part_file(folder, numbers[file])
    # A killed worker leaves its own temporary file, not half of the part.
    own = folder / f"{path.stem}-{uuid4().hex}"
    n_samples = 0
    try:
        blocks = loaded.unlabelled_blocks(file, target)
    except NoRowsError:
        blocks = ()
    with parquet.ParquetWriter(own, schema) as writer:
        for block in blocks:
            if top_columns:
                likeliest = loaded.predict_top_k(block.X, len(top_columns) // 2)
                pairs = zip(*(each.T.tolist() for each in likeliest), strict=True)
                values = [column for pair in pairs for column in pair]
            else:
                labels, P = loaded.predict(block.X)
                values = [labels.tolist(), *(P.T if proba and P is not None else ())]
            columns = [
                arrow.array(own, each.type) for own, each in zip(values, schema, strict=True)
            ]
            writer.write_table(arrow.table(columns, schema=schema))
            n_samples += block.n_samples
    own.replace(path)
    return n_samples


def _make_schema(loaded: Any, proba: bool, top_columns: list[str]) -> Any:
    labels = loaded.classes.tolist()
    if top_columns:
        types = [arrow.array(labels).type, arrow.float64()] * (len(top_columns) // 2)
        return arrow.schema(list(zip(top_columns, types, strict=True)))
    fields = [("prediction", arrow.array(labels).type)]
    fields += [(f"P({label})", arrow.float64()) for label in labels] if proba else []
    return arrow.schema(fields)


# -- evaluate ------------------------------------------------------------------------------------


def evaluate_folder(
    client: Any, folder: str, loaded: Any, scores: Any, target: str | int | None
) -> None:
    """Add the scores for the files of a folder to `scores`, which must be empty.

    Parameters
    ----------
    client, folder, loaded, target : see `predict_folder`
    scores : running scores, see `polytomy.cli.evaluating`
    """
    files = list_data_files(folder, loaded.format)
    for part in _run_on_files(client, "evaluating", files, _score_file, loaded, scores, target):
        scores.merge(part)
    if not scores.n_samples:
        raise DataError(f"{folder}: the files have no rows")


def _score_file(file: Path, loaded: Any, scores: Any, target: str | int | None) -> Any:
    # A task may run twice on the same worker, with the same object.
    own = copy.deepcopy(scores)
    try:
        blocks = loaded.labelled_blocks(file, target)
    except NoRowsError:
        return own
    for block in blocks:
        own.add(block.y, *loaded.predict(block.X))
    return own
