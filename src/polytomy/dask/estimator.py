"""The estimator for data that is divided among the workers of a Dask cluster.

Its answers are lazy for Dask collections, and immediate for data in memory. It can be trained on
folders of data files with the same columns, such as those that clusters write: each file is a part
of the data, which one worker reads.
"""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from inspect import isfunction
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import validate_data

import dask
from dask import delayed
from polytomy.calibration.folds import AUTO_FOLDS, choose_folds
from polytomy.classifier import PolytomyClassifier
from polytomy.dask.cluster import explaining_faults, find_client
from polytomy.dask.fit_steps import GroupedData, group_rows_by_class, train_binaries
from polytomy.dask.grouping import Layout, RowBlock, is_collection, is_frame, make_parts, whole_rows
from polytomy.datasets import Data, open_blocks, read_data
from polytomy.datasets.sources import list_files
from polytomy.datasets.tables import NoRowsError
from polytomy.errors import Argument, ArgumentError, ClusterError, DataError
from polytomy.inputs.arguments import Parameter, available_unless, check_parameters, is_count
from polytomy.inputs.rows import count_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.preparation import class_limit, resolve_estimator, takes_pairwise_values
from polytomy.learners.problems import count_models
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.answering import AnsweringMixin, why_no_probabilities
from polytomy.model.arrangement import check_solver
from polytomy.model.estimator import (
    CLASSIFIER_CHECKS,
    FollowsEstimatorMixin,
    make_training_options,
    progress_bar,
    undone_if_interrupted,
)
from polytomy.model.fitting import plan_training
from polytomy.model.scheme_argument import (
    LIMITED,
    find_known_order,
    members_of,
    needs_data,
    scheme_from,
)
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.choice import choose_scheme


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What to compute for each part of the samples, and its form, which must be known before.

    Attributes
    ----------
    method : name of a method of PolytomyClassifier that returns an array
    dtype : type of the array
    columns : names of its columns; None if it has one dimension
    """

    method: str
    dtype: Any
    columns: Sequence[Any] | None = None

    @property
    def empty(self) -> NDArray[Any]:
        """The answer for no samples."""
        shape = (0,) if self.columns is None else (0, len(self.columns))
        return np.empty(shape, dtype=self.dtype)

    def for_part(self, X: Any, model: Any) -> NDArray[Any]:
        """Return the answer for one part, which may be empty."""
        if count_rows(X):
            return np.asarray(getattr(model, self.method)(X), dtype=self.dtype)
        return self.empty

    def for_frame(self, X: Any, model: Any) -> Any:
        """Return the answer for one part of a frame, as a frame or a series with its index."""
        return self.as_frame(self.for_part(X, model), X.index)

    def as_frame(self, values: NDArray[Any], index: Any) -> Any:
        """Return values as a frame, or as a series if they have one dimension."""
        import pandas

        # Labels that are text are objects in a frame.
        dtype = object if np.dtype(self.dtype).kind in "US" else self.dtype
        if self.columns is None:
            return pandas.Series(values, index=index, name="prediction", dtype=dtype)
        frame = pandas.DataFrame(values, index=index)
        frame = frame.astype(dict.fromkeys(range(len(self.columns)), dtype))
        frame.columns = pandas.Index(self.columns)
        return frame


def answer_lazily(model: Any, X: Any, answer: Answer) -> Any:
    """Return the answer for samples, as the same kind of collection.

    A dask array gives a dask array, a dask dataframe a dask dataframe or series with the same
    index, and a list of delayed parts a list of delayed arrays.

    Parameters
    ----------
    model : fitted PolytomyClassifier
    X : dask array or dataframe, or a list of delayed parts
    answer : Answer
    """
    # One task holds the model, and all parts depend on it.
    shared = delayed(model, name=f"polytomy model-{uuid4().hex}", traverse=False)
    if isinstance(X, list | tuple):
        return [delayed(answer.for_part)(part, shared) for part in X]
    if is_frame(X):
        meta = answer.as_frame(answer.empty, X._meta.index[:0])
        return X.map_partitions(answer.for_frame, shared, meta=meta, enforce_metadata=False)
    X = whole_rows(X)
    function = partial(polytomy, answer)
    options: dict[str, Any] = {"dtype": answer.dtype, "meta": answer.empty}
    if answer.columns is None:
        return X.map_blocks(function, shared, drop_axis=1, chunks=(X.chunks[0],), **options)
    return X.map_blocks(function, shared, chunks=(X.chunks[0], (len(answer.columns),)), **options)


def polytomy(answer: Answer, X: Any, model: Any) -> NDArray[Any]:
    """Return the answer for one block. Dask names arrays and tasks after this function.

    `map_blocks` has a keyword for the name, but not the same one in all versions.
    """
    return answer.for_part(X, model)


# -- the form of each answer, given a fitted classifier --------------------------------------


def _form_of_labels(classifier: Any) -> tuple[Any, None]:
    # With costs, the label for no prediction may have another type.
    composition = classifier._fitted()
    return composition.labels(np.empty((0, len(composition.classes)))).dtype, None


def _form_of_probabilities(classifier: Any) -> tuple[Any, list[Any]]:
    return np.float64, classifier._fitted().classes.tolist()


def _form_of_decision_values(classifier: Any) -> tuple[Any, list[Any] | None]:
    labels = classifier._fitted().classes.tolist()
    return np.float64, labels if len(labels) != 2 else None


def _lazily(name: str, find_form: Callable[..., tuple[Any, Any]] | None) -> Any:
    """Return a method of `AnsweringMixin` that takes Dask collections as well.

    Parameters
    ----------
    name : name of the method
    find_form : function of the classifier, returns the type of the answer and its columns; None for
        a method that needs samples in memory
    """
    method = getattr(AnsweringMixin, name)

    @wraps(method)
    def answer(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *arguments, **options)
        if find_form is None:
            raise ArgumentError(
                f"{name} needs samples in memory. Compute some of the rows first, such as "
                f"X[:1000].compute(), or apply to_local().{name} to each part, for example with "
                "X.map_blocks."
            )
        return answer_lazily(self._model_for(X), X, Answer(name, *find_form(self)))

    is_always_there = isfunction(vars(AnsweringMixin)[name])
    return answer if is_always_there else available_unless(why_no_probabilities)(answer)


class LazyAnswersMixin(AnsweringMixin):
    """Labels, probabilities and decision values that accept Dask collections.

    For a dask array, the result is a dask array; for a dask dataframe, a dask dataframe or series
    with the same index; for a list of delayed parts, a list of delayed arrays. Nothing is computed
    until it is requested, and then one part at a time, so memory is bounded by a part. For samples
    in memory, the result is computed immediately.
    """

    to_local: Callable[[], PolytomyClassifier]

    predict = _lazily("predict", _form_of_labels)
    predict_proba = _lazily("predict_proba", _form_of_probabilities)
    predict_log_proba = _lazily("predict_log_proba", _form_of_probabilities)
    decision_function = _lazily("decision_function", _form_of_decision_values)
    decisions = _lazily("decisions", None)
    node_probabilities = _lazily("node_probabilities", None)
    predict_nodes = _lazily("predict_nodes", None)
    predict_set = _lazily("predict_set", None)
    predict_cost = _lazily("predict_cost", None)
    predict_top_k = _lazily("predict_top_k", None)
    explain = _lazily("explain", None)
    estimate_prior = _lazily("estimate_prior", None)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean accuracy on samples and labels, computed part by part.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        """
        if not is_collection(X):
            accuracy: float = self.to_local().score(X, y, sample_weight)
            return accuracy
        parts = make_parts(X, y, sample_weight)
        model = delayed(self._model_for(X), traverse=False)
        counts = dask.compute(*[delayed(_count_right)(model, *part) for part in parts])
        right, total = np.sum(counts, axis=0).tolist()
        return float(right / total)

    def _model_for(self, X: Any) -> PolytomyClassifier:
        """Return the model to send to the workers, after a first check of the samples.

        It has no out-of-fold scores, which are as large as the training data.
        """
        local = self.to_local()
        if is_frame(X):
            validate_data(local, X._meta, reset=False, skip_check_array=True)
        elif hasattr(X, "ndim"):
            if X.ndim != 2:
                raise ArgumentError(f"X must have two dimensions; it has shape {X.shape}.")
            if X.shape[1] == X.shape[1]:  # it is known
                validate_data(local, np.zeros((1, X.shape[1])), reset=False)
        composition = local.composition_
        final = composition.final
        if final is not None:
            final = replace(final, probabilities=None)
        local.composition_ = replace(composition, out_of_fold=None, final=final)
        local.set_params(verbose=0)
        return local


