"""Random combinations of learner, scheme, solver, calibrations, weights and data.

A combination is a function of its number, so that one that fails can be run again alone. Its fields
are names, which say what is combined; the data, the scheme and the classifier are made from them.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix, csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import (
    KNeighborsClassifier,
    NearestCentroid,
    RadiusNeighborsClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from polytomy.designs import DATA_DESIGNS, DESIGNS, ENSEMBLES, LABEL_DESIGNS
from polytomy.solvers import METHODS

# -- learners --------------------------------------------------------------------------------------


class PredictsOnly(ClassifierMixin, BaseEstimator):
    """A classifier that has neither probabilities nor decision values: the nearest class mean."""

    def fit(self, X, y):
        self.model_ = NearestCentroid().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


class DecidesOnly(ClassifierMixin, BaseEstimator):
    """A classifier of no known type that has decision values, and no probabilities."""

    def fit(self, X, y, sample_weight=None):
        self.model_ = RidgeClassifier().fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X)

    def predict(self, X):
        return self.model_.predict(X)


def _frozen(learner):
    """Return a function of training data that returns a model that was fitted to it."""
    return lambda X, y: FrozenEstimator(clone(learner).fit(X, y))


# Estimators, or functions of the training data that return one.
LEARNERS = {
    "default": None,
    "rbf": SVC(C=10, gamma=0.3),
    "rbf of each scale": SVC(gamma="scale", class_weight="balanced"),
    "linear kernel": SVC(kernel="linear"),
    "polynomial": SVC(kernel="poly", degree=2, gamma=0.5, coef0=1),
    "homogeneous cubic": SVC(kernel="poly", gamma="auto"),
    "tanh": SVC(kernel="sigmoid", gamma=0.1),
    "own kernel": SVC(kernel=linear_kernel),
    "nu": NuSVC(nu=0.2, gamma="auto"),
    "specification": "svc C=2 gamma=0.5",
    "options of LIBSVM": "-t 1 -d 2 -g 0.1 -c 4",
    "linear SVM": LinearSVC(),
    "logistic regression": LogisticRegression(max_iter=50),
    "ridge": RidgeClassifier(),
    "SGD": SGDClassifier(max_iter=20, tol=None),
    "perceptron": Perceptron(max_iter=20, tol=None),
    "discriminant analysis": LinearDiscriminantAnalysis(solver="lsqr"),
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(n_estimators=3, max_depth=3, bootstrap=False),
    "boosting": HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
    "neighbours": KNeighborsClassifier(n_neighbors=2),
    "naive Bayes": GaussianNB(),
    "most frequent": DummyClassifier(),
    "predicts only": PredictsOnly(),
    "decides only": DecidesOnly(),
    "scaled rbf": make_pipeline(StandardScaler(), SVC(gamma=0.5)),
    "scaled linear": make_pipeline(MinMaxScaler(), LinearSVC()),
    "scaled logistic": make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=50)),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=50)),
    "imputed rbf": make_pipeline(SimpleImputer(strategy="median"), SVC()),
    "components": make_pipeline(PCA(1), KNeighborsClassifier(n_neighbors=1)),
    "binned": make_pipeline(KBinsDiscretizer(2, encode="ordinal"), GaussianNB()),
    "selected": make_pipeline(SelectKBest(k=1), SVC(kernel="poly", degree=2)),
    "expanded": make_pipeline(PolynomialFeatures(), RidgeClassifier()),
    "columns": make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include=float)), remainder="passthrough"
        ),
        LogisticRegression(max_iter=50),
    ),
    "voting": VotingClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier())]),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
    "radius": RadiusNeighborsClassifier(outlier_label="most_frequent"),
    "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.5),
    "one against rest": OneVsRestClassifier(LinearSVC()),
    "searched": GridSearchCV(SVC(), {"C": [10]}, cv=2),
    "composition": pt.PolytomyClassifier(LinearSVC(), final_calibration=None, cv=2),
    "frozen rbf": _frozen(SVC()),
    "frozen logistic": _frozen(LogisticRegression(max_iter=50)),
    "frozen tree": _frozen(DecisionTreeClassifier(max_depth=2, random_state=0)),
}

FOR_SMALL_FEATURES = {
    "linear kernel", "polynomial", "homogeneous cubic", "own kernel", "options of LIBSVM",
    "selected", "expanded",
}  # fmt: skip
"""Learners that need minutes, or give rounding errors, if the features are large."""

TAKES_MISSING = {"imputed", "imputed rbf", "boosting", "tree", "forest"}
"""Learners for samples with missing values."""

PAIRWISE_MACHINES = {
    "rbf", "linear kernel", "polynomial", "homogeneous cubic", "tanh", "own kernel"
}  # fmt: skip
"""Machines that scikit-learn trains for the pairs of classes just as for two classes."""


# -- labels ----------------------------------------------------------------------------------------

LABELS = {
    "numbers": lambda n: np.arange(n),
    "numbers from 1": lambda n: np.arange(1, n + 1),
    "negative": lambda n: -np.arange(n, dtype=np.int8) * 3,
    "unsigned": lambda n: np.arange(n, dtype=np.uint64) * 7 + 250,
    "whole floats": lambda n: np.arange(n) * 2.0 - 1,
    "bool": lambda n: np.array([False, True])[:n],
    "halves": lambda n: np.arange(n) + 0.5,
    "dates": lambda n: np.datetime64("2024-02-27") + np.arange(n),
    "text": lambda n: np.array(["corn", "wheat", "oak", "pine", "a", "red soil"])[:n],
    "text of many kinds": lambda n: np.array(["a b", 'x"y', "{", "#", "", "Straße"])[:n],
    "objects": lambda n: np.array(["oak", "maple tree", "b", "", "ä", "%"], dtype=object)[:n],
    "numbers as text": lambda n: np.array(["10", "9", "-1", "07", "1.5", "True"])[:n],
    "paths": lambda n: np.array(["a/b", "a/c", "d/e/f", "d/e/g", "d/h", "i"])[:n],
}
"""Functions of the number of classes that return their labels."""

LABEL_CONTAINERS = {
    "array": lambda y: y,
    "list": lambda y: y.tolist(),
    "series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "nullable series": lambda y: pd.Series(y).convert_dtypes(),
    "categorical": lambda y: pd.Series(pd.Categorical(y)),
    "column of a frame": lambda y: pd.DataFrame({"y": y, "z": 0})["y"],
}


# -- samples ---------------------------------------------------------------------------------------


def _keep(X, y, rng):
    return X, y


def _add_constant(X, y, rng):
    return np.column_stack([X, np.full(len(X), rng.choice([0.0, 1.0, -7.3]))]), y


def _only_constant(X, y, rng):
    return np.full_like(X, rng.choice([0.0, 1.0, 0.1])), y


def _repeat(X, y, rng):
    rows = rng.integers(0, max(2, len(X) // 3), len(X))
    return X[rows], y  # the same samples in several classes


def _take_few(n_rows):
    """Return a function that keeps at most `n_rows` samples of each class."""

    def take(X, y, rng):
        rows = np.concatenate([np.flatnonzero(y == k)[:n_rows] for k in np.unique(y)])
        return X[rows], y[rows]

    return take


def _make_rare(X, y, rng):
    rows = (y != y.max()) | (np.cumsum(y == y.max()) <= 1)
    return X[rows], y[rows]


def _sort(X, y, rng):
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def _separate(X, y, rng):
    return X + 50.0 * y[:, None], y


def _round(X, y, rng):
    return np.round(X), y


def _spread_scales(X, y, rng):
    return X * 10.0 ** rng.integers(-8, 9, X.shape[1]), y


def _take_one_feature(X, y, rng):
    return X[:, :1], y


def _widen(X, y, rng):
    return np.hstack([X, rng.normal(size=(len(X), 40))]), y


def _forget_some(X, y, rng):
    """Only for learners that take missing values; the first row is whole."""
    is_missing = rng.random(X.shape) < 0.1
    is_missing[0] = False
    return np.where(is_missing, np.nan, X), y


SHAPES = {
    "plain": _keep,
    "constant column": _add_constant,
    "only constants": _only_constant,
    "duplicates": _repeat,
    "one row a class": _take_few(1),
    "two rows a class": _take_few(2),
    "three rows a class": _take_few(3),
    "rare class": _make_rare,
    "sorted": _sort,
    "far apart": _separate,
    "rounded": _round,
    "features of many scales": _spread_scales,
    "one feature": _take_one_feature,
    "more features than rows": _widen,
    "missing values": _forget_some,
}
"""What is done to ordinary samples, given class indices and a generator."""


def _lock(X):
    locked = X.copy()
    locked.flags.writeable = False
    return locked


LARGE_SHAPES = {"far apart", "features of many scales"}
"""Shapes with features much larger than one."""

CONTAINERS = {
    "array": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "columns in a row": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "list": lambda X: X.tolist(),
    "sparse": lambda X: csr_array(X * (np.abs(X) > 0.3 * np.abs(X).max())),
    "sparse columns": csc_matrix,
    "frame": lambda X: pd.DataFrame(X, columns=[f"feature {k}" for k in range(X.shape[1])]),
    "frame of singles": lambda X: pd.DataFrame(X.astype(np.float32)).rename(columns=str),
    "nullable frame": lambda X: pd.DataFrame(X).rename(columns=str).astype("Float64"),
    "objects": lambda X: X.astype(object),
    "truths": lambda X: np.nanmedian(X) < X,
    "read-only": _lock,
    "whole numbers": lambda X: np.clip(np.round(np.nan_to_num(X)), -1e9, 1e9).astype(np.int64),
}

FEW_VALUES = {"duplicates", "rounded", "truths", "whole numbers"}
"""Shapes and containers whose features have few values."""

SAME_AS_ARRAY = {
    "columns in a row", "every other row", "list", "frame", "nullable frame", "objects", "read-only"
}  # fmt: skip
"""Containers of the same numbers."""

SCALES = (1.0, 1e-3, 1e4, 1e-9, 1e9, 1e-20, 1e15)

WEIGHTS = {
    "none": lambda n, rng: None,
    "ones": lambda n, rng: np.ones(n),
    "random": lambda n, rng: rng.uniform(0.1, 3, n),
    "whole": lambda n, rng: rng.integers(1, 4, n),
    "some zero": lambda n, rng: rng.integers(0, 3, n).astype(float),
    "tiny": lambda n, rng: np.full(n, 1e-6),
}


# -- schemes ---------------------------------------------------------------------------------------


def _write(label):
    """Return a label as control texts write it."""
    return json.dumps(label, ensure_ascii=False) if isinstance(label, str) else str(label)


_SHORT_FORMS = ("one-vs-one", "one-vs-rest", "adjacent", "chain", "orthogonal", "random", "direct")
_MODELS = ("m", '""', '"svc C=3"', '"logistic-regression"', '"C=5"')


def _write_mixture(classes, rng):
    """Return a control text of nested models and designs."""
    if len(classes) == 1:
        return _write(classes[0])
    n_branches = int(rng.integers(2, len(classes) + 1))
    cuts = np.sort(rng.choice(np.arange(1, len(classes)), n_branches - 1, replace=False))
    parts = np.split(np.array(classes, dtype=object), cuts)
    branches = " ".join(_write_mixture(part, rng) for part in parts)
    if rng.random() < 0.6:
        return f"@{rng.choice(_SHORT_FORMS)} {{{branches}}}"
    return f"{rng.choice(_MODELS[:3])} {{{branches}}}"


def _write_partitions(classes, rng):
    """Return a control text of random partitions with two sides or more."""
    lines = []
    for number in range(len(classes) + 1):
        sides = rng.integers(0, rng.integers(2, 5), len(classes))
        groups = [np.flatnonzero(sides == side) for side in np.unique(sides)]
        if len(groups) > 1:
            lines.append(f"p{number} {' / '.join(' '.join(map(str, each)) for each in groups)};")
    whole = " / ".join(map(str, range(len(classes))))
    return "\n".join([*lines, f"all {whole};", f"{{{' '.join(map(_write, classes))}}}"])


def _write_specifications(classes, rng):
    """Return a control text of pairs with estimators of their own."""
    pairs = [(i, j) for i in range(len(classes)) for j in range(i)]
    lines = [f"{rng.choice(_MODELS)} {i} / {j};" for i, j in pairs]
    return "\n".join([*lines, f"{{{' '.join(map(_write, classes))}}}"])


def _make_hierarchy(classes, rng):
    middle = int(rng.integers(1, len(classes)))
    return {"first": list(classes[:middle]), "second": list(classes[middle:])}


def _make_matrix(classes, rng):
    rows = rng.choice([-1, 0, 1], (2 * len(classes), len(classes)), p=[0.4, 0.2, 0.4])
    whole = 2 * np.eye(len(classes), dtype=int) - 1
    return np.vstack([whole, rows[(rows.max(axis=1) > 0) & (rows.min(axis=1) < 0)]])


def _flatten_tree(classes, rng):
    return pt.designs.random_tree(classes, random_state=int(rng.integers(9))).flatten()


def _make_ensemble(classes, rng):
    schemes = [pt.designs.random_tree(classes, random_state=seed) for seed in (0, 1)]
    return pt.SchemeEnsemble([*schemes, pt.designs.one_vs_rest(classes)])


def _make_later(classes, rng):
    return _make_from_data


def _make_from_data(X, y):
    return pt.designs.one_vs_rest(np.unique(y))


WRITTEN = {
    "mixture": _write_mixture,
    "partitions": _write_partitions,
    "specifications": _write_specifications,
    "hierarchy": _make_hierarchy,
    "matrix": _make_matrix,
    "flattened tree": _flatten_tree,
    "ensemble": _make_ensemble,
    "function": _make_later,
}
"""Schemes of these tests: functions of the labels and a generator."""

NAMED = (*DESIGNS, *LABEL_DESIGNS, *DATA_DESIGNS, *ENSEMBLES, "ordered", "auto")


# -- combinations ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Combination:
    """What is combined, by name."""

    number: int
    learner: str
    scheme: str
    solver: str
    calibration: str | None
    final_calibration: str | None
    cv: int | float | str
    weights: str
    class_weight: str | None
    shape: str
    scale: float
    container: str
    labels: str
    label_container: str
    n_classes: int
    prediction_dtype: str
    shared_preprocessing: bool
    memory_budget: float | None
    has_class_order: bool

    @classmethod
    def draw(cls, number):
        """Return the combination with a number."""
        rng = np.random.default_rng(number)

        def usually(common, others, chance=0.6):
            return common if rng.random() < chance else _choose(rng, list(others))

        learner = _choose(rng, list(LEARNERS))
        scheme = _choose(rng, [*NAMED, *WRITTEN, *["one-vs-one"] * 4])
        if scheme == "one-vs-one" and rng.random() < 0.3:
            learner = _choose(rng, sorted(PAIRWISE_MACHINES))
        if learner.startswith("frozen"):
            scheme = usually("direct", [scheme], 0.8)
        labels = "paths" if scheme == "paths" else _choose(rng, list(LABELS))
        n_classes = 2 if labels == "bool" else _choose(rng, [1, *[2] * 5, *[3, 4, 5, 6] * 10])
        shape = usually("plain", [each for each in SHAPES if each != "missing values"], 0.4)
        if learner in TAKES_MISSING and rng.random() < 0.3:
            shape = "missing values"
        scale = usually(1.0, SCALES)
        if learner in FOR_SMALL_FEATURES:
            shape = "plain" if shape in LARGE_SHAPES else shape
            scale = min(scale, 1.0)
        return cls(
            number=number,
            learner=learner,
            scheme=scheme,
            solver=usually("auto", METHODS, 0.5),
            calibration=usually("auto", ["sigmoid", "isotonic", "temperature", None], 0.4),
            final_calibration=usually("auto", ["bias", "decoder", None], 0.4),
            cv=usually("auto", [2, 3, 0.3, 0.5]),
            weights=usually("none", sorted(WEIGHTS)),
            class_weight=usually(None, ["balanced", "balanced-per-partition"], 0.8),
            shape=shape,
            scale=scale,
            container=usually("array", CONTAINERS, 0.4),
            labels=labels,
            label_container=usually("array", LABEL_CONTAINERS),
            n_classes=n_classes,
            prediction_dtype=usually("float64", ["float32"], 0.85),
            shared_preprocessing=bool(rng.random() < 0.2),
            memory_budget=usually(None, [2e3], 0.9),
            has_class_order=bool(rng.random() < 0.15),
        )

    @cached_property
    def data(self):
        """Samples and labels to train with, and samples to predict: some known, some new."""
        rng = self._generator(1)
        y = np.concatenate([np.arange(self.n_classes)] * 3 + [rng.integers(0, self.n_classes, 24)])
        rng.shuffle(y)
        centres = rng.normal(size=(self.n_classes, 3)) * 2
        X, y = SHAPES[self.shape](centres[y] + rng.normal(size=(len(y), 3)), y, rng)
        new = X[rng.permutation(len(X))[:6]] + 0.3 * rng.normal(size=(min(6, len(X)), X.shape[1]))
        rows = np.vstack([X[:6], new]) * self.scale
        labels = np.sort(LABELS[self.labels](self.n_classes))[y]
        pack = CONTAINERS[self.container]
        return pack(X * self.scale), LABEL_CONTAINERS[self.label_container](labels), pack(rows)

    @property
    def classes(self):
        """The labels that occur, sorted."""
        return np.unique(np.asarray(self.data[1])).tolist()

    @property
    def sample_weight(self):
        """A weight for each training sample, or None."""
        X, _, _ = self.data
        n_rows = len(X) if isinstance(X, list) else X.shape[0]
        return WEIGHTS[self.weights](n_rows, self._generator(2))

    @property
    def is_ordinary(self):
        """Whether nothing about the combination is a reason to refuse it."""
        return (
            self.shape == "plain"
            and self.scale == 1.0
            and self.weights == "none"
            and self.class_weight is None
            and self.solver in ("auto", "least-squares", "divergence", "voting", "hamming")
            and self.calibration != "isotonic"  # only for two sides
            and self.scheme not in ("matrix", "paths", "specifications")
            and self.learner not in ("columns", "searched", "calibrated", "nu")
            and self.labels not in ("halves", "dates")
            and not (self.learner == "selected" and self.shared_preprocessing)  # it needs y
            and not self.learner.startswith("frozen")
            and not self.container.startswith("sparse")
            and self.container != "truths"
        )

    def make_scheme(self):
        """Return the argument `scheme`."""
        if self.scheme in WRITTEN and self.n_classes > 1:
            return WRITTEN[self.scheme](self.classes, self._generator(3))
        return self.scheme if self.scheme in NAMED else "one-vs-one"

    def make_classifier(self, **changes):
        """Return the classifier, not fitted."""
        X, y, _ = self.data
        learner = LEARNERS[self.learner]
        if callable(learner):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                learner = learner(X, y)
        order = None
        if self.has_class_order:
            order = self._generator(4).permutation(np.array(self.classes, dtype=object)).tolist()
        options = {
            "solver": self.solver,
            "calibration": self.calibration,
            "final_calibration": self.final_calibration,
            "cv": self.cv,
            "class_weight": self.class_weight,
            "prediction_dtype": self.prediction_dtype,
            "shared_preprocessing": self.shared_preprocessing,
            "memory_budget": self.memory_budget,
            "class_order": order,
            "random_state": self.number % 2**32,
        }
        return pt.PolytomyClassifier(learner, self.make_scheme(), **(options | changes))

    def _generator(self, purpose):
        return np.random.default_rng([self.number, purpose])


def _choose(rng, names):
    return names[int(rng.integers(len(names)))]
