import pytest
from sklearn.svm import SVC, NuSVC

from polytomy.binary.libsvm_options import classifier_from_options
from polytomy.errors import ArgumentError

# LIBSVM's defaults, where scikit-learn has others.
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
def test_options(options, expected):
    made = classifier_from_options(options.split())
    assert type(made) is type(expected)
    assert made.get_params() == expected.get_params()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-c", "option -c has no value. Put one after it."),
        ("-t 0 -g", "option -g has no value. Put one after it."),
        ("-c ten", "option -c needs a number, not ten."),
        ("-d 2.5", "option -d needs a whole number, not 2.5."),
        ("-h yes", "option -h needs 0 or 1, not yes."),
        ("-b 2", "option -b needs 0 or 1, not 2."),
        (
            "-t 5",
            "option -t has no 5. It knows 0 (linear), 1 (poly), 2 (rbf), 3 (sigmoid), "
            "4 (precomputed).",
        ),
        (
            "-s 2",
            "-s 2 is one-class SVM, which tells no two classes apart. "
            "Use -s 0 (C-SVC) or -s 1 (nu-SVC).",
        ),
        (
            "-s 3",
            "-s 3 is epsilon-SVR, which tells no two classes apart. "
            "Use -s 0 (C-SVC) or -s 1 (nu-SVC).",
        ),
        (
            "-s -1",
            "option -s has no -1. It knows 0 (C-SVC), 1 (nu-SVC), 2 (one-class SVM), "
            "3 (epsilon-SVR), 4 (nu-SVR).",
        ),
        ("-p 0.1", "option -p is for regression only. Leave it out."),
        ("-v 5", "option -v is for cross-validation only. Leave it out."),
        (
            "-w2 1",
            "option -w2 weighs a class that no binary has. "
            "The sides are -1 and 1: use -w-1 or -w1.",
        ),
        (
            "-x 1",
            "-x is no option of LIBSVM. It knows -s -t -d -g -r -c -n -m -e -h -b -w1 -w-1 -q.",
        ),
        (
            "-c 1 10",
            "10 stands where an option is due (-s -t -d -g -r -c -n -m -e -h -b -w1 -w-1 -q).",
        ),
    ],
)
def test_errors(options, words):
    with pytest.raises(ArgumentError) as caught:
        classifier_from_options(options.split())
    assert str(caught.value) == words
