"""Final calibrations in saved models."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import polytomy as pt
from final_maps import with_decoder
from persistence.round_trips import LABELS, X, Y, assert_same, reload
from persistence.saved_archives import pack, unpack
from polytomy import PolytomyClassifier
from polytomy.errors import ModelFileError, PolytomyWarning
from polytomy.persistence import load, save, saving

SCHEMES = ["one-vs-one", "one-vs-rest", "a {setosa b {versicolor virginica}}", "pool"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("option", ["bias", "decoder", "auto"])
def test_a_final_calibration_is_kept(scheme, option, tmp_path):
    classifier = PolytomyClassifier(scheme=scheme, final_calibration=option, random_state=0)
    again = reload(classifier.fit(X, LABELS), tmp_path)
    assert_same(classifier, again)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.out_of_fold_score_ == classifier.out_of_fold_score_


def test_the_final_calibration_of_an_ensemble_is_kept(tmp_path):
    ensemble = pt.designs.tree_ensemble(["setosa", "versicolor", "virginica"], 3, random_state=0)
    classifier = with_decoder(PolytomyClassifier(SVC(), ensemble, random_state=0).fit(X, LABELS))
    assert_same(classifier, reload(classifier, tmp_path))


def test_a_calibrator_of_the_user_is_kept(tmp_path):

    calibrator = LogisticRegression(C=7.0)
    classifier = PolytomyClassifier(final_calibration=calibrator, random_state=0).fit(X, LABELS)
    again = reload(classifier, tmp_path, out_of_fold=True)
    assert_same(classifier, again)
    assert again.final_calibration.C == 7.0
    assert not hasattr(again.final_calibration, "coef_")
    expected = classifier.with_solver("divergence").predict_proba(X)
    np.testing.assert_array_equal(again.with_solver("divergence").predict_proba(X), expected)


def test_a_calibrator_is_loaded_only_if_its_types_are_trusted(tmp_path):
    calibrator = make_pipeline(FunctionTransformer(np.nan_to_num), LogisticRegression())
    classifier = PolytomyClassifier(final_calibration=calibrator, random_state=0).fit(X, LABELS)
    with pytest.warns(PolytomyWarning, match=r"can only be loaded by naming the types to trust"):
        save(classifier, tmp_path / "m.polytomy")
    with pytest.raises(ModelFileError, match=r"types that are not trusted: numpy\.nan_to_num"):
        load(tmp_path / "m.polytomy")
    assert_same(classifier, load(tmp_path / "m.polytomy", trusted=["numpy.nan_to_num"]))


def test_an_object_that_gives_no_probabilities_is_refused(save_to_bytes, refusal, monkeypatch):
    monkeypatch.setattr(saving, "_check_readable", lambda *parts: None)
    calibrator = LogisticRegression()
    classifier = PolytomyClassifier(final_calibration=calibrator, random_state=0).fit(X, Y)
    object.__setattr__(classifier.composition_.final.map, "calibrator", SVC())
    words = "model.composition.final.map.calibrator is not an object with predict_proba"
    assert refusal(save_to_bytes(classifier)) == words


@pytest.mark.parametrize("change", [{"scale": 0}, {"scale": 0.0, "floor": 0.0}])
def test_a_zero_is_not_multiplied_by_the_logarithm_of_zero(
    decoder_model, change, refusal, tmp_path
):
    description, members = unpack(decoder_model)
    description["model"]["composition"]["final"]["map"] |= change
    content = pack(description, members)
    if "floor" in change:
        assert refusal(content).endswith("final.map.floor is not a positive number")
    else:
        (tmp_path / "m.polytomy").write_bytes(content)
        assert np.isfinite(pt.load(tmp_path / "m.polytomy").predict_proba(X)).all()
