import numpy as np
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

from polytomy.binary.preparation import (
    is_pairwise,
    prepare_estimator,
    resolve_estimator,
    weight_parameter,
)
from polytomy.errors import ArgumentError
from polytomy.inputs.seeds import partition_seeds


def test_seeds_are_fixed_by_the_random_state_and_differ():
    seeds = partition_seeds(3, 50)
    assert seeds == partition_seeds(3, 50)
    assert seeds == partition_seeds(np.random.RandomState(3), 50)
    assert seeds != partition_seeds(4, 50)
    assert len(set(seeds)) == 50


def test_no_random_state_leaves_the_estimators_own():
    assert partition_seeds(None, 2) == [None, None]
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
def test_a_machine_leaves_its_probabilities_to_the_calibration(machine):
    for estimator in machine, make_pipeline(StandardScaler(), machine):
        prepared = prepare_estimator(estimator, None)
        assert hasattr(estimator, "predict_proba")
        assert not hasattr(prepared, "predict_proba")
        assert hasattr(prepared, "decision_function")


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (SVC, "estimator=SVC is a class. Give an object: SVC()."),
        ("svc", "estimator='svc' is no estimator of scikit-learn: it needs fit and get_params."),
        (
            LinearRegression(),
            "estimator=LinearRegression() is a regressor; a binary needs a classifier, such as "
            "SVC().",
        ),
    ],
)
def test_what_is_no_classifier(estimator, words):
    with pytest.raises(ArgumentError) as caught:
        prepare_estimator(estimator, None)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SVC(), "sample_weight"),
        (make_pipeline(StandardScaler(), SVC()), "svc__sample_weight"),
        (make_pipeline(make_pipeline(PCA(), SVC())), "pipeline__svc__sample_weight"),
        (GridSearchCV(SVC(), {"C": [1]}), "sample_weight"),
    ],
)
def test_where_weights_go(estimator, name):
    assert weight_parameter(estimator) == name


def test_a_pipeline_routes_weights_itself_where_routing_is_on():
    with sklearn.config_context(enable_metadata_routing=True):
        assert weight_parameter(make_pipeline(StandardScaler(), SVC())) == "sample_weight"


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(), make_pipeline(PCA(), KNeighborsClassifier())]
)
def test_an_estimator_that_takes_no_weights(estimator):
    with pytest.raises(ArgumentError) as caught:
        weight_parameter(estimator)
    assert str(caught.value) == (
        "KNeighborsClassifier takes no sample_weight. Fit without weights, or use an estimator "
        "whose fit takes them."
    )


def test_precomputed_kernels_are_pairwise():
    class Foreign:
        pass

    assert is_pairwise(SVC(kernel="precomputed"))
    assert is_pairwise(KNeighborsClassifier(metric="precomputed"))
    assert not is_pairwise(SVC())
    assert not is_pairwise(LogisticRegression())
    assert not is_pairwise(Foreign())


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
        f"{name} names other labels than 0 and 1, the two sides of a partition. To weight classes, "
        "set class_weight of PolytomyClassifier instead."
    )


@pytest.mark.parametrize(
    "weights", [{0: 1, 1: 2}, {1: 2}, {-1: 2, 1: 3}, {-1: 2}, {}, "balanced", None]
)
def test_weights_of_the_sides_are_accepted(weights):
    estimator = SVC(class_weight=weights)
    assert resolve_estimator(estimator) is estimator
