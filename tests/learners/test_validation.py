"""Validation rows: every partition gets the rows of its own classes, with its own labels."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy import PolytomyClassifier, PolytomyRegressor, SchemeSearchCV
from polytomy.errors import ArgumentError
from polytomy.learners.validation import Validation, split_validation


class Boosting(ClassifierMixin, BaseEstimator):
    """Takes the arguments of XGBClassifier's fit, and keeps what it is given."""

    def fit(self, X, y, sample_weight=None, eval_set=None, sample_weight_eval_set=None):
        self.classes_ = np.unique(y)
        self.eval_set_, self.weights_ = eval_set, sample_weight_eval_set
        self.model_ = LogisticRegression().fit(X, y)
        for _, labels in eval_set:
            if not set(labels) <= set(self.classes_):
                raise ValueError("y contains previously unseen labels")
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Light(Boosting):
    """Takes the arguments of LGBMClassifier's fit, and keeps what it is given."""

    def fit(self, X, y, eval_X=None, eval_y=None, eval_sample_weight=None, eval_names=None):
        self.eval_X_, self.eval_y_, self.names_ = eval_X, eval_y, eval_names
        return super().fit(X, y, None, list(zip(eval_X, eval_y, strict=True)), eval_sample_weight)


class Iterations(Boosting):
    """Stops after as many iterations as it has rows to be scored on."""

    def __init__(self, n_estimators=1000, early_stopping_rounds=3, callbacks=None):
        self.n_estimators = n_estimators
        self.early_stopping_rounds = early_stopping_rounds
        self.callbacks = callbacks

    def fit(
        self, X, y, sample_weight=None, eval_set=(), sample_weight_eval_set=None, callbacks=None
    ):
        self.n_rows_, self.fit_callbacks_ = len(y), callbacks
        if eval_set:
            self.best_iteration = len(eval_set[0][1]) - 1
        return super().fit(X, y, sample_weight, eval_set, sample_weight_eval_set)


def clouds(seed, n=90):
    """Samples of three classes, whose number is also their last feature."""
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.arange(n) % 3)
    X = np.column_stack([rng.normal(size=(n, 2)) + 2 * numbers[:, np.newaxis], numbers])
    return X, np.array(["corn", "oak", "wheat"])[numbers]


X, Y = clouds(0)
X_VAL, Y_VAL = clouds(1, 60)


def fit(scheme, estimator=None, **options):
    estimator = Boosting() if estimator is None else estimator
    classifier = PolytomyClassifier(estimator, scheme=scheme, random_state=0)
    return classifier.fit(X, Y, **options)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_each_pair_of_classes_sees_its_own_rows_with_the_labels_of_its_sides(kind):
    classifier = fit("one-vs-one", eval_set=[(kind(X_VAL), Y_VAL), (kind(X), Y)])
    for dichotomy, binary in zip(
        classifier.composition_.dichotomies, classifier.binaries_, strict=True
    ):
        for (samples, labels), every in zip(binary.estimator.eval_set_, (Y_VAL, Y), strict=True):
            names = np.unique(Y)[[*dichotomy.negative, *dichotomy.positive]]
            numbers = np.asarray(samples)[:, -1].astype(int)
            assert len(labels) == np.isin(every, names).sum()
            np.testing.assert_array_equal(labels, np.isin(numbers, dichotomy.positive))


def test_weights_of_validation_rows_follow_their_rows():
    weight = X_VAL[:, 0]
    classifier = fit("one-vs-rest", eval_set=[(X_VAL, Y_VAL)], sample_weight_eval_set=[weight])
    pairs = fit("one-vs-one", eval_set=[(X_VAL, Y_VAL)], sample_weight_eval_set=[weight])
    for binary in [*classifier.binaries_, *pairs.binaries_]:
        ((samples, _),), (own,) = binary.estimator.eval_set_, binary.estimator.weights_
        np.testing.assert_array_equal(own, samples[:, 0])


def test_a_model_of_several_sides_gets_the_numbers_of_its_sides():
    classifier = fit("direct", eval_set=[(X_VAL, Y_VAL)])
    ((samples, labels),) = classifier.estimators_[0].eval_set_
    np.testing.assert_array_equal(labels, samples[:, -1])


