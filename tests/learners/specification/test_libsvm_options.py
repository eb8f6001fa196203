"""LIBSVM's options: every one has its parameter in scikit-learn, and errors name the option."""

import pytest
from sklearn.svm import SVC, NuSVC

from polytomy.errors import ArgumentError
from polytomy.learners.specification import classifier_from_options

# LIBSVM's defaults that differ from scikit-learn's.
DEFAULTS = {"gamma": "auto", "cache_size": 100}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", SVC(**DEFAULTS)),
        ("-q", SVC(**DEFAULTS)),
        ("-c 10 -g 0.1", SVC(C=10, gamma=0.1, cache_size=100)),
        ("-c 1 -c 2", SVC(C=2, **DEFAULTS)),
        ("-g 0", SVC(**DEFAULTS)),
        ("-t 0", SVC(kernel="linear", **DEFAULTS)),
        ("-t 1 -d 4 -r 2.5", SVC(kernel="poly", degree=4, coef0=2.5, **DEFAULTS)),
        ("-t 2", SVC(kernel="rbf", **DEFAULTS)),
        ("-t 3 -r -1", SVC(kernel="sigmoid", coef0=-1, **DEFAULTS)),
        ("-t 4", SVC(kernel="precomputed", **DEFAULTS)),
        ("-e 1e-5 -h 0 -m 300", SVC(tol=1e-5, shrinking=False, cache_size=300, gamma="auto")),
        ("-h 1 -b 1 -q -n 0.2", SVC(**DEFAULTS)),
        ("-w1 2 -w-1 0.5", SVC(class_weight={1: 2, -1: 0.5}, **DEFAULTS)),
        ("-s 0", SVC(**DEFAULTS)),
        ("-s 1 -n 0.3 -c 7", NuSVC(nu=0.3, **DEFAULTS)),
        ("-s 1", NuSVC(nu=0.5, **DEFAULTS)),
        (
            "-s 0 -t 2 -c 10 -g 0.1 -d 3 -r 0 -e 0.001 -h 0 -m 100 -n 0.5 -b 1 -w1 2 -w-1 3 -q",
            SVC(C=10, gamma=0.1, shrinking=False, cache_size=100, class_weight={1: 2, -1: 3}),
        ),
    ],
)
def test_options_are_parameters_of_scikit_learn(options, expected):
    made = classifier_from_options(options.split())
    assert type(made) is type(expected)
    assert made.get_params() == expected.get_params()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-c", "option -c has no value. Add one after it."),
        ("-t 0 -g", "option -g has no value. Add one after it."),
        ("-c ten", "option -c must be a number; got ten."),
        ("-d 2.5", "option -d must be a whole number; got 2.5."),
        ("-h yes", "option -h must be 0 or 1; got yes."),
        ("-b 2", "option -b must be 0 or 1; got 2."),
        (
            "-t 5",
            "option -t must be 0 (linear), 1 (poly), 2 (rbf), 3 (sigmoid), 4 (precomputed); got 5.",
        ),
        (
            "-s 2",
            "-s 2 is one-class SVM, which is not a classifier. Use -s 0 (C-SVC) or -s 1 (nu-SVC).",
        ),
        (
            "-s 3",
            "-s 3 is epsilon-SVR, which is not a classifier. Use -s 0 (C-SVC) or -s 1 (nu-SVC).",
        ),
        (
            "-s -1",
            "option -s must be 0 (C-SVC), 1 (nu-SVC), 2 (one-class SVM), 3 (epsilon-SVR), "
            "4 (nu-SVR); got -1.",
        ),
        ("-p 0.1", "option -p is for regression only. Remove it."),
        ("-v 5", "option -v is for cross-validation only. Remove it."),
        (
            "-w2 1",
            "option -w2 weights a class that a binary does not have. Its sides are -1 and 1. "
            "Use -w-1 or -w1.",
        ),
        (
            "-x 1",
            "-x is not a LIBSVM option. Use -s -t -d -g -r -c -n -m -e -h -b -w1 -w-1 -q.",
        ),
        (
            "-c 1 10",
            "10 is not an option. Use -s -t -d -g -r -c -n -m -e -h -b -w1 -w-1 -q.",
        ),
    ],
)
def test_a_wrong_option_is_named(options, words):
    with pytest.raises(ArgumentError) as caught:
        classifier_from_options(options.split())
    assert str(caught.value) == words
