"""Running trials: what is not finished yet, one after the other, each kept as soon as it is."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from polytomy.composition import Solver
from polytomy.designs import empirical_tree
from polytomy.distances import hausdorff
from polytomy.errors import ArgumentError
from polytomy.trials.measuring import measure_trial
from polytomy.trials.pairs import pairs_from
from polytomy.trials.protocol import Protocol, describe_estimator, standardised
from polytomy.trials.results import Results
from polytomy.trials.sources import Dataset, load_datasets
from polytomy.trials.store import Store, holding_tables
from polytomy.trials.tables import write_tables

__all__ = ["Progress", "run"]

# Seconds between looks at what other runs of the folder have finished.
_PATIENCE = 0.5
# Enough samples for all that is compiled at first use.
_WARM_UP_SAMPLES = 1200
# What the number of threads, and so the times, depend on beside the jobs.
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PACKAGES = ("polytomy", "numpy", "scipy", "scikit-learn", "numba", "joblib")


class Progress(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    n_done, n_trials : of the trials that were asked for
    dataset, repeat : of the trial that is run, or was just finished
    stage : "found", of trials that were finished before; "begun"; a configuration that is trained;
        "done"
    seconds_left : an estimate; None before each dataset that is left was tried once
    records : the trials that are finished
    """

    n_done: int
    n_trials: int
    dataset: str
    repeat: int
    stage: str
    seconds_left: float | None
    records: Sequence[Mapping[str, Any]]