def test_a_single_pair_is_a_list_of_one():
    classifier = fit("one-vs-rest", eval_set=(X_VAL, Y_VAL))
    ((_, labels),) = classifier.binaries_[0].estimator.eval_set_
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("is_tuple", [True, False])
def test_samples_and_labels_can_be_two_arguments(is_tuple):
    weight, names = X_VAL[:, 0], ["held-out"]
    samples, labels = ((X_VAL,), (Y_VAL,)) if is_tuple else (X_VAL, Y_VAL)
    classifier = fit(
        "one-vs-one",
        Light(),
        eval_X=samples,
        eval_y=labels,
        eval_sample_weight=[weight],
        eval_names=names,
    )
    for pair, binary in zip(combinations(range(3), 2), classifier.binaries_, strict=True):
        model, is_own = binary.estimator, np.isin(X_VAL[:, -1], pair)
        np.testing.assert_array_equal(model.eval_X_[0], X_VAL[is_own])
        np.testing.assert_array_equal(model.eval_y_[0], X_VAL[is_own, -1] == pair[1])
        np.testing.assert_array_equal(model.weights_[0], weight[is_own])
        assert model.names_ == names


@given(st.data(), st.integers(2, 6))
def test_rows_of_a_partition_have_the_targets_of_their_classes(data, n_classes):
    rows = st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=20)
    target_of = data.draw(
        st.dictionaries(st.integers(0, n_classes - 1), st.integers(0, 3), min_size=1)
    )
    trained_on = np.array([*target_of, *data.draw(st.lists(st.sampled_from(list(target_of))))])
    y = np.array([*data.draw(rows), next(iter(target_of))])
    given_rows = Validation("eval_set", (np.arange(len(y)),), (y,), {"w": (np.arange(len(y)),)})
    targets = np.array([target_of[k] for k in trained_on])
    own = given_rows.of_partition(trained_on, targets, "any")
    expected = [row for row, k in enumerate(y) if k in target_of]
    assert own.X[0].tolist() == own.values["w"][0].tolist() == expected
    assert own.y[0].tolist() == [target_of[k] for k in y[expected]]


def test_early_stopping_of_histogram_boosting_uses_the_rows():
    estimator = HistGradientBoostingClassifier(
        max_iter=30, early_stopping=True, n_iter_no_change=2, random_state=0
    )
    binaries = fit("one-vs-one", estimator, X_val=X_VAL, y_val=Y_VAL).binaries_
    for binary, (first, second) in zip(binaries, [(0, 1), (0, 2), (1, 2)], strict=True):
        numbers = X[:, -1].astype(int)
        own, held_out = (np.isin(each[:, -1].astype(int), (first, second)) for each in (X, X_VAL))
        alone = HistGradientBoostingClassifier(
            max_iter=30, early_stopping=True, n_iter_no_change=2, random_state=0
        ).fit(
            X[own],
            numbers[own] == second,
            X_val=X_VAL[held_out],
            y_val=X_VAL[held_out, -1].astype(int) == second,
        )
        assert binary.estimator.n_iter_ == alone.n_iter_


def test_as_many_validation_rows_as_training_rows_are_not_taken_for_values_of_these():
    estimator = HistGradientBoostingClassifier(max_iter=3, early_stopping=True)
    other, labels = clouds(2, len(Y))
    assert fit("one-vs-one", estimator, X_val=other, y_val=labels).score(X, Y) > 0.9


def test_validation_rows_have_the_columns_of_the_training_rows():
    names = [f"x{k}" for k in range(X.shape[1])]
    frame, other = pd.DataFrame(X, columns=names), pd.DataFrame(X_VAL, columns=names[::-1])
    with pytest.raises(ArgumentError, match=r"^eval_set: The feature names should match"):
        PolytomyClassifier(Boosting()).fit(frame, Y, eval_set=[(other, Y_VAL)])


def test_a_search_and_a_regressor_pass_validation_rows_on():
    search = SchemeSearchCV(Boosting(), ["one-vs-one", "one-vs-rest"], cv=3, random_state=0)
    search.fit(X, Y, eval_set=[(X_VAL, Y_VAL)])
    assert search.score(X, Y) > 0.9
    regressor = PolytomyRegressor(Boosting(), n_bins=3, random_state=0)
    regressor.fit(X, X[:, 0], eval_set=[(X_VAL, X_VAL[:, 0])])
    ((_, labels),) = regressor.classifier_.binaries_[0].estimator.eval_set_
    assert set(labels) == {0, 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eval_set": [(X_VAL, np.repeat("rye", 60))]}, "eval_set has the label 'rye', which y"),
        ({"y_val": Y_VAL}, "X_val and y_val must be given together."),
        ({"eval_set": [X_VAL]}, r"eval_set must be a list of pairs \(X, y\)."),
        ({"eval_set": [(X_VAL, Y_VAL[:9])]}, "eval_set must have a label for each row; got 60"),
        (
            {"eval_set": [(X_VAL, Y_VAL)], "sample_weight_eval_set": X_VAL[:, 0]},
            "sample_weight_eval_set must have a value for each row of each set in eval_set.",
        ),
        (
            {"eval_set": [(X_VAL[:, :-1], Y_VAL)]},
            f"eval_set: X has {X.shape[1] - 1} features, but PolytomyClassifier is expecting",
        ),
        (
            {"eval_set": [(X_VAL[Y_VAL == "oak"], Y_VAL[Y_VAL == "oak"])]},
            'eval_set has no rows of the classes of partition "one-vs-one-01". Add rows of all',
        ),
    ],
)
def test_invalid_validation_rows_are_an_error(arguments, message):
    with pytest.raises(ArgumentError, match=f"^{message}"):
        fit("one-vs-one", **arguments)


