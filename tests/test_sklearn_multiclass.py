"""scikit-learn's tests of its multi-class meta-estimators, run with polytomy's schemes instead.

Those who come from OneVsRestClassifier, OneVsOneClassifier or OutputCodeClassifier should find what
they expect. `EXCEPTIONS` lists the tests that do not apply, each with its reason; a test that is
listed and passes is a failure, as is any other test that does not pass.
"""

import importlib.util
from typing import NamedTuple

import numpy as np
import pytest
import sklearn.multiclass

from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, DataError
from polytomy.scheme.codes import random_strict, random_ternary


class OneVsRestClassifier(PolytomyClassifier):
    def __init__(self, estimator, *, n_jobs=None, verbose=0):
        super().__init__(
            estimator,
            "one-vs-rest",
            calibration=None,
            final_calibration=None,
            n_jobs=n_jobs,
            verbose=verbose,
        )


class OneVsOneClassifier(PolytomyClassifier):
    def __init__(self, estimator, *, n_jobs=None):
        super().__init__(estimator, "one-vs-one", solver="hamming", calibration=None, n_jobs=n_jobs)


class OutputCodeClassifier(PolytomyClassifier):
    def __init__(self, estimator, *, code_size=1.5, random_state=None, n_jobs=None):
        super().__init__(
            estimator,
            self.draw_code,
            calibration=None,
            final_calibration=None,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.code_size = code_size

    def draw_code(self, X, y):
        """Return a random code of as many rows as scikit-learn's.

        scikit-learn's codes may repeat rows. These do not, so they have zeros if there are not
        enough rows without zeros.
        """
        n_classes = len(np.unique(y))
        n_rows = int(n_classes * self.code_size)
        draw = random_strict if n_rows <= 2 ** (n_classes - 1) - 1 else random_ternary
        return draw(n_classes, n_rows, self.random_state)


SUBSTITUTES = (OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier)


class Reason(NamedTuple):
    """Why a test does not apply, and how it fails."""

    text: str
    raises: tuple[type[BaseException], ...] = (AssertionError,)


# pytest fails a test that expects a warning before it shows the error that came instead.
MULTI_LABEL = Reason("targets of several labels are refused", (ValueError, pytest.fail.Exception))
REGRESSOR = Reason("regressors cannot be binaries", (ArgumentError,))
WORDS = Reason("the words of an error differ")
TIES = Reason("ties go to the first class; scikit-learn adds confidences to the votes")

EXCEPTIONS = {
    "test_ovr_fit_predict_sparse": MULTI_LABEL,
    "test_ovr_always_present": MULTI_LABEL,
    "test_ovr_multiclass": MULTI_LABEL,
    "test_ovr_multilabel": MULTI_LABEL,
    "test_ovr_multilabel_dataset": MULTI_LABEL,
    "test_ovr_multilabel_predict_proba": MULTI_LABEL,
    "test_ovr_multilabel_decision_function": MULTI_LABEL,
    "test_ovr_ovo_regressor": REGRESSOR,
    "test_ovr_binary": REGRESSOR,
    "test_ovr_single_label_predict_proba": REGRESSOR,
    "test_ovr_exceptions": WORDS,
    "test_ovr_partial_fit_exceptions": WORDS,
    "test_ovo_partial_fit_predict": WORDS,
    # Where polytomy chose differently.
    "test_ovo_decision_function": TIES,
    "test_ovo_ties": TIES,
    "test_ovo_ties2": TIES,
    "test_ovo_one_class": Reason("a single class can be fitted", (pytest.fail.Exception,)),
    "test_constant_int_target": Reason("a single class has one column of probabilities, not two"),
    "test_ovr_single_label_predict_proba_zero": Reason("probabilities always sum to one"),
    "test_ecoc_delegate_sparse_base_estimator": Reason(
        "the error about sparse samples names the partition and the way out", (DataError,)
    ),
}


def load_tests():
    """Return scikit-learn's test module, made with the substitutes in place of its classes."""
    spec = importlib.util.find_spec("sklearn.tests.test_multiclass")
    if spec is None or spec.origin is None:
        pytest.skip("scikit-learn was installed without its tests", allow_module_level=True)
    # A module of its own: the one that others import keeps scikit-learn's classes.
    own = importlib.util.spec_from_file_location("sklearn_tests_of_multiclass", spec.origin)
    module = importlib.util.module_from_spec(own)
    with pytest.MonkeyPatch.context() as patch:
        for substitute in SUBSTITUTES:
            patch.setattr(sklearn.multiclass, substitute.__name__, substitute)
        own.loader.exec_module(module)
    return module


THEIRS = load_tests()
NAMES = [name for name in vars(THEIRS) if name.startswith("test_")]

for name in NAMES:
    test = getattr(THEIRS, name)
    if name in EXCEPTIONS:
        reason, raises = EXCEPTIONS[name]
        test = pytest.mark.xfail(reason=reason, raises=raises, strict=True)(test)
    globals()[name] = test


def test_the_substitutes_are_tested_in_place_of_the_classes_of_scikit_learn():
    for substitute in SUBSTITUTES:
        assert getattr(THEIRS, substitute.__name__) is substitute
        assert getattr(sklearn.multiclass, substitute.__name__) is not substitute


def test_every_exception_is_one_of_the_tests():
    only_in_new_versions = {"test_ovr_single_label_predict_proba_zero"}
    assert set(EXCEPTIONS) - set(NAMES) <= only_in_new_versions
