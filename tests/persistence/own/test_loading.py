"""What is saved and loaded answers the same."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.calibration import TemperatureCalibrator
from polytomy.errors import ArgumentError, ModelFileError, PolytomyWarning
from polytomy.persistence import load, read_info, save
from polytomy.svm.machines import KernelMachine

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]
TREE = "a {setosa b {versicolor virginica}}"


def _again(classifier, tmp_path, **options):
    save(classifier, tmp_path / "m.polytomy")
    return load(tmp_path / "m.polytomy", **options)


def _assert_same(first, second, samples=X):
    np.testing.assert_array_equal(second.decisions(samples), first.decisions(samples))
    np.testing.assert_array_equal(second.predict(samples), first.predict(samples))
    for one, other in zip(first.binaries_, second.binaries_, strict=True):
        np.testing.assert_array_equal(other.decisions(samples), one.decisions(samples))
        assert (other.name, other.output, other.classes) == (one.name, one.output, one.classes)
    assert second.classes_.dtype == first.classes_.dtype
    assert second.scheme_ == first.scheme_
    assert repr(second) == repr(first)
    assert repr(second.get_params()) == repr(first.get_params())


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        SVC(C=10, kernel="poly", degree=2, coef0=1),
        SVC(kernel="sigmoid", gamma=0.01, class_weight="balanced"),
        NuSVC(nu=0.2),
        SVC(kernel="linear"),
        LinearSVC(C=0.5),
        LogisticRegression(C=3),
        SGDClassifier(random_state=0),
        SGDClassifier(loss="log_loss", random_state=0),
        RidgeClassifier(alpha=2.0),
        Perceptron(),
        make_pipeline(StandardScaler(), SVC()),
        make_pipeline(MinMaxScaler((0, 2)), LinearSVC()),
        make_pipeline(MaxAbsScaler(), "passthrough", LogisticRegression()),
        make_pipeline(StandardScaler(with_mean=False, with_std=False), RidgeClassifier()),
    ],
)
def test_plain_estimators_answer_the_same(estimator, tmp_path):
    classifier = PolytomyClassifier(estimator, TREE, random_state=0)
    classifier.fit(X, LABELS)
    again = _again(classifier, tmp_path)
    _assert_same(classifier, again)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    with zipfile.ZipFile(tmp_path / "m.polytomy") as archive:
        names = set(archive.namelist())
    assert names == {"model.json", "scheme.control", "floats.npy", "integers.npy"}


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature", None])
def test_calibrators_answer_the_same(calibration, tmp_path):
    classifier = PolytomyClassifier(LinearSVC(), calibration=calibration, random_state=0)
    _assert_same(*_pair(classifier.fit(X, LABELS), tmp_path))


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        SGDClassifier(average=True, random_state=0),
        make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=1000)),
        KNeighborsClassifier(algorithm="brute"),
    ],
)
def test_other_estimators_answer_the_same(estimator, tmp_path):
    pytest.importorskip("skops")
    classifier = PolytomyClassifier(estimator, random_state=0).fit(X, LABELS)
    _assert_same(classifier, _again(classifier, tmp_path))


def test_types_that_must_be_trusted_are_named_when_saved_and_when_loaded(tmp_path):
    pytest.importorskip("skops")
    classifier = PolytomyClassifier(RandomForestClassifier(3), random_state=0).fit(X, LABELS)
    naming = r'say trusted=\["sklearn\.tree\._tree\.Tree"\]'
    words = f"RandomForestClassifier can be loaded only by those who trust its types; they {naming}"
    with pytest.warns(PolytomyWarning, match=words):
        save(classifier, tmp_path / "m.polytomy")
    with pytest.raises(ModelFileError, match=rf"not trusted: .*Tree\. If you .*harmless, {naming}"):
        load(tmp_path / "m.polytomy")
    again = load(tmp_path / "m.polytomy", trusted=["sklearn.tree._tree.Tree"])
    _assert_same(classifier, again)


def _made_inside(X):
    def inside(samples):
        return samples

    return inside


@pytest.mark.parametrize(
    ("function", "name"), [(lambda samples: samples, "<lambda>"), (_made_inside(X), "inside")]
)
def test_what_could_never_be_loaded_is_not_saved(function, name, tmp_path):
    pytest.importorskip("skops")
    estimator = make_pipeline(FunctionTransformer(function), GaussianNB())
    classifier = PolytomyClassifier(estimator, random_state=0).fit(X, LABELS)
    with pytest.raises(ArgumentError, match=f"{name} of Pipeline could never be loaded"):
        save(classifier, tmp_path / "m.polytomy")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("solver", ["voting", "least-squares", "hamming", "divergence"])
def test_the_solver_is_kept(solver, tmp_path):
    classifier = PolytomyClassifier(solver=solver, random_state=0).fit(X, LABELS)
    _assert_same(classifier, _again(classifier, tmp_path))


@pytest.mark.parametrize(
    "labels", [Y, Y.astype(np.uint8), Y.astype(float), LABELS, LABELS.astype(object)]
)
def test_labels_of_every_type(labels, tmp_path):
    _assert_same(*_pair(PolytomyClassifier(random_state=0).fit(X, labels), tmp_path))


def _pair(classifier, tmp_path):
    return classifier, _again(classifier, tmp_path)


def test_truth_values_and_single_classes(tmp_path):
    _assert_same(*_pair(PolytomyClassifier(random_state=0).fit(X, Y > 0), tmp_path))
    alone = PolytomyClassifier().fit(X, np.zeros(150, dtype=int))
    assert _again(alone, tmp_path).predict_proba(X[:2]).tolist() == [[1], [1]]


def test_machines_that_share_a_kernel_matrix(tmp_path):
    random = np.random.default_rng(0)
    samples = random.normal(size=(1200, 3))
    labels = np.digitize(samples[:, 0] + 0.3 * samples[:, 1], [-0.6, 0, 0.6])
    classifier = PolytomyClassifier(SVC(gamma=0.5), random_state=0).fit(samples, labels)
    assert isinstance(classifier.binaries_[0].estimator, KernelMachine)
    again = _again(classifier, tmp_path)
    _assert_same(classifier, again, samples)
    assert len({id(binary.estimator.pool) for binary in again.binaries_}) == 1


def test_sparse_data(tmp_path):
    samples = csr_matrix(np.where(X > 2, X, 0))
    for estimator in (SVC(), LinearSVC()):
        classifier = PolytomyClassifier(estimator, random_state=0).fit(samples, Y)
        _assert_same(*_pair(classifier, tmp_path), samples)


def test_frames_keep_their_names(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    classifier = PolytomyClassifier(LogisticRegression(), random_state=0).fit(frame, Y)
    again = _again(classifier, tmp_path)
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    _assert_same(classifier, again, frame)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["b", "a", "c", "d"]])


def test_the_same_binaries_another_way(tmp_path):
    classifier = PolytomyClassifier(scheme=TREE, random_state=0).fit(X, LABELS)
    again = _again(classifier, tmp_path)
    flat = classifier.with_scheme(classifier.scheme_.flatten())
    _assert_same(flat, again.with_scheme(again.scheme_.flatten()))
    _assert_same(flat, _again(flat, tmp_path))
    swapped = classifier.with_scheme("b {c {virginica versicolor} setosa}")
    _assert_same(swapped, _again(swapped, tmp_path))
    np.testing.assert_array_equal(
        again.with_solver("voting").predict(X), classifier.with_solver("voting").predict(X)
    )


def test_an_ensemble_of_schemes(tmp_path):
    ensemble = pt.designs.tree_ensemble(["setosa", "versicolor", "virginica"], 3, random_state=0)
    classifier = PolytomyClassifier(LinearSVC(), ensemble, random_state=0).fit(X, LABELS)
    again = _again(classifier, tmp_path)
    _assert_same(classifier, again)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    texts = read_info(tmp_path / "m.polytomy").schemes
    assert tuple(map(pt.parse, texts)) == ensemble.schemes
    alone = classifier.with_scheme(ensemble.schemes[1])
    _assert_same(alone, _again(alone, tmp_path))


def test_models_and_specifications(tmp_path):
    first = LogisticRegression().fit(X, Y == 0)
    text = 'is-setosa { "svc C=10" {versicolor virginica} setosa }'
    models = {"is-setosa": first}
    classifier = PolytomyClassifier(scheme=text, models=models, random_state=0).fit(X, LABELS)
    again = _again(classifier, tmp_path)
    _assert_same(classifier, again)
    assert again.models["is-setosa"] is again.binaries_[0].estimator
    unfitted = {"a": LinearSVC(C=3), "b": make_pipeline(StandardScaler(), SVC())}
    classifier = PolytomyClassifier(scheme=TREE, models=unfitted, random_state=0)
    _assert_same(*_pair(classifier.fit(X, LABELS), tmp_path))


def test_a_loaded_classifier_learns_on(tmp_path):
    classifier = PolytomyClassifier(SGDClassifier(random_state=0), random_state=0)
    classifier.partial_fit(X[::2], Y[::2], classes=[0, 1, 2])
    again = _again(classifier, tmp_path)
    _assert_same(classifier.partial_fit(X[1::2], Y[1::2]), again.partial_fit(X[1::2], Y[1::2]))


def test_a_loaded_classifier_can_be_fitted_again(tmp_path):
    classifier = PolytomyClassifier(SVC(C=3), "one-vs-rest", cv=3, random_state=7).fit(X, LABELS)
    again = _again(classifier, tmp_path)
    np.testing.assert_array_equal(
        again.fit(X, LABELS).predict_proba(X), classifier.predict_proba(X)
    )


def test_classes_without_data_are_not_warned_of_again(tmp_path):
    text = "a {setosa b {versicolor c {virginica elm}}}"
    with pytest.warns(PolytomyWarning, match="'elm' of the scheme has no samples"):
        classifier = PolytomyClassifier(scheme=text, random_state=0).fit(X, LABELS)
    _assert_same(*_pair(classifier, tmp_path))


def test_a_callable_scheme_is_saved_as_the_scheme_it_made(tmp_path):
    def make(X, y):
        return TREE

    classifier = PolytomyClassifier(scheme=make, random_state=0).fit(X, LABELS)
    again = _again(classifier, tmp_path)
    assert again.scheme == classifier.scheme_
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_a_scheme_in_a_file_is_saved_with_the_model(tmp_path):
    file = tmp_path / "tree.control"
    file.write_text(TREE)
    for argument in (file, str(file)):
        classifier = PolytomyClassifier(scheme=argument, random_state=0).fit(X, LABELS)
        assert _again(classifier, tmp_path).scheme == pt.parse(TREE)


def test_a_pipeline_that_ends_in_a_classifier(tmp_path):
    classifier = make_pipeline(StandardScaler(), PolytomyClassifier(random_state=0)).fit(X, LABELS)
    again = _again(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert repr(again) == repr(classifier)


def test_calibrators_of_the_users_own(tmp_path):
    pytest.importorskip("skops")
    for calibration in (LogisticRegression(), IsotonicRegression(out_of_bounds="clip")):
        classifier = PolytomyClassifier(SVC(), calibration=calibration, random_state=0)
        again = _again(classifier.fit(X, Y), tmp_path)
        np.testing.assert_array_equal(again.decisions(X), classifier.decisions(X))
    own = PolytomyClassifier(SVC(), calibration=TemperatureCalibrator(), random_state=0)
    assert repr(_again(own.fit(X, Y), tmp_path)) == repr(own)


def test_a_precomputed_kernel(tmp_path):
    pytest.importorskip("skops")
    classifier = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(X @ X.T, Y)
    _assert_same(*_pair(classifier, tmp_path), X @ X.T)


def test_what_cannot_be_saved_is_told(tmp_path):
    path = tmp_path / "m.polytomy"
    with pytest.raises(ArgumentError, match="the classifier is not fitted"):
        save(PolytomyClassifier(), path)
    with pytest.raises(ArgumentError, match=r"SVC cannot be saved\. Give a PolytomyClassifier"):
        save(SVC(), path)
    by_function = PolytomyClassifier(solver=lambda s, r: np.ones((len(r), 3)) / 3).fit(X, Y)
    with pytest.raises(ArgumentError, match=r'Save classifier.with_solver\("least-squares"\)'):
        save(by_function, path)
    fitted = PolytomyClassifier().fit(X, Y)
    with pytest.raises(ArgumentError, match="cannot be saved; give a dict of text"):
        save(fitted, path, metadata={"a": object()})
    with pytest.raises(FileNotFoundError):
        load(path)
    assert list(tmp_path.iterdir()) == []


def test_parameters_that_are_not_kept_are_warned_of(tmp_path):
    classifier = PolytomyClassifier(cv=StratifiedKFold(3), random_state=0).fit(X, Y)
    with pytest.warns(PolytomyWarning, match=r"cv=StratifiedKFold.* is not kept in the file"):
        again = _again(classifier, tmp_path)
    assert again.cv == 5
    np.testing.assert_array_equal(again.decisions(X), classifier.decisions(X))


def test_information_without_the_model(tmp_path):
    scheme = 'a {setosa "svc C=10" {versicolor virginica}}'
    estimator = make_pipeline(StandardScaler(), LinearSVC())
    classifier = PolytomyClassifier(estimator, scheme, random_state=0).fit(X, LABELS)
    save(classifier, tmp_path / "m.polytomy", metadata={"target": "kind", "columns": ["a", "b"]})
    info = read_info(tmp_path / "m.polytomy")
    assert (info.kind, info.format_version) == ("model of polytomy", 1)
    assert info.versions["polytomy"] == pt.__version__
    assert info.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert info.kinds == {"scaled linear-svc": 1, "svc": 1}
    assert info.n_support_vectors == len(classifier.binaries_[1].estimator.support_)
    assert (info.solver, info.n_features) == ("least-squares", 4)
    assert pt.parse(info.scheme) == classifier.scheme_
    assert info.metadata == {"target": "kind", "columns": ["a", "b"]}
    assert info.n_bytes == (tmp_path / "m.polytomy").stat().st_size


def test_the_same_model_gives_the_same_file(tmp_path):
    classifier = PolytomyClassifier(random_state=0).fit(X, Y)
    for name in ("a", "b"):
        save(classifier, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_support_vectors_are_stored_once(tmp_path):
    random = np.random.default_rng(1)
    samples = random.normal(size=(600, 30))
    labels = random.integers(0, 6, 600)  # nothing to learn: all samples support all their machines
    classifier = PolytomyClassifier(SVC(gamma=0.03), calibration=None).fit(samples, labels)
    n_supports = sum(len(binary.estimator.support_) for binary in classifier.binaries_)
    assert n_supports > 4 * len(samples)  # a class's samples support five machines each
    save(classifier, tmp_path / "m.polytomy")
    assert read_info(tmp_path / "m.polytomy").n_support_vectors <= len(samples)
    assert (tmp_path / "m.polytomy").stat().st_size < 1.5 * samples.nbytes


def test_versions(tmp_path):
    classifier = PolytomyClassifier(random_state=0).fit(X, Y)
    save(classifier, tmp_path / "m.polytomy")

    def rewritten(**changes):
        with zipfile.ZipFile(tmp_path / "m.polytomy") as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        description = json.loads(members["model.json"]) | changes
        members["model.json"] = json.dumps(description).encode()
        with zipfile.ZipFile(tmp_path / "new.polytomy", "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return tmp_path / "new.polytomy"

    np.testing.assert_array_equal(load(rewritten()).predict(X), classifier.predict(X))
    with pytest.raises(ModelFileError, match=r"written by polytomy 9\.9 in format 2; this version"):
        load(rewritten(format_version=2, versions={"polytomy": "9.9"}))
    with pytest.raises(ModelFileError, match="does not tell its format's version"):
        load(rewritten(format_version="1"))
    with pytest.raises(ModelFileError, match="this is no model that polytomy saved"):
        load(rewritten(format="zip"))
