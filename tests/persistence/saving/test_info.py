"""Information about model files."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import polytomy as pt
from persistence.libsvm.libsvm_files import FOLDER
from persistence.saved_archives import pack, replace_field, unpack
from polytomy import PolytomyClassifier
from polytomy.errors import ModelFileError
from polytomy.learners.estimator_states import share_support_vectors
from polytomy.persistence import load, read_info, save
from polytomy.persistence.saving import describe_model


@pytest.fixture
def fitted():
    X, y = load_iris(return_X_y=True)
    scheme = 'a {setosa "svc C=10" {versicolor virginica}}'
    estimator = make_pipeline(StandardScaler(), LinearSVC())
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    return PolytomyClassifier(estimator, scheme, random_state=0).fit(X, labels)


def test_a_saved_model_is_described_without_loading_it(fitted, tmp_path):
    save(fitted, tmp_path / "m.polytomy", metadata={"target": "kind", "columns": ["a", "b"]})
    info = read_info(tmp_path / "m.polytomy")
    assert (info.kind, info.format_version) == ("model of polytomy", 1)
    assert info.versions["polytomy"] == pt.__version__
    assert info.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert info.kinds == {"scaled linear-svc": 1, "svc": 1}
    assert info.n_support_vectors == len(fitted.binaries_[1].estimator.support_)
    assert (info.solver, info.n_features) == ("least-squares", 4)
    assert pt.parse(info.scheme) == fitted.scheme_
    assert info.metadata == {"target": "kind", "columns": ["a", "b"]}
    assert info.n_bytes == (tmp_path / "m.polytomy").stat().st_size


@pytest.mark.parametrize("out_of_fold", [False, True])
def test_the_final_calibration_is_described(fitted, out_of_fold, tmp_path):
    save(fitted, tmp_path / "m.polytomy", out_of_fold=out_of_fold)
    info = read_info(tmp_path / "m.polytomy")
    final = fitted.composition_.final.map
    assert info.final_calibration == {"kind": "bias", "scale": final.scale, "floor": final.floor}
    assert info.out_of_fold_score == fitted.out_of_fold_score_
    assert info.has_out_of_fold == out_of_fold
    plain = fitted.with_solver("voting")
    save(plain, tmp_path / "m.polytomy")
    info = read_info(tmp_path / "m.polytomy")
    assert (info.final_calibration, info.out_of_fold_score, info.has_out_of_fold) == (
        None,
        None,
        False,
    )


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("versions",), 3, "description.versions is not a dict of values by name"),
        (("info",), None, "description.info is not a dict of values by name"),
        (("info", "solver"), None, "info.solver is not of type str"),
        (("info", "classes"), None, "info.classes is not of type NDArray"),
        (
            ("info", "kinds"),
            {"dict": [["svc", 0.5]]},
            "info.kinds is not of type Mapping",
        ),
        (("metadata",), {"x": 1}, "metadata is not a value that polytomy writes"),
        (("info", "feature_names"), {"tuple": ["a", 3]}, "info.feature_names is not of type tuple"),
        (
            ("info", "out_of_fold_score"),
            {"dict": [["accuracy", "1"]]},
            "info.out_of_fold_score is not",
        ),
        (("model",), {"steps": []}, "description.model is not a model with a scheme"),
    ],
)
def test_a_wrong_description_is_refused_with_the_name_of_the_file(
    fitted, path, value, words, tmp_path
):
    file = tmp_path / "m.polytomy"
    save(fitted, file)
    description, members = unpack(file.read_bytes())
    replace_field(description, path, value)
    file.write_bytes(pack(description, members))
    with pytest.raises(ModelFileError, match=words) as caught:
        read_info(file)
    assert str(caught.value).count(str(file)) == 1


def test_what_is_told_of_a_file_is_true_of_its_model(fitted, tmp_path):
    """The description is written when the model is saved; the model is described again here."""
    file = tmp_path / "m.polytomy"
    save(fitted, file)
    told = read_info(file)
    loaded = load(file)
    estimators = [binary.fitted_estimator for binary in loaded.binaries_]
    found = describe_model(loaded, share_support_vectors(estimators))
    for name, value in found.items():
        if name != "classes":
            assert getattr(told, name) == value
    assert told.classes.tolist() == loaded.classes_.tolist()


def test_estimators_of_other_types_are_other_kinds(tmp_path):
    X, y = load_iris(return_X_y=True)
    save(PolytomyClassifier(GaussianNB()).fit(X, y), tmp_path / "m.polytomy")
    assert read_info(tmp_path / "m.polytomy").kinds == {"other": 3}


@pytest.mark.filterwarnings("ignore::polytomy.PolytomyWarning")  # types to trust
def test_estimators_that_need_an_argument_are_other_kinds(tmp_path):
    X, y = load_iris(return_X_y=True)
    searched = GridSearchCV(LinearSVC(), {"C": [1, 10]}, cv=2)
    save(PolytomyClassifier(searched, random_state=0).fit(X, y), tmp_path / "m.polytomy")
    assert read_info(tmp_path / "m.polytomy").kinds == {"other": 3}


def test_a_libsvm_model_is_described():
    info = read_info(FOLDER / "rbf.model")
    text = (FOLDER / "rbf.model").read_text()
    assert (info.kind, info.format_version) == ("model of LIBSVM", None)
    assert info.classes.tolist() == [-2, 4, 7]
    assert (info.n_features, info.solver) == (4, "libsvm")
    assert info.kinds == {"svc": 3}
    assert f"total_sv {info.n_support_vectors}\n" in text
    assert info.n_bytes == len(text)
