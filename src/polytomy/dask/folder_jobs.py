"""Training, prediction and evaluation on folders of files, one task for each file or part.

The model and the scores are objects of the command line, which are sent to the workers.
"""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from polytomy.dask.folders import (
    FilePart,
    FolderSurvey,
    divide_files,
    list_data_files,
    merge_surveys,
    read_part,
    survey_file,
)
from polytomy.datasets.tables import NoRowsError
from polytomy.errors import ClusterError, DataError

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
    from distributed import Client, LocalCluster

    from polytomy.dask.cluster import explaining_faults

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
    from dask import delayed
    from polytomy.dask.cluster import gather_as_completed, name_task, sending_data
    from polytomy.model.estimator import progress_bar

    with sending_data():
        shared = [delayed(argument, traverse=False) for argument in arguments]
        work = delayed(function)
        tasks = [work(file, *shared, dask_key_name=name_task(verb)) for file in files]
        futures = client.compute(tasks)
    results: list[Any] = [None] * len(files)
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if not is_terminal:
        for number, result in gather_as_completed(client, futures):
            results[number] = result
        return results
    with progress_bar(len(files), verb) as bar:
        for number, result in gather_as_completed(client, futures):
            results[number] = result
            bar.trained(files[number].name)
    return results


# -- train ---------------------------------------------------------------------------------------


class SurveyedFolder(NamedTuple):
    """A folder of files, and what all of them have in common.

    Attributes
    ----------
    survey : FolderSurvey
    parts : parts in which to read the files
    reading : target, format and header; see `polytomy.datasets.read_data`
    """

    survey: FolderSurvey
    parts: list[FilePart]
    reading: tuple[str | int, str | None, bool | None]


def survey_folder(
    client: Any,
    path: str,
    target: str | int,
    format: str | None,
    header: bool | None,
    one_hot: bool,
) -> SurveyedFolder:
    """Read all files of a folder once, and return what they have in common.

    Parameters
    ----------
    client : distributed.Client
    path : folder of files, or a file
    target, format, header : see `polytomy.datasets.read_data`
    one_hot : whether to one-hot encode text columns
    """
    files = list_data_files(path, format)
    reading = target, format, header
    surveys = _run_on_files(client, "reading", files, survey_file, *reading, one_hot)
    survey = merge_surveys(files, surveys)
    return SurveyedFolder(survey, divide_files(files, surveys, survey), reading)


def train_on_folder(client: Any, folder: SurveyedFolder, classifier: Any, scaler: Any) -> Any:
    """Return a classifier trained on the files of a folder.

    Parameters
    ----------
    client : distributed.Client
    folder : from `survey_folder`
    classifier : PolytomyClassifier, unfitted
    scaler : scaler of the features, unfitted, or None
    """
    from sklearn.pipeline import make_pipeline

    from dask import delayed
    from polytomy.dask import DaskPolytomyClassifier
    from polytomy.learners.preparation import resolve_estimator

    shared = delayed(folder.survey, traverse=False)
    parts = [delayed(read_part, nout=2)(part, shared, *folder.reading) for part in folder.parts]
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
    from polytomy.files import open_folder_atomically

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
    from uuid import uuid4

    import pyarrow as arrow
    from pyarrow import parquet

    schema = _make_schema(arrow, loaded, proba, top_columns)
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


def _make_schema(arrow: Any, loaded: Any, proba: bool, top_columns: list[str]) -> Any:
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
