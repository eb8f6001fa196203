"""Estimators that are not plain arrays, saved with skops."""

import io
import zipfile

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.svm import SVC

from persistence.round_trips import LABELS, X, Y, assert_same, assert_same_after_reload
from persistence.saved_archives import pack, peak_memory, unpack, with_lying_sizes
from polytomy import PolytomyClassifier
from polytomy.errors import Argument, ArgumentError, ModelFileError, PolytomyWarning
from polytomy.persistence import load, save
from polytomy.persistence.skops_objects import dump_skops_objects, load_skops_objects

TREE_TYPE = "sklearn.tree._tree.Tree"


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        SGDClassifier(average=True, random_state=0),
        make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=1000)),
        KNeighborsClassifier(algorithm="brute"),
    ],
    ids=str,
)
def test_other_estimators_answer_the_same(estimator, tmp_path):
    classifier = PolytomyClassifier(estimator, random_state=0).fit(X, LABELS)
    assert_same_after_reload(classifier, tmp_path)


def test_a_precomputed_kernel_answers_the_same(tmp_path):
    classifier = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(X @ X.T, Y)
    assert_same_after_reload(classifier, tmp_path, X @ X.T)


def test_objects_come_back_in_their_order():
    objects = [GaussianNB().fit(X, Y), PolynomialFeatures(3)]
    first, second = load_skops_objects(dump_skops_objects(objects), [], "m")
    np.testing.assert_array_equal(first.theta_, objects[0].theta_)
    assert second.degree == 3


def test_functions_that_must_be_trusted_are_named_when_saving_and_loading(tmp_path):
    estimator = make_pipeline(FunctionTransformer(np.nan_to_num), LogisticRegression())
    classifier = PolytomyClassifier(estimator, random_state=0).fit(X, LABELS)
    with pytest.warns(PolytomyWarning) as warned:
        save(classifier, tmp_path / "m.polytomy")
    assert str(warned[0].message) == (
        "FunctionTransformer can only be loaded by naming the types to trust: "
        "trusted=['numpy.nan_to_num']"
    )
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / "m.polytomy")
    assert str(caught.value) == (
        f"{tmp_path / 'm.polytomy'}: the file contains types that are not trusted: "
        "numpy.nan_to_num. If you know that they are harmless, use trusted=['numpy.nan_to_num']."
    )
    assert Argument("trusted", ["numpy.nan_to_num"]) in caught.value.args
    again = load(tmp_path / "m.polytomy", trusted=["numpy.nan_to_num"])
    assert_same(classifier, again)


def _made_inside():
    def inside(samples):
        return samples

    return inside


@pytest.mark.parametrize(
    ("function", "name"), [(lambda samples: samples, "<lambda>"), (_made_inside(), "inside")]
)
def test_functions_that_could_not_be_loaded_are_not_saved(function, name, tmp_path):
    estimator = make_pipeline(FunctionTransformer(function), GaussianNB())
    classifier = PolytomyClassifier(estimator, random_state=0).fit(X, LABELS)
    with pytest.raises(
        ArgumentError, match=f"{name} in FunctionTransformer, .* could not be loaded"
    ):
        save(classifier, tmp_path / "m.polytomy")
    assert list(tmp_path.iterdir()) == []


def iter_nothing():
    yield


def test_objects_that_skops_cannot_write_are_refused():
    with pytest.raises(ArgumentError, match=r"skops cannot save generator: .* Use joblib\.dump"):
        dump_skops_objects([iter_nothing()])


def test_only_lists_are_loaded():
    import skops.io

    with pytest.raises(ModelFileError, match="m: skops' part of the file is not a list"):
        load_skops_objects(skops.io.dumps(GaussianNB()), [], "m")


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip", b"cbuiltins\neval\n(S'1'\ntR."])
def test_content_that_skops_did_not_write_is_refused(svm_model, content, refusal):
    description, members = unpack(svm_model)
    words = refusal(pack(description, {**members, "others.skops": content}))
    assert words.startswith("skops cannot read its part of the file: ")


@pytest.mark.parametrize("saved_with", ["0.99.1", sklearn.__version__, None])
def test_another_version_of_scikit_learn_is_named_if_loading_fails(
    skops_model, refusal, monkeypatch, saved_with
):
    def fail(*_, **__):
        raise ValueError("no such parameter")

    description, members = unpack(skops_model)
    description["versions"]["scikit-learn"] = saved_with
    monkeypatch.setattr("skops.io.loads", fail)
    words = refusal(pack(description, members))
    versions = (
        f". The file was saved with scikit-learn 0.99.1, and {sklearn.__version__} is installed; "
        "estimators that skops saved may need the same version."
    )
    expected = "skops cannot read its part of the file: no such parameter"
    assert words == expected + (versions if saved_with == "0.99.1" else "")


def test_a_zip_bomb_is_not_unpacked(skops_model, refusal):
    description, members = unpack(skops_model)
    inner = io.BytesIO(members["others.skops"])
    with zipfile.ZipFile(inner, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", bytes(200_000_000))
    words = refusal(pack(description, {**members, "others.skops": inner.getvalue()}))
    assert "bytes would unpack to 200," in words


def test_a_zip_bomb_that_lies_about_its_size_is_not_unpacked(skops_model, refusal):
    description, members = unpack(skops_model)
    inner = io.BytesIO(members["others.skops"])
    with zipfile.ZipFile(inner, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.txt", bytes(200_000_000))
    lying = with_lying_sizes(inner.getvalue(), b"bomb.txt", unpacked=1000)
    peak, words = peak_memory(refusal, pack(description, {**members, "others.skops": lying}))
    assert words.startswith("skops cannot read its part of the file: Bad CRC-32")
    assert peak < 20_000_000


def test_an_array_that_lies_about_its_size_is_refused(skops_model, refusal):
    description, members = unpack(skops_model)
    inner = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(members["others.skops"])) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(inner, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part[:-8] if name.endswith(".npy") else part)
    words = refusal(pack(description, {**members, "others.skops": inner.getvalue()}))
    assert words.endswith("has the wrong size")


@given(st.data())
def test_changed_bytes_are_refused_or_harmless(skops_model, tmp_path_factory, data):
    description, members = unpack(skops_model)
    content = bytearray(members["others.skops"])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("f") / "m.polytomy"
    path.write_bytes(pack(description, {**members, "others.skops": bytes(content)}))
    try:
        classifier = load(path)
    except ModelFileError:
        return
    assert len(classifier.binaries_) == 3
