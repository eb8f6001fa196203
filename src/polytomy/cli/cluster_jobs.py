"""The commands train, predict and evaluate on a Dask cluster, for folders of files."""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.running_scores import RunningScores
from polytomy.errors import ArgumentError, ClusterError, DataError

if TYPE_CHECKING:
    from polytomy.dask.folders import FolderSurvey

__all__ = ["connect", "evaluate_folder", "predict_folder", "run_on_files", "train_on_folder"]

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
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ArgumentError(
            "--dask needs Dask. Install it with: pip install polytomy[dask]"
        ) from error
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


def run_on_files(
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


def train_on_folder(
    client: Any,
    folder: str,
    classifier: Any,
    *,
    target: str | int,
    format: str | None,
    header: bool | None,
    one_hot: bool,
    scale: str,
) -> tuple[Any, FolderSurvey]:
    """Return a classifier trained on the files of a folder, and the survey of the folder.

    Parameters
    ----------
    client : distributed.Client
    folder : folder of files, or a file
    classifier : PolytomyClassifier, unfitted
    target, format, header, one_hot : see `polytomy.datasets.read_data`
    scale : value of the option --scale
    """
    import numpy as np
    from sklearn.pipeline import make_pipeline

    from dask import delayed
    from polytomy.cli.data_options import check_class_labels, make_scaler
    from polytomy.dask import DaskPolytomyClassifier
    from polytomy.dask.folders import (
        divide_files,
        list_data_files,
        merge_surveys,
        read_part,
        survey_file,
    )
    from polytomy.learners.preparation import resolve_estimator

    files = list_data_files(folder, format)
    options = target, format, header
    surveys = run_on_files(client, "reading", files, survey_file, *options, one_hot)
    survey = merge_surveys(files, surveys)
    check_class_labels(survey.classes, folder, target, survey.label_name)
    shared = delayed(survey, traverse=False)
    parts = [
        delayed(read_part, nout=2)(part, shared, *options)
        for part in divide_files(files, surveys, survey)
    ]
    scaler = make_scaler(scale, np.empty((1, 1)))
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
    return trained.to_local(), survey


# -- predict -------------------------------------------------------------------------------------


def predict_folder(
    client: Any,
    folder: str,
    loaded: LoadedModel,
    output: Path,
    *,
    target: str | int | None,
    format: str | None,
    header: bool | None,
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
    loaded : LoadedModel
    output : folder to write
    target, format, header : see `polytomy.datasets.read_data`
    proba : whether to write the probabilities of all classes
    top_columns : names of the columns: the most likely classes, each followed by its probability
    """
    from polytomy.dask.folders import list_data_files
    from polytomy.files import open_folder_atomically

    files = list_data_files(folder, format)
    with open_folder_atomically(output) as temporary:
        numbers = {file: number for number, file in enumerate(files)}
        counts = run_on_files(
            client,
            "predicting",
            files,
            _predict_file,
            loaded,
            temporary,
            numbers,
            target,
            format,
            header,
            proba,
            list(top_columns),
        )
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
    loaded: LoadedModel,
    folder: Path,
    numbers: dict[Path, int],
    target: str | int | None,
    format: str | None,
    header: bool | None,
    proba: bool,
    top_columns: list[str],
) -> int:
    """Write the predictions for one file, block by block, and return their number."""
    from uuid import uuid4

    import pyarrow as arrow
    from pyarrow import parquet

    from polytomy.datasets.tables import NoRowsError

    schema = _make_schema(arrow, loaded, proba, top_columns)
    path = _part_file(folder, numbers[file])
    # A killed worker leaves its own temporary file, not half of the part.
    own = folder / f"{path.stem}-{uuid4().hex}"
    n_samples = 0
    try:
        blocks = loaded.unlabelled_blocks(file, target, format, header)
    except NoRowsError:
        blocks = iter(())
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


def _make_schema(arrow: Any, loaded: LoadedModel, proba: bool, top_columns: list[str]) -> Any:
    labels = loaded.classes.tolist()
    if top_columns:
        types = [arrow.array(labels).type, arrow.float64()] * (len(top_columns) // 2)
        return arrow.schema(list(zip(top_columns, types, strict=True)))
    fields = [("prediction", arrow.array(labels).type)]
    fields += [(f"P({label})", arrow.float64()) for label in labels] if proba else []
    return arrow.schema(fields)


# -- evaluate ------------------------------------------------------------------------------------


def evaluate_folder(
    client: Any,
    folder: str,
    loaded: LoadedModel,
    scores: RunningScores,
    *,
    target: str | int | None,
    format: str | None,
    header: bool | None,
) -> RunningScores:
    """Add the scores for the files of a folder to `scores`, which must be empty, and return it."""
    from polytomy.dask.folders import list_data_files

    files = list_data_files(folder, format)
    parts = run_on_files(
        client, "evaluating", files, _score_file, loaded, scores, target, format, header
    )
    for part in parts:
        scores.merge(part)
    if not scores.n_samples:
        raise DataError(f"{folder}: the files have no rows")
    return scores


def _score_file(
    file: Path,
    loaded: LoadedModel,
    scores: RunningScores,
    target: str | int | None,
    format: str | None,
    header: bool | None,
) -> RunningScores:
    from polytomy.datasets.tables import NoRowsError

    # A task may run twice on the same worker, with the same object.
    own = copy.deepcopy(scores)
    try:
        blocks = loaded.labelled_blocks(file, target, format, header)
    except NoRowsError:
        return own
    for block in blocks:
        own.add(block.y, *loaded.predict(block.X))
    return own
