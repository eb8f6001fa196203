"""Preparing estimators: seeds, weights, and which estimators can be used."""

import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

from polytomy.errors import ArgumentError
from polytomy.learners.preparation import (
    copy_unfitted,
    prepare_estimator,
    request_weights,
    resolve_estimator,
    side_labels,
    tags_of,
    takes_pairwise_values,
    weight_parameter,
)


def test_without_a_seed_the_estimator_keeps_its_random_state():
    assert prepare_estimator(SGDClassifier(random_state=5), None).random_state == 5


def test_every_random_state_is_set_from_the_seed():
    estimator = make_pipeline(PCA(), BaggingClassifier(SGDClassifier(random_state=1)))
    states = [
        {
            name: value
            for name, value in prepare_estimator(estimator, seed).get_params().items()
            if name.endswith("random_state")
        }
        for seed in (0, 0, 1)
    ]
    assert set(states[0]) == {
        "pca__random_state",
        "baggingclassifier__random_state",
        "baggingclassifier__estimator__random_state",
    }
    assert len(set(states[0].values())) == 3
    assert states[0] == states[1] != states[2]
    assert estimator.get_params()["baggingclassifier__estimator__random_state"] == 1


@pytest.mark.parametrize("machine", [SVC(probability=True), NuSVC(probability=True)])
def test_a_support_vector_machine_loses_its_own_probabilities(machine):
    for estimator in machine, make_pipeline(StandardScaler(), machine):
        prepared = prepare_estimator(estimator, None)
        assert hasattr(estimator, "predict_proba")
        assert not hasattr(prepared, "predict_proba")
        assert hasattr(prepared, "decision_function")


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (SVC, "estimator is the class SVC. Use an object: SVC()."),
        (
            "svc",
            'estimator="svc" is not a scikit-learn estimator: it has no fit or no get_params.',
        ),
        (
            LinearRegression(),
            "estimator=LinearRegression() is a regressor. Use a classifier, such as SVC().",
        ),
    ],
)
def test_anything_but_a_classifier_is_refused(estimator, words):
    with pytest.raises(ArgumentError) as caught:
        prepare_estimator(estimator, None)
    assert str(caught.value) == words
    assert caught.value.parameter == "estimator"


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SVC(), "sample_weight"),
        (make_pipeline(StandardScaler(), SVC()), "svc__sample_weight"),
        (make_pipeline(make_pipeline(PCA(), SVC())), "pipeline__svc__sample_weight"),
        (GridSearchCV(SVC(), {"C": [1]}), "sample_weight"),
    ],
)
def test_weights_are_an_argument_of_the_final_step(estimator, name):
    assert weight_parameter(estimator) == name


def test_with_metadata_routing_a_pipeline_takes_weights_itself():
    with sklearn.config_context(enable_metadata_routing=True):
        assert weight_parameter(make_pipeline(StandardScaler(), SVC())) == "sample_weight"


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(), make_pipeline(PCA(), KNeighborsClassifier())]
)
def test_an_estimator_without_weights_is_named(estimator):
    with pytest.raises(ArgumentError) as caught:
        weight_parameter(estimator)
    assert str(caught.value) == (
        "KNeighborsClassifier does not support sample_weight. Fit without weights, or use an "
        "estimator whose fit has that argument."
    )


def test_precomputed_kernels_are_pairwise():
    class Foreign:
        pass

    assert takes_pairwise_values(SVC(kernel="precomputed"))
    assert takes_pairwise_values(KNeighborsClassifier(metric="precomputed"))
    assert not takes_pairwise_values(SVC())
    assert not takes_pairwise_values(LogisticRegression())
    assert not takes_pairwise_values(Foreign())


def requests(step):
    return step.get_metadata_routing().fit.requests["sample_weight"]


def test_only_the_last_step_of_a_pipeline_requests_weights_by_default():
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), SVC()))
        request_weights(pipeline)
        inner = pipeline[-1]
        assert [requests(step) for step in (pipeline[0], inner[0], inner[1])] == [
            False,
            False,
            True,
        ]


def test_a_request_of_the_user_is_not_changed():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(scaler, SVC().set_fit_request(sample_weight=False))
        request_weights(pipeline)
        assert [requests(step) for _, step in pipeline.steps] == [True, False]


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (SVC(), (0, 1)),
        (SVC(class_weight="balanced"), (0, 1)),
        (SVC(class_weight={1: 2.0}), (0, 1)),
        (SVC(class_weight={-1: 2.0}), (-1, 1)),
        (make_pipeline(StandardScaler(), SVC(class_weight={-1: 2.0, 1: 1.0})), (-1, 1)),
    ],
)
def test_the_sides_are_minus_and_plus_one_only_if_class_weight_says_so(estimator, labels):
    assert side_labels(estimator) == labels


def test_the_parameter_estimator_is_a_classifier_a_specification_or_none():
    own = LogisticRegression()
    assert resolve_estimator(own) is own
    assert repr(resolve_estimator("svc C=10")) == "SVC(C=10)"
    assert repr(resolve_estimator("C=10")) == "SVC(C=10)"
    assert repr(resolve_estimator(None)) == "SVC()"
    with pytest.raises(ArgumentError, match="is the class SVC"):
        resolve_estimator(SVC)


def test_objects_and_classes_without_tags_have_none():
    assert tags_of(object()) is None
    assert tags_of(SVC) is None
    assert tags_of(SVC()).estimator_type == "classifier"


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SVC(class_weight={"oak": 5}), "class_weight={'oak': 5} of SVC"),
        (SVC(class_weight={0: 1, 1: 1, 2: 5}), "class_weight={0: 1, 1: 1, 2: 5} of SVC"),
        (SVC(class_weight={-1: 1, 0: 2}), "class_weight={-1: 1, 0: 2} of SVC"),
        (
            make_pipeline(StandardScaler(), LogisticRegression(class_weight={"oak": 5})),
            "logisticregression__class_weight={'oak': 5} of Pipeline",
        ),
        ("svc 'class_weight={2: 5}'", "class_weight={2: 5} of SVC"),
    ],
)
def test_weights_of_classes_inside_are_an_error_that_points_outside(estimator, name):
    with pytest.raises(ArgumentError) as caught:
        resolve_estimator(estimator)
    assert str(caught.value) == (
        f"{name} has labels other than 0 and 1, the two sides of a partition. To weight classes, "
        "set class_weight of PolytomyClassifier instead."
    )


@pytest.mark.parametrize(
    "weights", [{0: 1, 1: 2}, {1: 2}, {-1: 2, 1: 3}, {-1: 2}, {}, "balanced", None]
)
def test_weights_of_the_sides_are_accepted(weights):
    estimator = SVC(class_weight=weights)
    assert resolve_estimator(estimator) is estimator


@pytest.mark.parametrize(
    "estimator",
    [SVC(C=3), SVC(class_weight={0: 2.0}), make_pipeline(StandardScaler(), SVC(C=3))],
)
def test_a_copy_has_the_same_parameters_and_no_object_in_common(estimator):
    copied = copy_unfitted(estimator)
    assert repr(copied) == repr(estimator)
    assert copied is not estimator
    originals = {id(value) for value in estimator.get_params().values() if hasattr(value, "fit")}
    assert not originals.intersection(map(id, copied.get_params().values()))
    copied.set_params(**{name: 9 for name in copied.get_params() if name.split("__")[-1] == "C"})
    assert "C=9" not in repr(estimator)