def test_rows_that_a_pipeline_would_not_transform_are_an_error():
    classifier = PolytomyClassifier(make_pipeline(StandardScaler(), Boosting()))
    for name in "boosting__eval_set", "eval_set":
        with pytest.raises(
            ArgumentError,
            match=f"^{name}: the steps of a pipeline .* use shared_preprocessing=True",
        ):
            classifier.fit(X, Y, **{name: [(X_VAL, Y_VAL)]})


def test_shared_steps_of_a_pipeline_transform_the_rows():
    pipeline = make_pipeline(StandardScaler(), Boosting())
    classifier = PolytomyClassifier(pipeline, "one-vs-rest", shared_preprocessing=True)
    classifier.fit(X, Y, eval_set=[(X_VAL, Y_VAL)])
    ((samples, _),) = classifier.estimators_[0].eval_set_
    np.testing.assert_allclose(samples, StandardScaler().fit(X).transform(X_VAL))


def test_a_shared_pipeline_passes_other_arguments_to_its_last_step():
    pipeline = make_pipeline(StandardScaler(), Anything())
    classifier = PolytomyClassifier(pipeline, shared_preprocessing=True)
    classifier.fit(X, Y, eval_set=[(X_VAL, Y_VAL)], verbose=False)
    assert classifier.estimators_[0].others_["verbose"] is False


def test_an_estimator_without_validation_rows_says_so_itself():
    with pytest.raises(TypeError, match="eval_set"):
        fit("one-vs-one", SVC(), eval_set=[(X_VAL, Y_VAL)])


def test_partial_fit_takes_no_validation_rows():
    from sklearn.linear_model import SGDClassifier

    with pytest.raises(ArgumentError, match=r"^partial_fit does not take eval_set\.$"):
        PolytomyClassifier(SGDClassifier()).partial_fit(
            X, Y, np.unique(Y), eval_set=[(X_VAL, Y_VAL)]
        )


def test_arguments_that_are_none_are_passed_as_they_are():
    others, found = split_validation({"eval_set": None, "verbose": 0})
    assert (others, found) == ({"eval_set": None, "verbose": 0}, ())


# -- arguments that look like labels --------------------------------------------------------------


class Anything(Boosting):
    """Takes any argument, and keeps it."""

    def fit(self, X, y, **others):
        self.others_ = others
        return super().fit(X, y, eval_set=[])


@pytest.mark.parametrize(
    "value",
    [
        Y_VAL,
        Y_VAL.tolist(),
        pd.Series(Y_VAL),
        Y,
        (X_VAL, Y_VAL),
        [(X_VAL, Y_VAL)],
        [X_VAL, Y_VAL.astype(object)],
    ],
)
def test_labels_in_an_argument_that_is_not_known_are_refused(value):
    with pytest.raises(ArgumentError, match=r"^validation_data looks like labels, which each part"):
        fit("one-vs-one", Anything(), validation_data=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cat_features", [0, 1]),
        ("flags", X[:, 0] > 1),
        ("offsets", X[:, -1]),
        ("init_score", X[:, -1].astype(int)),
        ("levels", np.array([0, 0, 7])),
        ("names", []),
        ("options", {"a": 1}),
        ("verbose", 0),
        ("words", ["corn", "corn", "rye"]),
        ("matrix", np.zeros((3, 2), dtype=int)),
    ],
)
def test_other_arguments_are_passed_on(name, value):
    labels = X[:, -1].astype(int)
    model = PolytomyClassifier(Anything(), "one-vs-rest").fit(X, labels, **{name: value})
    np.testing.assert_array_equal(model.estimators_[0].others_[name], value)


# -- the rows that folds hold out -----------------------------------------------------------------


