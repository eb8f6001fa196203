"""A classifier and its ONNX model give the same labels and probabilities."""

import json

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from final_maps import with_decoder
from polytomy.errors import ArgumentError, ControlWarning
from polytomy.export import to_onnx

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

TOLERANCES = {"float32": 1e-5, "float64": 1e-9}
NAMES = np.array(["ash", "beech", "cedar", "elm", "δρῦς"])


def made_data(n_classes=5, n_samples=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    centres = rng.normal(size=(n_classes, 4)) * 1.5
    X = centres[y] + rng.normal(size=(n_samples, 4))
    # Some samples are far from all training samples.
    return X, y, rng.normal(size=(100, 4)) * rng.choice([1.0, 10.0], (100, 1))


@pytest.fixture(scope="module")
def fitted():
    X, y, new = made_data()
    return pt.PolytomyClassifier(SVC(gamma=0.2), random_state=0).fit(X, y), X, y, new


def assert_same(run, classifier, X):
    for dtype, tolerance in TOLERANCES.items():
        samples = X.astype(dtype)
        found = run(to_onnx(classifier, dtype=dtype), samples)
        # In double precision, because scalers would otherwise compute in single precision.
        samples = samples.astype(np.float64)
        np.testing.assert_array_equal(found["label"], classifier.predict(samples))
        assert found["probabilities"].dtype == dtype
        np.testing.assert_allclose(
            found["probabilities"], classifier.predict_proba(samples), rtol=0, atol=tolerance
        )


@pytest.mark.parametrize(
    "scheme",
    ["one-vs-one", "one-vs-rest", "exhaustive", "adjacent", "chain", "tree", "random-tree"],
)
@pytest.mark.parametrize(
    "estimator", [SVC(C=100), LogisticRegression(), LinearSVC()], ids=lambda each: str(each)
)
def test_every_scheme_and_estimator_gives_the_same_answers(run, scheme, estimator):
    X, y, new = made_data()
    classifier = pt.PolytomyClassifier(estimator, scheme, random_state=0).fit(X, y)
    assert_same(run, classifier, new)


def test_shared_scalers_give_the_same_answers(run):
    X, y, new = made_data()
    machine = make_pipeline(StandardScaler(), MinMaxScaler(), SVC(gamma=0.2))
    classifier = pt.PolytomyClassifier(machine, random_state=0, shared_preprocessing=True)
    assert_same(run, classifier.fit(X, y), new)
    assert_same(run, make_pipeline(MinMaxScaler(), classifier).fit(X, y), new)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature", None])
def test_every_calibration_gives_the_same_answers(run, calibration):
    X, y, new = made_data(3)
    classifier = pt.PolytomyClassifier(
        SVC(C=10), "one-vs-rest", calibration=calibration, random_state=0
    ).fit(X, y)
    assert_same(run, classifier, new)


@pytest.mark.parametrize(
    "scheme", ["one-vs-one", "one-vs-rest", "tree", "adjacent", "random-trees"]
)
@pytest.mark.parametrize("final_calibration", ["bias", "decoder", None])
def test_every_final_calibration_gives_the_same_answers(run, scheme, final_calibration):
    X, y, new = made_data()
    classifier = pt.PolytomyClassifier(
        SVC(C=10, gamma=0.2), scheme, final_calibration=final_calibration, random_state=0
    ).fit(X, y)
    assert_same(run, classifier, new)
    if final_calibration == "decoder":  # the data may not be enough for one to be learnt
        assert_same(run, with_decoder(classifier), new)


def test_certain_answers_are_clipped_before_a_decoder(run):
    X, y, new = made_data(3)
    classifier = pt.PolytomyClassifier(LinearSVC(), random_state=0).fit(X, y)
    far = 1000 * new
    assert np.abs(classifier.decisions(far)).max() == 1.0
    assert_same(run, with_decoder(classifier), far)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1))], ids=str)
def test_scalers_before_the_classifier_are_part_of_the_model(run, scaler):
    X, y, new = made_data()
    units, zeros = np.array([1e-3, 1.0, 50.0, 1e4]), np.array([0.0, 273.0, -1e3, 1e6])
    pipeline = make_pipeline(scaler, pt.PolytomyClassifier(SVC(), random_state=0))
    pipeline.fit(X * units + zeros, y)
    assert_same(run, pipeline, new * units + zeros)


@pytest.mark.parametrize("final_calibration", ["auto", None])
@pytest.mark.parametrize("scheme", ["pool", "random-trees"])
def test_the_members_of_a_pool_are_combined_as_in_the_classifier(run, scheme, final_calibration):
    X, y, new = made_data()
    options = {"final_calibration": final_calibration, "random_state": 0}
    classifier = pt.PolytomyClassifier(SVC(gamma=0.2), scheme, **options).fit(X, y)
    assert_same(run, classifier, new)
    if final_calibration is not None:
        assert_same(run, with_decoder(classifier), new)


