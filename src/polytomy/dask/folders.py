"""Training on folders of data files with the same columns, such as those that clusters write.

Each file is a part of the data, which one worker reads.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from sklearn.pipeline import make_pipeline

from dask import delayed
from polytomy.classifier import PolytomyClassifier
from polytomy.dask.cluster import explaining_faults
from polytomy.dask.estimator import DaskPolytomyClassifier
from polytomy.datasets import Data, open_blocks, read_data
from polytomy.datasets.sources import list_files
from polytomy.datasets.tables import NoRowsError
from polytomy.errors import ClusterError, DataError
from polytomy.learners.preparation import resolve_estimator

_LOCAL = "local"
_SECONDS_TO_CONNECT = 10


def list_data_files(path: str | Path) -> list[Path]:
    """Return the files of a folder, sorted by name; or the file itself."""
    folder = Path(path)
    if not folder.exists():
        raise DataError(f"{folder}: there is no such folder")
    files = list_files(folder) if folder.is_dir() else [folder]
    if not files:
        raise DataError(f"{folder}: the folder has no files")
    return files


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


def read_first(files: Sequence[Path], **reading: Any) -> Data:
    """Return the first sample of some files, which has their columns.

    Parameters
    ----------
    files : from `list_data_files`
    **reading : arguments of `polytomy.datasets.read_data`
    """
    for file in files:
        with suppress(NoRowsError):
            return next(open_blocks(file, n_rows=1, **reading))
    raise DataError(f"{files[0].parent}: the files have no rows")


def train_on_files(
    client: Any, files: Sequence[Path], classifier: Any, scaler: Any, **reading: Any
) -> PolytomyClassifier:
    """Return a classifier trained on files with the same columns.

    Parameters
    ----------
    client : distributed.Client
    files : from `list_data_files`
    classifier : PolytomyClassifier, unfitted
    scaler : scaler of the features, unfitted, or None
    **reading : arguments of `polytomy.datasets.read_data`
    """
    parts = [delayed(_read_part, nout=2)(file, reading) for file in files]
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


def _read_part(file: Path, reading: dict[str, Any]) -> tuple[Any, Any]:
    try:
        data = read_data(file, **reading)
    except NoRowsError:
        return np.empty((0, 0)), np.empty(0)
    return data.X, data.y