SPLITS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))


def test_a_model_of_all_rows_has_the_mean_number_of_iterations_of_the_folds():
    classifier = PolytomyClassifier(Iterations(), cv=SPLITS, validation="folds").fit(X, Y)
    for pair, model in zip(combinations(range(3), 2), classifier.estimators_, strict=True):
        counts = [np.isin(X[held_out, -1], pair).sum() for _, held_out in SPLITS]
        assert model.n_estimators == round(np.mean(counts))
        assert model.n_rows_ == np.isin(X[:, -1], pair).sum()
        assert (model.early_stopping_rounds, model.eval_set_) == (0, ())


def test_histogram_boosting_on_folds_is_that_of_every_binary_alone():
    options = {"learning_rate": 0.3, "max_leaf_nodes": 4, "random_state": 0}
    estimator = HistGradientBoostingClassifier(early_stopping=True, n_iter_no_change=2, **options)
    # Without a seed of the classifier, those of the estimators stay as they are.
    classifier = PolytomyClassifier(
        estimator, cv=SPLITS, validation="folds", final_calibration=None
    )
    weight, noisy = 1 + X[:, -1] + (X[:, 0] > 1), X[:, :2]
    classifier.fit(noisy, Y, weight)
    numbers = X[:, -1].astype(int)
    for (first, second), model in zip(
        combinations(range(3), 2), classifier.estimators_, strict=True
    ):
        counts = []
        is_own, is_second = np.isin(numbers, (first, second)), numbers == second
        for training, held_out in SPLITS:
            a, b = training[is_own[training]], held_out[is_own[held_out]]
            rows = {"X_val": noisy[b], "y_val": is_second[b], "sample_weight_val": weight[b]}
            alone = HistGradientBoostingClassifier(
                early_stopping=True, n_iter_no_change=2, **options
            )
            counts.append(alone.fit(noisy[a], is_second[a], weight[a], **rows).n_iter_)
        alone = HistGradientBoostingClassifier(
            early_stopping=False, max_iter=round(np.mean(counts)), **options
        ).fit(noisy[is_own], is_second[is_own], weight[is_own])
        np.testing.assert_array_equal(model.predict_proba(noisy), alone.predict_proba(noisy))


@pytest.mark.parametrize("scheme", ["direct", "one-vs-rest"])
def test_out_of_fold_scores_are_those_of_the_models_that_stopped(scheme):
    recorded = []

    class Recording(Iterations):
        def fit(self, X, y, eval_set=(), **others):
            recorded.append((len(y), [len(labels) for _, labels in eval_set]))
            return super().fit(X, y, eval_set=eval_set, **others)

    classifier = PolytomyClassifier(Recording(), scheme, cv=SPLITS, validation="folds")
    classifier.set_params(calibration="sigmoid", final_calibration="bias").fit(X, Y)
    each = [(60, [30]), (60, [30]), (60, [30]), (90, [])]
    assert recorded == each * len(set(classifier.estimators_))
    assert classifier.out_of_fold_score_["accuracy"] > 0.9


@pytest.mark.parametrize("scheme", ["direct", "one-vs-rest"])
def test_a_part_that_is_held_out_permanently_stops_the_only_model(scheme):
    classifier = PolytomyClassifier(
        Iterations(), scheme, cv=0.2, validation="folds", random_state=0
    )
    model = classifier.fit(X, Y).estimators_[0]
    ((samples, labels),) = model.eval_set_
    assert (model.n_rows_, len(labels)) == (72, 18)
    expected = samples[:, -1] if scheme == "direct" else samples[:, -1] == 0
    np.testing.assert_array_equal(labels, expected)
    assert model.n_estimators == 1000


def test_callbacks_that_stop_early_are_left_out_of_the_model_of_all_rows():
    class Stops:
        stopping_rounds = rounds = 5

    def show(environment):
        """Show the progress."""

    estimator = Iterations(callbacks=[Stops()])
    classifier = PolytomyClassifier(estimator, "one-vs-rest", cv=SPLITS, validation="folds")
    model = classifier.fit(X, Y, callbacks=[show, Stops()]).estimators_[0]
    assert (model.callbacks, model.fit_callbacks_) == ([], [show])


def test_rows_of_folds_are_transformed_by_shared_steps():
    pipeline = make_pipeline(StandardScaler(), Iterations())
    classifier = PolytomyClassifier(pipeline, "one-vs-rest", cv=0.2, validation="folds")
    with pytest.raises(ArgumentError, match=r"does not\. Use shared_preprocessing=True\.$"):
        classifier.fit(X, Y)
    model = classifier.set_params(shared_preprocessing=True).fit(X, Y).estimators_[0]
    ((samples, _),) = model.eval_set_
    scaled = {tuple(row) for row in StandardScaler().fit_transform(X)}
    assert {tuple(row) for row in samples} <= scaled