def test_binaries_rearranged_with_swapped_sides_give_the_same_answers(run, fitted):
    classifier, _, _, new = fitted
    pairs = [(a, b) for a in range(5) for b in range(a)]
    matrix = np.zeros((len(pairs), 5), dtype=int)
    for row, (a, b) in enumerate(pairs):
        matrix[row, a], matrix[row, b] = -1, 1
    assert_same(run, classifier.with_scheme(matrix), new)


def test_a_class_without_data_gets_no_probability(run):
    X, y, new = made_data(4)
    scheme = pt.designs.one_vs_rest(range(5))
    classifier = pt.PolytomyClassifier(LogisticRegression(), scheme, random_state=0)
    with pytest.warns(ControlWarning, match="class 4 of the scheme has no samples"):
        classifier.fit(X, y)
    assert_same(run, classifier, new)


@pytest.mark.parametrize("solver", ["voting", "hamming"])
@pytest.mark.parametrize("scheme", ["one-vs-one", "random", "tree"])
def test_votes_are_called_scores(run, solver, scheme):
    X, y, new = made_data()
    classifier = pt.PolytomyClassifier(SVC(), scheme, solver=solver, random_state=0).fit(X, y)
    found = run(to_onnx(classifier, dtype="float64"), new)
    assert list(found) == ["label", "scores"]
    np.testing.assert_array_equal(found["label"], classifier.predict(new))
    np.testing.assert_allclose(found["scores"], classifier.decision_function(new), atol=1e-9)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.arange(5, dtype=np.uint8), "tensor(int64)"),
        (NAMES, "tensor(string)"),
        (NAMES.astype(object), "tensor(string)"),
        (np.array([-1.0, 0.0, 1.0, 2.0, 4.0]), "tensor(double)"),
    ],
    ids=["small integers", "text", "text objects", "decimals"],
)
def test_labels_are_those_of_the_classifier(run, labels, expected):
    X, y, new = made_data()
    classifier = pt.PolytomyClassifier(LinearSVC(), random_state=0).fit(X, labels[y])
    assert_same(run, classifier, new)
    kind = to_onnx(classifier).graph.output[0].type.tensor_type.elem_type
    name = {"tensor(int64)": "INT64", "tensor(string)": "STRING", "tensor(double)": "DOUBLE"}
    assert kind == getattr(onnx.TensorProto, name[expected])


def test_false_and_true_become_0_and_1(run):
    X, y, new = made_data(2)
    classifier = pt.PolytomyClassifier(LinearSVC(), random_state=0).fit(X, y == 1)
    found = run(to_onnx(classifier, dtype="float64"), new)
    assert found["label"].dtype == np.int64
    np.testing.assert_array_equal(found["label"] == 1, classifier.predict(new))


def test_a_single_class_is_certain(run):
    X, _, new = made_data()
    classifier = pt.PolytomyClassifier(SVC()).fit(X, np.full(len(X), 7))
    found = run(to_onnx(classifier, dtype="float64"), new)
    np.testing.assert_array_equal(found["label"], np.full(100, 7))
    np.testing.assert_array_equal(found["probabilities"], np.ones((100, 1)))


@pytest.mark.parametrize("n_samples", [0, 1])
def test_the_number_of_samples_is_free(run, fitted, n_samples):
    classifier, _, _, new = fitted
    found = run(to_onnx(classifier), new[:n_samples].astype(np.float32))
    assert found["label"].shape == (n_samples,)
    assert found["probabilities"].shape == (n_samples, 5)


def test_the_model_names_its_classes_and_features(fitted):
    pandas = pytest.importorskip("pandas")
    _, X, y, _ = fitted
    frame = pandas.DataFrame(X, columns=["height", "width", "length", "weight"])
    classifier = make_pipeline(StandardScaler(), pt.PolytomyClassifier(LinearSVC()))
    model = to_onnx(classifier.fit(frame, NAMES[y]))
    metadata = {each.key: json.loads(each.value) for each in model.metadata_props}
    assert metadata == {
        "classes": NAMES.tolist(),
        "feature_names": ["height", "width", "length", "weight"],
    }
    assert model.producer_name == "polytomy"


def test_only_operators_of_the_default_domain_are_used(fitted):
    model = to_onnx(fitted[0])
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 17)]
    assert {node.domain for node in model.graph.node} == {""}


def refusal(classifier, **options):
    with pytest.raises(ArgumentError) as caught:
        to_onnx(classifier, **options)
    return str(caught.value)