def _count_right(model: Any, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """Return the weight of the samples that are predicted correctly, and that of all."""
    if not len(y):
        return 0.0, 0.0
    is_right = model.predict(X) == np.asarray(y)
    weight = np.ones(len(is_right)) if weight is None else np.asarray(weight)
    return float(weight[is_right].sum()), float(weight.sum())


# -- the estimator ---------------------------------------------------------------------------------


def _is_number_of_folds(value: Any) -> bool:
    if isinstance(value, str):
        return value == AUTO_FOLDS
    if isinstance(value, float | np.floating):
        return bool(0 < value < 1)
    return is_count(value) and not isinstance(value, bool) and bool(value >= 2)


_CHECKS = {
    **{name: check for name, check in CLASSIFIER_CHECKS.items() if name != "reservoir_size"},
    "cv": Parameter(
        "cv",
        'a number of folds, two or more, a fraction of the rows to hold out, or "auto" '
        "(splitters need all rows in one place)",
        _is_number_of_folds,
    ).check,
    "design_rows": Parameter(
        "design_rows", "a positive integer", lambda value: is_count(value) and value > 0
    ).check,
}


def _make_signature() -> inspect.Signature:
    """Return the parameters and defaults of PolytomyClassifier, and two more."""
    inherited = inspect.signature(PolytomyClassifier.__init__).parameters
    own = {"design_rows": 10_000, "client": None}
    return inspect.Signature(
        [each for name, each in inherited.items() if name != "reservoir_size"]
        + [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in own.items()
        ]
    )


_SIGNATURE = _make_signature()


class DaskPolytomyClassifier(
    LazyAnswersMixin,
    FollowsEstimatorMixin,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A `PolytomyClassifier` that is trained on a Dask cluster, on data divided among its workers.

    The rows are grouped by class once, on the workers. Each task trains one binary, or a group of
    small ones or of machines that share a kernel matrix, and receives only the rows of its classes.
    For the final calibration, it also receives a sample of all rows, of at most 64 megabytes. The
    result depends on the order of the rows, but neither on the workers nor on how the rows are
    divided; up to rounding, it is that of `PolytomyClassifier`.

    Parameters
    ----------
    estimator, scheme, solver, calibration, final_calibration, models, random_state, verbose, \
class_weight, memory_budget, prediction_dtype, keep_out_of_fold, class_order, validation, max_sides
        As in `PolytomyClassifier`.
    cv : int, float or "auto", default="auto"
        Number of folds, or fraction of the rows to hold out, for both calibrations. "auto": five
        folds, or one held-out part for 100,000 rows or more.
    n_jobs : int, optional
        Number of threads per task; one by default.
    shared_preprocessing : bool, default=False
        Whether the steps before the last of a pipeline are fitted once, to `design_rows` rows.
    design_rows : int, default=10000
        Size of the stratified sample for designs that need data, and for shared transformers.
    client : distributed.Client, optional
        Client of the cluster; by default the one that was created last.

    Attributes
    ----------
    classes_, composition_, scheme_, binaries_, estimators_, out_of_fold_score_, n_features_in_, …
        As in `PolytomyClassifier`.
    n_samples_ : int
        Number of rows of the training data.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None):
    ...     classifier = DaskPolytomyClassifier("svc C=10", "one-vs-rest", random_state=0)
    ...     classifier.fit(da.from_array(X[::2], (30, 4)), da.from_array(y[::2], 30))
    ...     classifier.predict_proba(da.from_array(X[[1, 77, 133]])).compute().round(2)
    DaskPolytomyClassifier(estimator='svc C=10', random_state=0, scheme='one-vs-rest')
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.54, 0.46],
           [0.  , 0.36, 0.64]])
    """

    verbose: int
    class_weight: Mapping[Any, float] | str | None
    prediction_dtype: Any
    max_sides: int | None
    design_rows: int
    client: Any

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        given = _SIGNATURE.bind(self, *arguments, **parameters)
        given.apply_defaults()
        for name, value in given.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = _SIGNATURE  # type: ignore[attr-defined]

    @undone_if_interrupted
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the binaries of the scheme on the cluster.

        If a worker is lost, its tasks are run again elsewhere. If the scheduler is lost, this
        raises ClusterError.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features), or a list of delayed parts
            Chunks of unknown size and empty partitions are allowed.
        y : dask array or series of labels, or a list of delayed parts, divided like X
        sample_weight : dask array or series, or a list of delayed parts, optional
        """
        self.__dict__.pop("composition_", None)
        check_parameters(self, _CHECKS)
        estimator = resolve_estimator(self.estimator)
        if takes_pairwise_values(estimator):
            raise ArgumentError(
                Argument("estimator", estimator),
                " needs kernel values of all pairs of samples, which are not divided among workers."
                " Use PolytomyClassifier.",
            )
        if isinstance(self.scheme, str) and self.scheme == LIMITED:
            raise ArgumentError(
                Argument("scheme", LIMITED),
                " compares designs in one process. Use PolytomyClassifier, or a design such as ",
                Argument("scheme", "blocks"),
                ".",
            )
        client = find_client(self.client)
        parts = make_parts(X, y, sample_weight)
        with explaining_faults(client):
            with self._progress(len(parts), "grouping rows") as bar:
                data = group_rows_by_class(client, parts, bar.trained)
            self._note_features(data.layout)
            self.class_order_ = find_known_order(self.scheme, y, self.classes_, self.class_order)
            take_sample = cache(partial(self._take_sample, data))
            scheme = self._make_scheme(estimator, take_sample)
            for member in members_of(scheme):
                check_solver(member, self.solver)
            plan = plan_training([scheme], self.classes_, estimator, self.models)
            with self._progress(count_models(plan.dichotomies), "training") as bar:
                trained = train_binaries(
                    data,
                    plan.dichotomies,
                    self._options(data.layout.n_rows, has_weights=sample_weight is not None),
                    self.class_weight,
                    take_sample,
                    bar,
                )
        self.composition_ = plan.compose(trained, self.solver, self.prediction_dtype)
        return self

    def to_local(self) -> PolytomyClassifier:
        """Return a `PolytomyClassifier` with the same parameters and, if fitted, the same model."""
        parameters = self.get_params(deep=False)
        del parameters["design_rows"], parameters["client"]
        local = PolytomyClassifier(**parameters)
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(local, name, value)
        return local

    def _note_features(self, layout: Layout) -> None:
        self.classes_ = layout.classes
        self.n_features_in_ = layout.n_features
        self.n_samples_ = layout.n_rows
        self.__dict__.pop("feature_names_in_", None)
        if layout.feature_names is not None:
            self.feature_names_in_ = layout.feature_names

    def _take_sample(self, data: GroupedData) -> RowBlock:
        """Return a sample of the rows, for designs and transformers."""
        (seed,) = partition_seeds(self.random_state, 1)
        seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        return data.sample(self.design_rows, seed)

    def _make_scheme(
        self, estimator: Any, take_sample: Callable[[], RowBlock]
    ) -> Scheme | SchemeEnsemble:
        scheme, samples, labels = self.scheme, None, None
        if needs_data(scheme, self.classes_.tolist(), self.class_order_):
            block = take_sample()
            samples, class_indices = block.X, block.class_indices
            labels = self.classes_[class_indices]
            if isinstance(scheme, str) and scheme == "auto":
                scheme = choose_scheme(
                    samples,
                    labels,
                    estimator,
                    self.solver,
                    make_training_options(
                        self, "fit", block.weight, {}, self.classes_, class_indices
                    ),
                    models=self.models,
                    progress=progress_bar if self.verbose else None,
                    class_order=self.class_order_,
                )
        return scheme_from(
            scheme,
            self.classes_,
            X=samples,
            y=labels,
            random_state=self.random_state,
            class_order=self.class_order_,
            max_sides=self.max_sides or class_limit(estimator),
        )

    def _options(self, n_rows: int, *, has_weights: bool) -> TrainingOptions:
        """Return the training options, without those that belong to rows."""
        nothing = np.empty(0, dtype=np.intp)
        # Any value can stand for the weights, to find out which estimators request them.
        marker = nothing if has_weights else None
        options = make_training_options(self, "fit", marker, {}, self.classes_, nothing)
        requests = [options.arguments, *options.arguments_by_model.values()]
        if has_weights and any(each.given_weight is None for each in requests):
            raise ArgumentError(
                "sample_weight must be requested by all estimators, or by none: see "
                "set_fit_request of scikit-learn's metadata routing."
            )
        return replace(options.without_rows(), cv=choose_folds(self.cv, n_rows))

    def _progress(self, n_steps: int, verb: str) -> AbstractContextManager[TrainingListener]:
        return progress_bar(n_steps, verb) if self.verbose else nullcontext(TrainingListener())

    # -- copies, which keep the client, and pickles, which cannot --------------------------------

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __sklearn_clone__(self) -> Self:
        other = copy.copy(self)
        other.client = None
        other = super(DaskPolytomyClassifier, other).__sklearn_clone__()
        other.client = self.client
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}


# -- folders of data files -------------------------------------------------------------------------


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
