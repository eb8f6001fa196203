"""Models that take only a few classes: `max_sides`, the scheme "limited", and the plan of a fit."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polytomy as pt
from polytomy import ArgumentError, PolytomyClassifier


class Few(ClassifierMixin, BaseEstimator):
    """A classifier that refuses more than ten classes, and counts what is asked of it."""

    fits = 0
    calls: ClassVar[list[int]] = []
    seeds: ClassVar[list[object]] = []
    seen: ClassVar[list[object]] = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None, mode=None):
        if len(np.unique(y)) > 10:
            raise ValueError(f"Number of classes {len(np.unique(y))} exceeds the maximum, 10.")
        Few.fits += 1
        Few.seeds.append(self.random_state)
        Few.seen.append((X, sample_weight, mode))
        self.classes_ = np.unique(y)
        self.model_ = GaussianNB(var_smoothing=1e-2).fit(to_numbers(X), y, sample_weight)
        return self

    def predict_proba(self, X):
        Few.calls.append(len(X))
        return self.model_.predict_proba(to_numbers(X))

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def to_numbers(X):
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not isinstance(X, pd.DataFrame):
        return np.nan_to_num(np.asarray(X, dtype=float))
    columns = [
        values.fillna(0) if pd.api.types.is_numeric_dtype(values) else pd.factorize(values)[0]
        for _, values in X.items()
    ]
    return np.column_stack(columns).astype(float)


@pytest.fixture(autouse=True)
def forget_counts():
    Few.fits, Few.calls, Few.seeds, Few.seen = 0, [], [], []


def make_classes(n_classes, n_each=12, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=3.0, size=(n_classes, n_features))
    y = np.repeat(np.arange(n_classes), n_each)
    X = centres[y] + rng.normal(size=(len(y), n_features))
    order = rng.permutation(len(y))
    return X[order], y[order]


def sides_of(composition):
    return [len(each.partition.sides) for each in composition.dichotomies if each.is_counted]


@pytest.mark.parametrize("n_classes", [11, 19, 101])
def test_a_model_of_ten_classes_separates_more(n_classes):
    X, y = make_classes(n_classes, n_each=8)
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0).fit(X, y)
    assert max(sides_of(classifier.composition_)) <= 10
    fresh, labels = make_classes(n_classes, n_each=3)
    probabilities = classifier.predict_proba(fresh)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.shape == (len(fresh), n_classes)
    # The same centres, other noise: far above chance.
    assert np.mean(classifier.predict(X) == y) > 0.5
    assert labels.max() == n_classes - 1


@pytest.mark.parametrize(("n_classes", "most_fits"), [(26, 112), (100, 168)])
def test_the_number_of_fits_is_bounded_and_told(n_classes, most_fits):
    # 14 times the models of a cover: max(⌈n/9⌉, 4 ⌈log10 n⌉)
    X, y = make_classes(n_classes, n_each=9)
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0)
    planned = pt.plan(classifier, X, y)
    classifier.fit(X, y)
    assert Few.fits == planned.n_fits <= most_fits
    assert planned.n_fits == planned.n_models * (1 + planned.n_folds)


def test_up_to_the_limit_the_model_itself_is_used():
    X, y = make_classes(9)
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0).fit(X, y)
    assert sides_of(classifier.composition_) == [9]
    assert pt.plan(classifier, X, y).n_models == len(classifier.estimators_) == 1


def test_without_a_limit_the_message_asks_for_one():
    X, y = make_classes(12)
    message = (
        r'^scheme="limited" needs the number of classes that a model takes, which Few does not '
        r"state as max_classes, .*\. Use max_sides=10, for example\.$"
    )
    with pytest.raises(ArgumentError, match=message):
        PolytomyClassifier(Few(), "limited").fit(X, y)


def test_a_model_that_refuses_its_classes_is_answered_with_the_way_out():
    X, y = make_classes(12)
    message = (
        r'^Few did not accept the 12 sides of partition "direct-00": Number of classes 12 exceeds '
        r'the maximum, 10\. If it takes fewer classes, say how many: scheme="limited", '
        r"max_sides=10\.$"
    )
    with pytest.raises(ArgumentError, match=message):
        PolytomyClassifier(Few(), "direct").fit(X, y)


@pytest.mark.parametrize("name", ["max_classes", "max_num_classes", "MAX_NUMBER_OF_CLASSES"])
def test_the_limit_is_read_from_the_model(name):
    X, y = make_classes(12)
    model = type("Limited", (GaussianNB,), {name: 5})()
    for estimator in (model, make_pipeline(StandardScaler(), model)):
        classifier = PolytomyClassifier(estimator, "limited", random_state=0).fit(X, y)
        assert max(sides_of(classifier.composition_)) <= 5


class Configured(GaussianNB):
    """Loads what it knows into itself when it is asked for its limit, as TabPFN does."""

    def get_inference_config(self):
        self.loaded_ = True
        return type("Configuration", (), {"MAX_NUMBER_OF_CLASSES": 6})()


def test_the_limit_is_read_from_an_inference_configuration_and_the_model_stays_as_it_is():
    X, y = make_classes(12)
    model = Configured()
    for estimator in (model, make_pipeline(StandardScaler(), CalibratedClassifierCV(model, cv=2))):
        classifier = PolytomyClassifier(estimator, "limited", random_state=0).fit(X, y)
        assert max(sides_of(classifier.composition_)) <= 6
    assert vars(model) == vars(GaussianNB())


def test_a_fitted_model_is_only_calibrated():
    X, y = make_classes(12)
    model = Configured().fit(X, y)
    classifier = PolytomyClassifier(FrozenEstimator(model), "limited").fit(X, y)
    assert sides_of(classifier.composition_) == [12]
    assert pt.plan(classifier, X, y).summary == str(pt.plan(classifier, X, y))
    assert pt.plan(classifier, X, y).n_fits == 0


@pytest.mark.parametrize("max_sides", [1, 2.5, "ten", True])
def test_a_limit_that_is_none_is_refused(max_sides):
    X, y = make_classes(3)
    with pytest.raises(ArgumentError, match=r"^max_sides must be a whole number of sides"):
        PolytomyClassifier(Few(), max_sides=max_sides).fit(X, y)


@pytest.mark.parametrize(
    "scheme",
    ["one-vs-one", "n-ary", "blocks", "cover", "cluster-tree", "cluster-trees", "tree", "auto"],
)
def test_no_design_makes_a_partition_with_more_sides(scheme):
    X, y = make_classes(12, n_each=10)
    estimator = GaussianNB(var_smoothing=1e-2)
    classifier = PolytomyClassifier(estimator, scheme, max_sides=5, random_state=0).fit(X, y)
    assert max(sides_of(classifier.composition_)) <= 5


def test_designs_with_sides_use_all_that_are_allowed():
    X, y = make_classes(12)
    for scheme in ("n-ary", "blocks", "cover"):
        classifier = PolytomyClassifier(Few(), scheme, max_sides=5, random_state=0).fit(X, y)
        assert max(sides_of(classifier.composition_)) == 5


@pytest.mark.parametrize(("n_classes", "most", "way"), [(4, 3, "one-vs-one"), (12, 10, "blocks")])
def test_a_scheme_with_too_many_sides_is_refused(n_classes, most, way):
    # @blocks has up to ten sides, so it is no way out for a model that takes fewer.
    X, y = make_classes(n_classes)
    labels = " ".join(map(str, range(n_classes)))
    message = (
        rf'^partition "land" has {n_classes} sides, more than max_sides={most}\. Use '
        rf'scheme="limited", or @{way} in place of the partition\.$'
    )
    with pytest.raises(ArgumentError, match=message):
        PolytomyClassifier(Few(), f"land {{{labels}}}", max_sides=most).fit(X, y)
    PolytomyClassifier(Few(), f"@{way} {{{labels}}}", max_sides=most).fit(X, y)


@pytest.mark.parametrize("scheme", [{"land": list(range(7)), "water": list(range(7, 12))}, "paths"])
def test_large_nodes_of_a_hierarchy_are_divided_into_blocks(scheme):
    X, y = make_classes(12)
    if scheme == "paths":
        y = np.array(["land/", "water/"])[(y > 6).astype(int)] + y.astype(str).astype(object)
    classifier = PolytomyClassifier(Few(), scheme, max_sides=5, random_state=0).fit(X, y)
    # Four groups of seven classes, two or one in each: all pairs of these are blocks.
    assert len(sides_of(classifier.composition_)) <= 1 + 6 + 1
    assert max(sides_of(classifier.composition_)) == 5


@pytest.mark.parametrize("pool", [None, 2])
def test_a_search_heeds_the_limit(pool):
    X, y = make_classes(12)
    inner = PolytomyClassifier(GaussianNB(), max_sides=5)
    search = pt.SchemeSearchCV(inner, ["n-ary", "blocks"], cv=2, pool=pool, random_state=0)
    assert max(sides_of(search.fit(X, y).best_estimator_.composition_)) == 5


def test_beyond_the_limit_auto_is_limited():
    X, y = make_classes(12)
    limited = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0)
    automatic = clone(limited).set_params(scheme="auto")
    assert pt.plan(automatic, X, y) == pt.plan(limited, X, y)
    np.testing.assert_array_equal(
        automatic.fit(X, y).predict_proba(X), limited.fit(X, y).predict_proba(X)
    )


def test_only_designs_that_the_solver_can_solve_are_trained():
    X, y = make_classes(12)
    classifier = PolytomyClassifier(Few(), "limited", solver="greedy", max_sides=10, random_state=0)
    assert {each.name.partition(".")[0] for each in pt.plan(classifier, X, y).models} <= {
        *("cluster", "cluster-1", "cluster-2", "cluster-3")
    }
    assert np.mean(classifier.fit(X, y).predict(X) == y) > 0.5
    Few.fits = 0
    with pytest.raises(ArgumentError, match=r'^solver="price" needs a one-vs-one code'):
        classifier.set_params(solver="price").fit(X, y)
    assert Few.fits == 0


def test_predict_asks_each_model_once_and_refits_none():
    X, y = make_classes(19)
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0).fit(X, y)
    Few.fits, Few.calls = 0, []
    classifier.predict_proba(X)
    assert Few.fits == 0
    assert Few.calls == [len(X)] * len(classifier.estimators_)


def test_the_answers_do_not_depend_on_jobs():
    X, y = make_classes(12)
    alone = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0).fit(X, y)
    with parallel_config("threading"):
        jobs = clone(alone).set_params(n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(alone.predict_proba(X), jobs.predict_proba(X))


def test_frames_with_categories_text_and_missing_values_reach_the_model_untouched():
    X, y = make_classes(14)
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    frame["kind"] = pd.Categorical(np.where(y % 2, "odd", "even"))
    frame["text"] = np.array(["low", "high"], dtype=object)[(y > 6).astype(int)]
    frame.loc[::7, "f0"] = np.nan
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0).fit(frame, y)
    for part, _, _ in Few.seen:
        assert isinstance(part, pd.DataFrame)
        assert list(part.columns) == list(frame.columns)
        assert part.dtypes.equals(frame.dtypes)
        pd.testing.assert_frame_equal(part, frame.loc[part.index])
    assert classifier.predict_proba(frame).shape == (len(y), 14)


def test_polars_frames_with_dates_reach_the_model_untouched():
    polars = pytest.importorskip("polars")
    X, y = make_classes(14)
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(y, unit="D")
    frame.loc[::7, "day"] = pd.NaT
    frame["kind"] = np.where(y % 2, "odd", "even")
    given = polars.from_pandas(frame)
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0).fit(given, y)
    assert {part.schema == given.schema for part, _, _ in Few.seen} == {True}
    assert classifier.predict_proba(given).shape == (len(y), 14)


def test_weights_parameters_of_fit_and_seeds_reach_the_models():
    X, y = make_classes(12)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0)
    classifier.fit(X, y, sample_weight=weight, mode="fast")
    for part, own, mode in Few.seen:
        rows = [int(np.flatnonzero((sample == X).all(axis=1))[0]) for sample in part]
        np.testing.assert_array_equal(own, weight[rows])
        assert mode == "fast"
    assert None not in Few.seeds
    assert len(set(Few.seeds)) > 1


def test_a_limited_classifier_survives_saving(tmp_path):
    X, y = make_classes(12)
    classifier = PolytomyClassifier(GaussianNB(), "limited", max_sides=10, random_state=0)
    classifier.fit(X, y)
    pt.save(classifier, tmp_path / "model.polytomy")
    loaded = pt.load(tmp_path / "model.polytomy")
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))


def test_what_is_chosen_has_the_lowest_out_of_fold_log_loss():
    X, y = make_classes(12, n_each=20)
    estimator = KNeighborsClassifier(5)
    limited = PolytomyClassifier(estimator, "limited", max_sides=6, random_state=0).fit(X, y)
    others = [
        PolytomyClassifier(estimator, scheme, max_sides=6, random_state=0).fit(X, y)
        for scheme in ("cluster-tree", "cluster-trees n_trees=4", "blocks", "n-ary rows=8")
    ]
    losses = [each.out_of_fold_score_["log_loss"] for each in others]
    assert limited.out_of_fold_score_["log_loss"] == pytest.approx(min(losses))


def test_without_a_final_calibration_there_is_none():
    X, y = make_classes(12)
    classifier = PolytomyClassifier(
        Few(), "limited", max_sides=10, random_state=0, final_calibration=None
    ).fit(X, y)
    assert classifier.composition_.final is None


def test_a_plan_tells_models_sides_rows_and_folds():
    X, y = make_classes(12, n_each=10)
    classifier = PolytomyClassifier(Few(), "blocks", max_sides=10, random_state=0)
    planned = pt.plan(classifier, X, y)
    assert not hasattr(classifier, "classes_")
    assert Few.fits == 0
    assert planned.n_models == 3
    assert [each.n_rows for each in planned.models] == [
        10 * each.n_sides for each in planned.models
    ]
    assert planned.n_folds == 5  # 120 rows: all of them are held out once
    assert str(planned).splitlines()[0] == planned.summary
    most = max(each.n_sides for each in planned.models)
    assert planned.summary == f"3 models of up to {most} sides, 5 folds, 18 fits"
    assert len(str(planned).splitlines()) == 5
    classifier.fit(X, y)
    assert Few.fits == planned.n_fits


def test_a_plan_of_binaries_counts_pairs():
    X, y = make_classes(5)
    classifier = PolytomyClassifier(LogisticRegression(), final_calibration=None)
    assert pt.plan(classifier, X, y).summary == "10 models of up to 2 sides, 0 folds, 10 fits"


def test_a_plan_of_auto_is_what_is_compared_and_trains_nothing():
    X, y = make_classes(12)
    planned = pt.plan(PolytomyClassifier(Few(), "auto", random_state=0), X, y)
    # One-vs-one, an orthogonal code, the model itself and an n-ary code.
    assert Few.fits == 0
    assert planned.n_schemes == 4
    assert planned.n_models > 66 + 1
    assert planned.summary.endswith(" fits, then those of the chosen scheme again")


def test_a_plan_needs_a_polytomy_classifier():
    X, y = make_classes(3)
    with pytest.raises(ArgumentError, match=r"^classifier must be a PolytomyClassifier; got a Few"):
        pt.plan(Few(), X, y)


def test_a_verbose_fit_shows_the_plan_and_counts_models(capsys):
    X, y = make_classes(12)
    classifier = PolytomyClassifier(Few(), "limited", max_sides=10, random_state=0, verbose=1)
    classifier.fit(X, y)
    shown, planned = " ".join(capsys.readouterr().err.split()), pt.plan(classifier, X, y)
    assert planned.summary in shown
    assert f" {planned.n_models}/{planned.n_models} " in shown


def test_the_text_of_a_composition_counts_models_not_sides():
    X, y = make_classes(12)
    classifier = PolytomyClassifier(Few(), "blocks", max_sides=10, random_state=0).fit(X, y)
    assert repr(classifier.composition_).startswith("<Composition of 3 models for 12 classes")
    assert len(classifier.estimators_) == 3