def test_a_regressor_stops_early_on_folds():
    estimator = HistGradientBoostingClassifier(early_stopping=True, max_leaf_nodes=4)
    regressor = PolytomyRegressor(estimator, n_bins=3, cv=3, validation="folds", random_state=0)
    models = regressor.fit(X[:, :1], X[:, 0]).classifier_.estimators_
    assert all(model.early_stopping is False and model.n_iter_ < 100 for model in models)


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        (
            {"estimator": SVC()},
            {},
            r'validation="folds" needs an estimator whose fit takes validation rows \(eval_set, or '
            r"X_val and y_val\); SVC does not. Use validation=None.",
        ),
        (
            {"validation": "fold"},
            {},
            "validation must be \"folds\" or None; got 'fold'. Did you mean",
        ),
        (
            {},
            {"eval_set": [(X_VAL, Y_VAL)]},
            'validation="folds" and eval_set are two sets of validation rows. Use one of them.',
        ),
    ],
)
def test_folds_that_cannot_serve_for_validation_are_an_error(parameters, arguments, message):
    given_parameters = {"estimator": Boosting(), "validation": "folds", **parameters}
    with pytest.raises(ArgumentError, match=f"^{message}"):
        PolytomyClassifier(**given_parameters).fit(X, Y, **arguments)


# -- the boosters themselves --------------------------------------------------------------------


BOOSTERS = {
    "xgboost": ("XGBClassifier", {"n_estimators": 40, "early_stopping_rounds": 3, "n_jobs": 1}),
    "lightgbm": (
        "LGBMClassifier",
        {
            "n_estimators": 40,
            "early_stopping_round": 3,
            "min_child_samples": 3,
            "verbose": -1,
            "n_jobs": 1,
        },
    ),
    "catboost": (
        "CatBoostClassifier",
        {
            "iterations": 40,
            "early_stopping_rounds": 3,
            "verbose": 0,
            "allow_writing_files": False,
            "thread_count": 1,
        },
    ),
}


COUNT = {  # all but LightGBM number their iterations from 0
    "xgboost": lambda model: model.best_iteration + 1,
    "lightgbm": lambda model: model.best_iteration_,
    "catboost": lambda model: model.get_best_iteration() + 1,
}


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("package", BOOSTERS)
@pytest.mark.parametrize("validation", [None, "folds"])
def test_boosters_stop_where_they_would_alone(package, validation):
    module = pytest.importorskip(package)
    name, parameters = BOOSTERS[package]
    estimator = getattr(module, name)(**parameters, max_depth=2, random_state=0)
    quiet = {"verbose": False} if package == "xgboost" else {}
    numbers, numbers_val = (each[:, -1].astype(int) for each in (X, X_VAL))
    samples, samples_val = X[:, :2], X_VAL[:, :2]
    sets = {"eval_set": [(samples_val, Y_VAL)]} if validation is None else {}
    classifier = PolytomyClassifier(estimator, cv=SPLITS, validation=validation)
    classifier.set_params(final_calibration=None).fit(samples, Y, **sets, **quiet)
    for (first, second), model in zip(
        combinations(range(3), 2), classifier.estimators_, strict=True
    ):
        own, own_val = (np.isin(each, (first, second)) for each in (numbers, numbers_val))
        is_second, counts = (numbers == second).astype(int), []
        if validation is None:
            targets = (numbers_val[own_val] == second).astype(int)
            rows = {"eval_set": [(samples_val[own_val], targets)]}
            alone = clone(estimator).fit(samples[own], is_second[own], **rows, **quiet)
        else:
            for split in SPLITS:
                a, b = (rows[own[rows]] for rows in split)
                fold = clone(estimator)
                fold.fit(samples[a], is_second[a], eval_set=[(samples[b], is_second[b])], **quiet)
                counts.append(COUNT[package](fold))
            limit = "iterations" if package == "catboost" else "n_estimators"
            changes = {limit: round(np.mean(counts))}
            if package != "catboost":  # it does not stop early without validation rows
                changes[next(each for each in parameters if each.startswith("early"))] = 0
            alone = clone(estimator).set_params(**changes).fit(samples[own], is_second[own])
        np.testing.assert_array_equal(
            model.predict_proba(samples_val), alone.predict_proba(samples_val)
        )