def test_a_refusal_gives_the_reason_and_a_solution(fitted):
    classifier, X, y, _ = fitted
    assert "not fitted" in refusal(pt.PolytomyClassifier())
    assert refusal(SVC()).startswith("SVC cannot be exported. Pass a PolytomyClassifier")
    steps = make_pipeline(Nystroem(), pt.PolytomyClassifier(LinearSVC())).fit(X, y)
    assert refusal(steps).startswith(
        "the steps before the binaries cannot be exported: Nystroem has no graph (its converter"
    )
    assert "Export the last step of the pipeline alone" in refusal(steps)
    inside = make_pipeline(Nystroem(), LinearSVC())
    sharing = pt.PolytomyClassifier(inside, shared_preprocessing=True).fit(X, y)
    assert refusal(sharing) == refusal(steps)
    assert refusal(classifier, dtype="int8") == (
        'dtype must be "float64" or "float32"; got \'int8\'.'
    )
    assert "classifier.with_solver changes" in refusal(classifier.with_solver("divergence"))
    drawn = pt.PolytomyClassifier(LinearSVC(), "random-ternary", random_state=0).fit(X, y)
    assert 'Fit another scheme, or use classifier.with_solver("voting").' in refusal(drawn)


def test_a_calibrator_of_the_user_is_converted_or_refused(run, fitted):
    _, X, y, new = fitted
    classifier = pt.PolytomyClassifier(LinearSVC(), random_state=0)
    classifier.set_params(final_calibration=LogisticRegression(C=0.5, max_iter=1000))
    found = run(to_onnx(classifier.fit(X, y), dtype="float64"), new)["probabilities"]
    np.testing.assert_allclose(found, classifier.predict_proba(new), rtol=0, atol=1e-5)
    classifier.set_params(final_calibration=RadiusNeighborsClassifier(1e9)).fit(X, y)
    assert refusal(classifier) == (
        "final_calibration=RadiusNeighborsClassifier(radius=1000000000.0) cannot be exported: only "
        'neighbours of equal weight can be converted. Fit with final_calibration="bias", "decoder" '
        "or None."
    )


def test_a_label_for_no_prediction_is_of_the_type_of_the_labels(run, fitted):
    _, X, y, new = fitted
    classifier = pt.PolytomyClassifier(LinearSVC(), random_state=0).fit(X, y == y[0])
    careful = classifier.with_cost(reject_cost=0.1)
    found = run(to_onnx(careful, dtype="float64"), new)["label"]
    assert found.tolist() == [int(each) for each in careful.predict(new)]
    assert refusal(classifier.with_cost(reject_cost=0.1, reject_label="none")) == (
        'reject_label="none" cannot be exported, because the labels, such as 0, are of another '
        "type. Use one of the same type."
    )


def test_labels_that_onnx_cannot_hold_are_refused(fitted):
    _, X, y, _ = fitted
    labels = y.astype(np.uint64) + np.uint64(2**63)
    words = refusal(pt.PolytomyClassifier(LinearSVC()).fit(X, labels))
    assert words == (
        f"the label {labels.max()} cannot be exported. Fit with labels that are text, or integers "
        "below 2**63."
    )


SIDED = {
    "direct": "@direct {0 1 2 3 4}",
    "tree": "m {0 n {1 2 3} 4}",
    "mixture": "m {0 @one-vs-one {1 2 3} n {4 5}}",
    "unordered": "m 0 / 2 / 1; {3 n 1 / 0; {0 2} @one-vs-rest {1 4 5}}",
    "flat tree": "m 0 / 1 2 3 / 4; n 1 / 2 / 3; {0 1 2 3 4}",
}


@pytest.mark.filterwarnings("ignore:class 5:UserWarning")
@pytest.mark.parametrize("final_calibration", [None, "bias", "decoder"])
@pytest.mark.parametrize("scheme", SIDED)
@pytest.mark.parametrize("estimator", [SVC(), LogisticRegression(), LinearSVC()], ids=str)
def test_models_of_more_than_two_sides_give_the_same_answers(
    run, scheme, estimator, final_calibration
):
    X, y, new = made_data(6 if "5" in SIDED[scheme] else 5)
    classifier = pt.PolytomyClassifier(
        estimator, SIDED[scheme], final_calibration=final_calibration, random_state=0
    ).fit(X, y)
    assert_same(run, classifier, new)


@pytest.mark.parametrize("solver", ["voting", "hamming"])
def test_votes_of_codes_with_more_than_two_sides_are_counted(run, solver):
    X, y, new = made_data()
    scheme = pt.designs.n_ary_code(5, sides=3, rows=6, random_state=0)
    classifier = pt.PolytomyClassifier(LogisticRegression(), scheme, solver=solver).fit(X, y)
    found = run(to_onnx(classifier, dtype="float64"), new)
    np.testing.assert_allclose(found["scores"], classifier.decision_function(new), atol=1e-9)
    np.testing.assert_array_equal(found["label"], classifier.predict(new))
    assert_same(run, classifier.with_solver("least-squares"), new)


def test_a_model_of_several_sides_that_cannot_be_exported_is_named():
    X, y, _ = made_data()
    machine = pt.PolytomyClassifier(SVC(kernel="precomputed"), "@direct {0 1 2 3 4}")
    words = 'the model of partition "direct-00" is a SVC for 5 sides, which cannot be exported: '
    assert refusal(machine.fit(X @ X.T, y)).startswith(words)
