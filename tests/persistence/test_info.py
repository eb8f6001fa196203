"""Information about model files."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import polytomy as pt
from persistence.libsvm.libsvm_files import FOLDER
from persistence.saved_archives import pack, replace_field, unpack
from polytomy import PolytomyClassifier
from polytomy.errors import ModelFileError
from polytomy.persistence import read_info, save


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
    assert (info.kind, info.format_version) == ("model of polytomy", 2)
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
        (("versions",), 3, "versions of the model is not an object"),
        (("parameters", "solver"), None, "solver of parameters of the model is not text"),
        (("binaries", 0, "estimator", "steps"), [], "is not a list of steps"),
        (("pools", 0, "shape"), [1, 2, 3], "pools 0 of the model does not have a valid shape"),
        (("metadata",), {"x": 1}, "a value of the model has an unknown type"),
        (("final", "kind"), "magic", "kind of final of the model is not one of bias, decoder"),
        (("final", "scale"), -1, "scale of final of the model is not a number from 0"),
        (("final", "score", "accuracy"), None, "accuracy of score of final .* is not a finite"),
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


def test_a_specification_without_a_name_is_another_kind(fitted, tmp_path):
    file = tmp_path / "m.polytomy"
    save(fitted, file)
    description, members = unpack(file.read_bytes())
    replace_field(description, ("binaries", 1, "estimator", "specification"), "")
    file.write_bytes(pack(description, members))
    assert read_info(file).kinds == {"scaled linear-svc": 1, "other": 1}


def test_a_libsvm_model_is_described():
    info = read_info(FOLDER / "rbf.model")
    text = (FOLDER / "rbf.model").read_text()
    assert (info.kind, info.format_version) == ("model of LIBSVM", None)
    assert info.classes.tolist() == [-2, 4, 7]
    assert (info.n_features, info.solver) == (4, "libsvm")
    assert info.kinds == {"svc": 3}
    assert f"total_sv {info.n_support_vectors}\n" in text
    assert info.n_bytes == len(text)
    precomputed = read_info(FOLDER / "precomputed.model")
    assert (precomputed.n_features, precomputed.kinds) == (None, {"precomputed svc": 3})
