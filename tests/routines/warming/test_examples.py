"""After the examples, nothing is left to compile."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import polytomy as pt
from polytomy.routines.compiling import count_compiled

X, Y = load_digits(return_X_y=True)
X, Y = X[:300] / 16, Y[:300]
SPARSE = csr_array(X)


def fit_and_predict(estimator, scheme="one-vs-one", samples=X, new=None, **options):
    options = {"random_state": 0, **options}
    classifier = pt.PolytomyClassifier(estimator, scheme, **options).fit(samples, Y)
    new = samples if new is None else new
    return classifier.predict(new), classifier.predict_proba(new)


def solve(method):
    code = pt.designs.one_vs_one(4).code
    answers = np.random.default_rng(0).uniform(-1, 1, (50, 6))
    answers[0, 0] = np.nan
    return pt.solve(code, answers, method=method)


def frozen(values):
    values = values.copy()
    values.flags.writeable = False
    return values


WORK = {
    "one-vs-one": lambda: fit_and_predict(SVC()),
    "one-vs-rest": lambda: fit_and_predict(SVC(), "one-vs-rest"),
    "tree": lambda: fit_and_predict(SVC(), "tree"),
    "adjacent": lambda: fit_and_predict(SVC(), "adjacent"),
    "random": lambda: fit_and_predict(SVC(), "random"),
    "orthogonal": lambda: fit_and_predict(SVC(), "orthogonal"),
    "integer parameters": lambda: fit_and_predict(SVC(gamma=1, coef0=1, tol=1), "one-vs-rest"),
    "poly": lambda: fit_and_predict(SVC(kernel="poly", gamma=1), "one-vs-rest"),
    "sigmoid": lambda: fit_and_predict(SVC(kernel="sigmoid"), "one-vs-rest"),
    "linear": lambda: fit_and_predict(SVC(kernel="linear"), "one-vs-rest"),
    "sparse": lambda: fit_and_predict(SVC(), samples=SPARSE),
    "sparse, dense": lambda: fit_and_predict(SVC(), samples=SPARSE, new=X),
    "dense, sparse": lambda: fit_and_predict(SVC(), samples=X, new=SPARSE),
    "single precision": lambda: fit_and_predict(SVC(), samples=X.astype(np.float32)),
    "single precision of prediction": lambda: fit_and_predict(SVC(), prediction_dtype="float32"),
    "columns": lambda: fit_and_predict(SVC(), new=np.asfortranarray(X)),
    "every other row": lambda: fit_and_predict(SVC(), new=X[::2]),
    "read-only": lambda: fit_and_predict(SVC(), samples=frozen(X), new=frozen(X)),
    "little memory": lambda: fit_and_predict(SVC(), "one-vs-rest", memory_budget=3e5),
    "no calibration": lambda: fit_and_predict(SVC(), final_calibration=None),
    "logistic": lambda: fit_and_predict(LogisticRegression(max_iter=50), final_calibration=None),
    "votes": lambda: (
        pt.PolytomyClassifier(LogisticRegression(max_iter=50), solver="hamming")
        .fit(X, Y)
        .predict(X)
    ),
    "divergence": lambda: solve("divergence"),
    "wu-lin-weng-1": lambda: solve("wu-lin-weng-1"),
    "least-squares": lambda: solve("least-squares"),
    "hausdorff": lambda: pt.distances.hausdorff(np.tile(X, (10, 1)), np.tile(Y, 10)),
}


@pytest.mark.parametrize("kind", WORK)
def test_after_a_warm_up_nothing_is_compiled(kind):
    pt.warm_up()
    before = count_compiled()
    WORK[kind]()
    assert count_compiled() == before
