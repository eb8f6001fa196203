"""Files that polytomy 0.1 wrote load and give the same answers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix

from polytomy.errors import ModelFileError
from polytomy.learners.preparation import split_pipeline
from polytomy.persistence import load

FOLDER = Path(__file__).parent / "fixtures_0_1"
NAMES = sorted(file.stem for file in FOLDER.glob("*.npz"))
# Most files can be read without optional packages.
SAVED_WITH_SKOPS = ("skops-forest-trusted", "skops-naive-bayes", "svc-precomputed")


def _read_answers(name):
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        answers = dict(file)
    X = answers["X"]
    if "is_sparse" in answers:
        X = csr_matrix(X)
    if "columns" in answers:
        X = pd.DataFrame(X, columns=answers["columns"].tolist())
    return answers, X


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_version_0_1_gives_the_same_answers(name):
    if name in SAVED_WITH_SKOPS:
        pytest.importorskip("skops")
    answers, X = _read_answers(name)
    if name == "svc-precomputed" and sklearn.__version__.startswith(("1.6.", "1.7.", "1.8.")):
        # scikit-learn itself cannot read what its version 1.9 wrote.
        words = rf"saved with scikit-learn 1\.9\.1, and {sklearn.__version__} is installed"
        with pytest.raises(ModelFileError, match=words):
            load(FOLDER / str(answers["model_file"]))
        return
    path = FOLDER / str(answers["model_file"])
    trusted = answers.get("trusted", np.array([])).tolist()
    if trusted:
        with pytest.raises(ModelFileError, match="types that are not trusted"):
            load(path)
    model = load(path, trusted=trusted)
    classifier = split_pipeline(model)[1]
    samples = X if classifier is model else model[:-1].transform(X)
    assert _as_text(classifier.classes_) == _as_text(answers["classes"])
    assert _as_text(model.predict(X)) == _as_text(answers["predict"])
    compared = {"decisions": classifier.decisions(samples)}
    for method in ("predict_proba", "decision_function"):
        if method in answers:
            compared[method] = getattr(model, method)(X)
    assert len(compared) >= 2
    assert classifier.final_calibration is None  # a classifier that is fitted again is the same
    assert classifier.composition_.final is None
    for method, values in compared.items():
        np.testing.assert_allclose(values, answers[method], rtol=1e-12, atol=1e-12)


def _as_text(labels):
    return [str(label) for label in labels.tolist()]


def test_every_saved_file_has_its_answers():
    assert {file.stem for file in FOLDER.glob("*.polytomy")} <= set(NAMES)
    assert len(NAMES) > 40
