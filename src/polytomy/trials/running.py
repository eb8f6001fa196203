"""Run the trials that are not finished yet, show progress, and save each as soon as it is done."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from polytomy.designs import empirical_tree
from polytomy.designs.registry import uses_class_order
from polytomy.distances import hausdorff
from polytomy.inputs.arguments import as_count
from polytomy.inputs.label_order import order_labels
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.preparation import accepts_missing
from polytomy.model.arrangement import Solver
from polytomy.model.estimator import PARALLEL_CHECKS
from polytomy.trials.datasets import Dataset, load_datasets
from polytomy.trials.protocol import (
    Protocol,
    describe_estimator,
    measure_trial,
    pairs_from,
    standardise,
)
from polytomy.trials.results import Results
from polytomy.trials.store import Store
from polytomy.trials.tables import write_tables

# Seconds between checks for trials finished by other runs.
_POLL_SECONDS = 0.5
# Enough samples to trigger everything that is compiled at first use.
_WARM_UP_SAMPLES = 1200
# Variables that set the number of threads, which times depend on.
_THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
_PACKAGES = ("polytomy", "numpy", "scipy", "scikit-learn", "numba", "joblib")


class Progress(NamedTuple):
    """Progress of a run.

    Attributes
    ----------
    n_done, n_trials : number of finished trials, and of all
    dataset, repeat : the trial that is running or was just finished
    stage : "found" for trials finished earlier, "begun", the name of a configuration when it has
        been trained, or "done"
    seconds_left : estimate; None until every remaining dataset has had one trial
    records : the finished trials
    """

    n_done: int
    n_trials: int
    dataset: str
    repeat: int
    stage: str
    seconds_left: float | None
    records: Sequence[Mapping[str, Any]]


@contextmanager
def show_progress() -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows progress on standard error.

    On a terminal it is a progress bar, elsewhere one line per trial.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield _print_line
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as ProgressBars

    with ProgressBars(console=Console(stderr=True)) as bars:
        bar = bars.add_task("")

        def update(progress: Progress) -> None:
            at = escape(f"{progress.dataset}, trial {progress.repeat + 1}: {progress.stage}")
            bars.update(bar, total=progress.n_trials, completed=progress.n_done, description=at)

        yield update


def _print_line(progress: Progress) -> None:
    if progress.stage not in ("found", "done"):
        return
    left = _format_seconds(progress.seconds_left)
    what = f"{progress.dataset}, trial {progress.repeat + 1}"
    if progress.stage == "found":
        what = "already finished"
    line = f"{progress.n_done}/{progress.n_trials} {what}{left and f'; {left} left'}"
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


def _format_seconds(seconds: float | None) -> str:
    """Format a time as 5 s, 3 min or 2.5 h; empty if it is unknown or zero."""
    if not seconds:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def run(
    datasets: Mapping[str, Any] | Iterable[str] | str | None = None,
    *,
    data: str | os.PathLike[str] | None = None,
    paper: bool = False,
    class_order: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
    repeats: int = 10,
    n_jobs: int | None = None,
    folder: str | os.PathLike[str] = "results",
    on_progress: Callable[[Progress], None] | None = None,
    verbose: int = 0,
    report: bool = False,
    schemes: Any = None,
    solvers: Iterable[Solver] | str | None = None,
    calibrated: bool | None = None,
    reading: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Results:
    """Compare schemes and solvers on datasets, in repeated trials.

    Each trial holds out a fraction of each class, standardises the features on the training
    samples, and trains and scores all pairs of a scheme and a solver. Finished trials are saved in
    the folder: an interrupted run continues where it stopped, and several runs can share the work.

    Parameters
    ----------
    datasets, data : names and their folder or file, or a dict of pairs (X, y); see `load_datasets`
    paper : whether to run only the datasets of Mills's experiments that are in the folder
    class_order : all labels from first to last, or a dict of these by dataset
        For schemes that use the order of the classes: "adjacent", "chain", "chain-backward" and
        "tree".
    repeats : number of trials per dataset
    n_jobs : number of joblib jobs for the binaries of a trial; affects times, not scores
    folder : folder for the results
    on_progress : function called with a Progress
    verbose : if 1, show progress as `polytomy trials` does, on standard error: on a terminal a
        progress bar, elsewhere one line per trial
    report : whether to write the report, ``report.html``, to the folder as well; see
        `polytomy.report.write_report`
    schemes, solvers : what to compare; see `pairs_from`
    calibrated : whether to also compare pairs with a final calibration; see `pairs_from`
        By default they are compared, unless `paper` is true.
    reading : further arguments of `polytomy.datasets.read_data` for the files of datasets, such as
        ``{"target": "kind", "categories": "one-hot"}``
        Missing values are read as NaN if the estimator accepts it.
    **settings : estimator, test and seed; see `Protocol`

    Returns
    -------
    Results
        Results of these datasets and repeats. The tables and the report in the folder cover all
        trials in it. If a run is interrupted, they cover those that are finished.

    Examples
    --------
    >>> import tempfile
    >>> results = run(
    ...     "iris", schemes=["one-vs-one", "tree"], estimator="gaussian-nb", repeats=2,
    ...     folder=tempfile.mkdtemp(),
    ... )
    >>> results
    <Results: 2 trials of 4 pairs on 1 dataset>
    """
    repeats = as_count("repeats", repeats)
    PARALLEL_CHECKS["n_jobs"](n_jobs)
    calibrated = not paper if calibrated is None else calibrated
    protocol = Protocol(pairs_from(schemes, solvers, calibrated=calibrated), **settings)
    loaded = load_datasets(
        datasets,
        data,
        paper=paper,
        class_order=class_order,
        reading=reading,
        accepts_missing=lambda name: accepts_missing(protocol.estimator_for(name)),
    )
    for each in loaded:
        protocol.check(each)
    texts = {each.name: describe_estimator(protocol.estimator_for(each.name)) for each in loaded}
    store = Store(folder, protocol.describe(), _describe_environment())
    for each in loaded:
        store.register(
            _describe_dataset(each, texts[each.name]), partial(_describe_distances, each)
        )
    _warn_of_order(loaded, protocol)
    with show_progress() if verbose else nullcontext(None) as show:
        listeners = [listener for listener in (show, on_progress) if listener is not None]
        try:
            # Repeats are the outer loop, so that every dataset soon has a first result.
            left = [(dataset, repeat) for repeat in range(repeats) for dataset in loaded]
            _Run(store, protocol, left, n_jobs, listeners).finish()
        except KeyboardInterrupt:
            _write_results(folder, report=report)
            raise
    _write_results(folder, report=report)
    return Results.read(folder, [each.name for each in loaded], repeats)


def _write_results(folder: str | os.PathLike[str], *, report: bool) -> None:
    """Write the tables of the trials finished so far, and their report if it is wanted."""
    results = Results.read(folder)
    if not results.records:
        return
    write_tables(results, folder)
    if report:
        # The only import from a higher layer: a run ends by writing its report.
        from polytomy.report import write_report

        write_report(folder)


def _warn_of_order(datasets: Sequence[Dataset], protocol: Protocol) -> None:
    """Warn if a design uses the order of classes that have none."""
    names = [
        pair.scheme
        for pair in protocol.pairs
        if isinstance(pair.scheme, str) and uses_class_order(pair.scheme)
    ]
    for each in datasets:
        if not each.has_order:
            order_labels(each.classes, names)


@dataclass
class _Run:
    store: Store
    protocol: Protocol
    left: list[tuple[Dataset, int]]
    n_jobs: int | None
    listeners: Sequence[Callable[[Progress], None]]
    records: list[dict[str, Any]] = field(default_factory=list)
    is_warm: bool = False

    def finish(self) -> None:
        """Run the remaining trials, or wait for the runs that are working on them."""
        self._collect(is_reported=False)
        if self.records:
            self._report(self.records[-1]["dataset"], self.records[-1]["repeat"], "found")
        while self.left:
            n_left = len(self.left)
            for dataset, repeat in list(self.left):
                with self.store.claim(dataset.name, repeat) as is_ours:
                    if is_ours and self.store.find(dataset.name, repeat) is None:
                        self._measure(dataset, repeat)
                self._collect()
            if len(self.left) == n_left:
                time.sleep(_POLL_SECONDS)

    def _measure(self, dataset: Dataset, repeat: int) -> None:
        self._report(dataset.name, repeat, "begun")
        if not self.is_warm:
            _warm_up(self.protocol, dataset.name, self.n_jobs)
            self.is_warm = True
        record = measure_trial(
            dataset,
            self.protocol,
            repeat,
            n_jobs=self.n_jobs,
            on_trained=lambda name: self._report(dataset.name, repeat, name),
        )
        threads = {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ}
        self.store.write(record | {"versions": _package_versions(), "threads": threads})

    def _collect(self, *, is_reported: bool = True) -> None:
        """Move trials that any run has finished from the remaining ones to the records."""
        found = {each: self.store.find(each[0].name, each[1]) for each in self.left}
        finished = [record for record in found.values() if record is not None]
        self.left = [each for each, record in found.items() if record is None]
        self.records += finished
        for record in finished if is_reported else ():
            self._report(record["dataset"], record["repeat"], "done")

    def _report(self, name: str, repeat: int, stage: str) -> None:
        if self.listeners:
            left = _estimate_seconds([dataset.name for dataset, _ in self.left], self.records)
            records = list(self.records)
            n_trials = len(self.left) + len(records)
            progress = Progress(len(records), n_trials, name, repeat, stage, left, records)
            for listener in self.listeners:
                listener(progress)


def _estimate_seconds(left: Sequence[str], records: Sequence[Mapping[str, Any]]) -> float | None:
    """Estimate the seconds the remaining trials will take from the finished ones.

    Times vary too much between datasets to extrapolate from one to another, so the estimate is None
    until every remaining dataset has a finished trial.
    """
    seconds: dict[str, list[float]] = {}
    for record in records:
        seconds.setdefault(record["dataset"], []).append(record["seconds"])
    if not set(left) <= set(seconds):
        return None
    return float(sum(np.mean(seconds[name]) for name in left))


def _warm_up(protocol: Protocol, name: str, n_jobs: int | None) -> None:
    """Load and compile what the trials use, so that no pair's time includes it."""
    random = np.random.default_rng(0)
    classes = np.arange(_WARM_UP_SAMPLES) % 4
    X = random.normal(size=(_WARM_UP_SAMPLES, 2)) + classes[:, np.newaxis]
    # A user's own function may not accept made-up data.
    designs = [pair for pair in protocol.pairs if isinstance(pair.scheme, str)]
    made = Protocol(designs, protocol.test, protocol.seed, protocol.estimator_for(name))
    measure_trial(Dataset("warm-up", X, classes), made, 0, n_jobs=n_jobs)


def _describe_dataset(dataset: Dataset, estimator: str) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "n_samples": int(dataset.X.shape[0]),
        "n_features": int(dataset.X.shape[1]),
        "classes": [str(label) for label in dataset.classes],
        "counts": dataset.counts,
        "fingerprint": dataset.fingerprint,
        "estimator": estimator,
    }


def _describe_distances(dataset: Dataset) -> dict[str, Any]:
    """Return class distances and the empirical tree, from all samples after standardising.

    Missing values are replaced by the mean of their feature.
    """
    (X,) = standardise(dataset.X)
    X = X if is_sparse(X) else np.nan_to_num(X)
    distances = hausdorff(X, dataset.y)
    return {
        "distances": distances.reordered(dataset.classes).matrix.tolist(),
        "empirical_tree": str(empirical_tree(X, dataset.y, distance=distances)),
    }


def _describe_environment() -> dict[str, Any]:
    return {
        "versions": _package_versions(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }


def _package_versions() -> dict[str, str]:
    return {package: version(package) for package in _PACKAGES}