def run(
    datasets: Mapping[str, Any] | Iterable[str] | str | None = None,
    *,
    data: str | os.PathLike[str] | None = None,
    schemes: Any = None,
    solvers: Iterable[Solver] | str | None = None,
    estimator: Any = None,
    repeats: int = 10,
    test: float = 0.3,
    seed: int = 0,
    n_jobs: int | None = None,
    folder: str | os.PathLike[str] = "results",
    on_progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Compare schemes and solvers on datasets, in repeated trials.

    In each trial a part of each class is held out, the features are standardised on the training
    part, and all pairs of a scheme and a solver are trained and judged. What is finished is kept in
    the folder; a run that was stopped goes on where it was, and several runs can share the work.

    Parameters
    ----------
    datasets, data : names and their folder, or a dict of pairs (X, y); see `load_datasets`
    schemes, solvers : what is compared; see `pairs_from`
    estimator : classifier, specification such as "svc C=10", or a dict of these by dataset
        By default support vector machines, with the options of Mills's experiments for their
        datasets.
    repeats : number of trials of each dataset
    test : the part of each class that is held out
    seed : fixes all splits, folds and what is drawn
    n_jobs : jobs of joblib over the binaries of a trial; the results do not depend on it, but times
        do
    folder : where results are kept
    on_progress : called with a Progress

    Returns
    -------
    Results
        Of the datasets and repeats that were asked for. The tables in the folder have all trials
        that are there.

    Examples
    --------
    >>> import tempfile
    >>> results = run(
    ...     "iris", schemes=["one-vs-one", "tree"], estimator="gaussian-nb", repeats=2,
    ...     folder=tempfile.mkdtemp(),
    ... )
    >>> results
    <Results: 2 trials of 2 pairs on 1 datasets>
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ArgumentError(f"repeats={repeats!r} is no whole number from one up")
    protocol = Protocol(pairs_from(schemes, solvers), test, seed, estimator)
    loaded = load_datasets(datasets, data)
    for each in loaded:
        protocol.check(each)
    texts = {each.name: describe_estimator(protocol.estimator_for(each.name)) for each in loaded}
    store = Store(folder, protocol.describe(), _about())
    for each in loaded:
        store.register(_facts(each, texts[each.name]), partial(_portrait, each))
    _Run(store, protocol, loaded, repeats, n_jobs, on_progress).finish()
    with holding_tables(folder):
        write_tables(Results.read(folder), folder)
    return Results.read(folder, [each.name for each in loaded], repeats)


class _Run:
    def __init__(
        self,
        store: Store,
        protocol: Protocol,
        datasets: Sequence[Dataset],
        repeats: int,
        n_jobs: int | None,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.store, self.protocol, self.n_jobs = store, protocol, n_jobs
        self.on_progress = on_progress
        # All datasets once, then again: so there is soon something of each.
        self.left = [(dataset, repeat) for repeat in range(repeats) for dataset in datasets]
        self.n_trials = len(self.left)
        self.records: list[dict[str, Any]] = []
        self.is_warm = False

    def finish(self) -> None:
        """Run what is left, or wait for the runs that are at it."""
        self._collect(is_told=False)
        if self.records:
            self._tell(self.records[-1]["dataset"], self.records[-1]["repeat"], "found")
        while self.left:
            n_left = len(self.left)
            for dataset, repeat in list(self.left):
                with self.store.claim(dataset.name, repeat) as is_ours:
                    if is_ours and self.store.find(dataset.name, repeat) is None:
                        self._measure(dataset, repeat)
                self._collect()
            if len(self.left) == n_left:
                time.sleep(_PATIENCE)

    def _measure(self, dataset: Dataset, repeat: int) -> None:
        self._tell(dataset.name, repeat, "begun")
        if not self.is_warm:
            _warm_up(self.protocol, dataset.name, self.n_jobs)
            self.is_warm = True
        record = measure_trial(
            dataset,
            self.protocol,
            repeat,
            n_jobs=self.n_jobs,
            on_trained=lambda name: self._tell(dataset.name, repeat, name),
        )
        threads = {name: os.environ[name] for name in _THREADS if name in os.environ}
        self.store.write(record | {"versions": _versions(), "threads": threads})

    def _collect(self, *, is_told: bool = True) -> None:
        """Take the trials that are finished, by whichever run, off the list of what is left."""
        still = []
        for dataset, repeat in self.left:
            record = self.store.find(dataset.name, repeat)
            if record is None:
                still.append((dataset, repeat))
            else:
                self.records.append(record)
        finished = self.records[len(self.records) - (len(self.left) - len(still)) :]
        self.left = still
        for record in finished if is_told else ():
            self._tell(record["dataset"], record["repeat"], "done")

    def _tell(self, name: str, repeat: int, stage: str) -> None:
        if self.on_progress is not None:
            n_done = self.n_trials - len(self.left)
            left = _estimate([dataset.name for dataset, _ in self.left], self.records)
            self.on_progress(
                Progress(n_done, self.n_trials, name, repeat, stage, left, list(self.records))
            )


def _estimate(left: Sequence[str], records: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the seconds that trials of datasets will take, by those that are finished.

    One dataset says little of another: the time goes with samples, features, classes and how hard
    they are to tell apart. So nothing is guessed before each that is left was tried once.
    """
    seconds: dict[str, list[float]] = {}
    for record in records:
        seconds.setdefault(record["dataset"], []).append(record["seconds"])
    if not set(left) <= set(seconds):
        return None
    return float(sum(np.mean(seconds[name]) for name in left))


def _warm_up(protocol: Protocol, name: str, n_jobs: int | None) -> None:
    """Load and compile what the trials will use, so that no pair is charged for it."""
    random = np.random.default_rng(0)
    classes = np.arange(_WARM_UP_SAMPLES) % 4
    X = random.normal(size=(_WARM_UP_SAMPLES, 2)) + classes[:, np.newaxis]
    # A user's own function may not know what to do with made data.
    designs = [pair for pair in protocol.pairs if isinstance(pair.scheme, str)]
    made = Protocol(designs, protocol.test, protocol.seed, protocol.estimator_for(name))
    measure_trial(Dataset("warm-up", X, classes), made, 0, n_jobs=n_jobs)


def _facts(dataset: Dataset, estimator: str) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "n_samples": int(dataset.X.shape[0]),
        "n_features": int(dataset.X.shape[1]),
        "classes": [str(label) for label in dataset.classes],
        "counts": dataset.counts,
        "fingerprint": dataset.fingerprint,
        "estimator": estimator,
    }


def _portrait(dataset: Dataset) -> dict[str, Any]:
    """Return how far apart the classes are, and the tree of that: of all samples, standardised."""
    (X,) = standardised(dataset.X)
    distances = hausdorff(X, dataset.y)
    return {
        "distances": distances.reordered(dataset.classes).matrix.tolist(),
        "empirical_tree": str(empirical_tree(X, dataset.y, distance=distances)),
    }


def _about() -> dict[str, Any]:
    return {
        "versions": _versions(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }


def _versions() -> dict[str, str]:
    return {package: version(package) for package in _PACKAGES}
