"""Models of LIBSVM, against what its own programs wrote and answered."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, NuSVC

from polytomy import PolytomyClassifier
from polytomy.datasets import read_data
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.persistence import load, read_info, read_libsvm, save, write_libsvm
from polytomy.persistence.libsvm.model_text import parse_libsvm, print_libsvm

FOLDER = Path(__file__).parent / "libsvm"
WITH_PROBABILITIES = ["linear", "polynomial", "rbf", "sigmoid", "nu"]
KERNELS = {
    "linear": lambda products, _: products,
    "polynomial": lambda products, _: (0.5 * products + 1) ** 2,
    "rbf": lambda _, squares: np.exp(-0.5 * squares),
    "votes": lambda _, squares: np.exp(-0.5 * squares),
    "nu": lambda _, squares: np.exp(-0.5 * squares),
    "sigmoid": lambda products, _: np.tanh(0.125 * products + 0.5),
}


@pytest.fixture(scope="module")
def flowers():
    data = read_data(FOLDER / "flowers.svm")
    return data.X.toarray(), data.y


def _decision_values(name, X):
    """Work out f = Σ coefficient · K − rho for every pair, from the text of a model by itself."""
    header, _, body = (FOLDER / f"{name}.model").read_text().partition("\nSV\n")
    fields = {line.split()[0]: line.split()[1:] for line in header.splitlines()}
    labels = [int(word) for word in fields["label"]]
    counts = [int(word) for word in fields["nr_sv"]]
    rows = [line.split() for line in body.splitlines()]
    n_coefficients = len(labels) - 1
    coefficients = np.array([row[:n_coefficients] for row in rows], dtype=float)
    vectors = np.zeros((len(rows), X.shape[1]))
    for vector, row in zip(vectors, rows, strict=True):
        for pair in row[n_coefficients:]:
            index, value = pair.split(":")
            vector[int(index) - 1] = float(value)
    squares = ((X[:, None] - vectors) ** 2).sum(axis=2)
    kernel = KERNELS[name](X @ vectors.T, squares)
    ends = np.concatenate([[0], np.cumsum(counts)])
    values = {}
    for number, (i, j) in enumerate(combinations(range(len(labels)), 2)):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        sums = kernel[:, of_i] @ coefficients[of_i, j - 1] + kernel[:, of_j] @ coefficients[of_j, i]
        values[labels[i], labels[j]] = sums - float(fields["rho"][number])
    return fields, labels, values


def _scores(classifier, X):
    """Return the decision values of the classifier's machines, positive for the first label."""
    return {
        (partition.negative_classes[0], partition.positive_classes[0]): -binary.scores(X)
        for partition, binary in zip(
            classifier.scheme_.partitions, classifier.binaries_, strict=True
        )
    }


@pytest.mark.parametrize("name", list(KERNELS))
def test_decision_values_are_those_of_the_file(name, flowers):
    X, _ = flowers
    classifier = read_libsvm(FOLDER / f"{name}.model")
    _, _, expected = _decision_values(name, X)
    scores = _scores(classifier, X)
    assert scores.keys() == expected.keys()
    for pair, values in expected.items():
        np.testing.assert_allclose(scores[pair], values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["votes", "precomputed"])
def test_votes_are_those_of_svm_predict(name, flowers):
    X, _ = flowers
    samples = X @ X.T if name == "precomputed" else X
    n_features = len(X) if name == "precomputed" else None
    classifier = load(FOLDER / f"{name}.model", n_features=n_features)
    assert classifier.solver == "hamming"
    expected = [int(line) for line in (FOLDER / f"{name}.out").read_text().split()]
    assert classifier.predict(samples).tolist() == expected


def test_a_tie_of_votes_goes_to_the_first_label_of_the_file(tmp_path):
    # Three machines without vectors, in a ring: each label beats the next one.
    text = """svm_type c_svc
kernel_type linear
nr_class 3
total_sv 3
rho -1 1 -1
label 7 -2 4
nr_sv 1 1 1
SV
0 0 1:1
0 0 1:2
0 0 1:3
"""
    (tmp_path / "ring.model").write_text(text)
    classifier = read_libsvm(tmp_path / "ring.model")
    X = np.zeros((2, 1))
    assert classifier.decision_function(X).tolist() == [[0.0, 0.0, 0.0]] * 2
    assert classifier.predict(X).tolist() == [7, 7]


def _coupled(pairwise, tolerance, most):
    """Iterate as LIBSVM does (Wu, Lin and Weng 2004, algorithm 2)."""
    n = len(pairwise)
    Q = -pairwise.T * pairwise
    Q[np.diag_indices(n)] = (pairwise**2).sum(axis=0)
    p = np.full(n, 1 / n)
    for _ in range(most):
        Qp = Q @ p
        if np.abs(Qp - p @ Qp).max() < tolerance:
            break
        for t in range(n):
            p[t] += (p @ Q @ p - Q[t] @ p) / Q[t, t]
            p /= p.sum()
    return p


@pytest.mark.parametrize("name", WITH_PROBABILITIES)
def test_probabilities_are_those_of_svm_predict(name, flowers):
    """svm-predict stops its iteration early; least squares is what it iterates towards."""
    X, _ = flowers
    fields, labels, values = _decision_values(name, X)
    n = len(labels)
    pairwise = np.zeros((len(X), n, n))
    for number, (first, second) in enumerate(values):
        A, B = float(fields["probA"][number]), float(fields["probB"][number])
        P = np.clip(1 / (1 + np.exp(A * values[first, second] + B)), 1e-7, 1 - 1e-7)
        i, j = labels.index(first), labels.index(second)
        pairwise[:, i, j], pairwise[:, j, i] = P, 1 - P
    lines = (FOLDER / f"{name}.out").read_text().splitlines()
    assert lines[0].split() == ["labels", *map(str, labels)]
    printed = np.array([line.split()[1:] for line in lines[1:]], dtype=float)
    stopped = np.array([_coupled(each, 0.005 / n, 100) for each in pairwise])
    np.testing.assert_allclose(stopped, printed, rtol=0, atol=1e-6)

    classifier = read_libsvm(FOLDER / f"{name}.model")
    assert classifier.classes_.tolist() == [-2, 4, 7]
    order = [classifier.classes_.tolist().index(label) for label in labels]
    np.testing.assert_allclose(classifier.predict_proba(X)[:, order], printed, rtol=0, atol=1e-6)
    np.testing.assert_allclose(classifier.predict_proba(X)[:, order], stopped, rtol=0, atol=1e-9)
    limit = np.array([_coupled(each, 1e-14, 100_000) for each in pairwise])
    exact = classifier.with_solver("least-squares").predict_proba(X)[:, order]
    np.testing.assert_allclose(exact, limit, rtol=0, atol=1e-6)
    winners = [int(float(line.split()[0])) for line in lines[1:]]
    assert classifier.predict(X).tolist() == winners


@pytest.mark.parametrize("name", [*KERNELS, "first"])
def test_writing_and_reading_gives_the_same_answers(name, flowers, tmp_path):
    X, _ = flowers
    classifier = read_libsvm(FOLDER / f"{name}.model")
    write_libsvm(classifier, tmp_path / "again.model")
    again = read_libsvm(tmp_path / "again.model")
    assert again.solver == classifier.solver
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    if name != "votes":
        np.testing.assert_allclose(
            again.predict_proba(X), classifier.predict_proba(X), rtol=0, atol=1e-12
        )
    first, second = _scores(classifier, X), _scores(again, X)
    for pair, values in first.items():
        other = second[pair] if pair in second else -second[pair[::-1]]
        np.testing.assert_allclose(values, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("estimator", [SVC(C=5, gamma=0.2), NuSVC(nu=0.1, kernel="linear")])
def test_a_trained_classifier_is_written_for_libsvm(estimator, tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(estimator, random_state=0).fit(X, y)
    write_libsvm(classifier, tmp_path / "iris.model")
    text = (tmp_path / "iris.model").read_text()
    assert text.startswith("svm_type c_svc" if isinstance(estimator, SVC) else "svm_type nu_svc")
    again = load(tmp_path / "iris.model")
    np.testing.assert_allclose(again.decisions(X), classifier.decisions(X), rtol=0, atol=1e-12)
    expected = classifier.with_solver("libsvm").predict_proba(X)
    np.testing.assert_allclose(again.predict_proba(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("classifier", "labels", "words"),
    [
        (PolytomyClassifier(), None, "the classifier is not fitted"),
        (PolytomyClassifier(), ["a", "b", "c"], "labels of LIBSVM are whole numbers, not 'a'"),
        (PolytomyClassifier(scheme="one-vs-rest"), [0, 1, 2], "one machine for each pair"),
        (PolytomyClassifier(SVC(gamma="scale")), [0, 1, 2], "with one kernel and without scalers"),
        (PolytomyClassifier(LogisticRegression()), [0, 1, 2], "made of support vector machines"),
        (
            PolytomyClassifier(make_pipeline(StandardScaler(), SVC(gamma=1))),
            [0, 1, 2],
            "without scalers",
        ),
        (
            PolytomyClassifier(SVC(gamma=1), calibration="isotonic"),
            [0, 1, 2],
            "has sigmoids for calibrators",
        ),
    ],
)
def test_what_is_no_model_of_libsvm_is_refused(classifier, labels, words, tmp_path):
    X, y = load_iris(return_X_y=True)
    if labels is not None:
        classifier.fit(X, np.array(labels)[y])
    with pytest.raises(ArgumentError, match=words):
        write_libsvm(classifier, tmp_path / "iris.model")
    assert list(tmp_path.iterdir()) == []


def test_samples_may_have_more_features_than_the_vectors(flowers):
    X, _ = flowers
    wide = np.hstack([X, np.ones((len(X), 2))])
    narrow = read_libsvm(FOLDER / "rbf.model").decisions(X)
    classifier = read_libsvm(FOLDER / "rbf.model", n_features=6)
    assert classifier.n_features_in_ == 6
    assert not np.allclose(classifier.decisions(wide), narrow)  # |x − y|² has two terms more
    with pytest.raises(ModelFileError, match="has a feature 4, but n_features=3"):
        read_libsvm(FOLDER / "rbf.model", n_features=3)


def test_kernel_values_are_never_mistaken_for_features(flowers, tmp_path):
    """Where the kernel is precomputed, nobody reads the model without saying so."""
    X, _ = flowers
    path = FOLDER / "precomputed.model"
    words = (
        r"precomputed\.model: the kernel is precomputed, so samples are rows of kernel values with "
        r"all the training samples, not features\. Give the number .* as n_features="
    )
    for read in (load, read_libsvm):
        with pytest.raises(ArgumentError, match=words):
            read(path)
    with pytest.raises(ModelFileError, match=r"is training sample \d+, but rows have 4 values"):
        load(path, n_features=4)
    classifier = load(path, n_features=len(X))
    with pytest.raises(ArgumentError, match="read from LIBSVM, but not written for it"):
        write_libsvm(classifier, tmp_path / "again.model")
    save(classifier, tmp_path / "m.polytomy")
    again = load(tmp_path / "m.polytomy")
    np.testing.assert_array_equal(again.predict(X @ X.T), classifier.predict(X @ X.T))
    (tmp_path / "c.control").write_text(f"{path} {{0 1}}")
    with pytest.raises(ModelFileError, match="it cannot answer together with other models"):
        load(tmp_path / "c.control")


def _scaled_by_svm_scale(text, X):
    """Scale as svm-scale.c does: ranges are mapped on [lower, upper], feature by feature."""
    head, bounds, *rows = text.splitlines()
    assert head == "x"
    lower, upper = map(float, bounds.split())
    scaled = np.empty_like(X)
    assert [int(row.split()[0]) for row in rows] == list(range(1, X.shape[1] + 1))
    for column, row in enumerate(rows):
        low, high = map(float, row.split()[1:])
        scaled[:, column] = lower + (upper - lower) * (X[:, column] - low) / (high - low)
    return scaled


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler(),
        MinMaxScaler((2, 5)),
        MaxAbsScaler(),
    ],
)
def test_scaling_is_written_for_svm_scale(scaler, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((len(X), 1), 3.0)])  # a feature that never changes
    classifier = PolytomyClassifier(SVC(gamma=0.2), solver="libsvm", random_state=0)
    pipeline = make_pipeline(scaler, classifier).fit(X, y)
    write_libsvm(pipeline, tmp_path / "m.model", range_file=tmp_path / "m.range")
    samples = X + np.arange(5)
    scaled = _scaled_by_svm_scale((tmp_path / "m.range").read_text(), samples)
    np.testing.assert_allclose(scaled, pipeline[0].transform(samples), rtol=0, atol=1e-12)
    answers = load(tmp_path / "m.model", n_features=5).predict_proba(scaled)
    np.testing.assert_allclose(answers, pipeline.predict_proba(samples), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("before", "options", "words"),
    [
        ([StandardScaler()], {}, r"scaled by StandardScaler before .* Give range_file=, where"),
        ([], {"range_file": "m.range"}, r"range_file=m\.range is for a scaling, but nothing is"),
        ([MinMaxScaler(clip=True)], {"range_file": "m.range"}, "no scaling that svm-scale can do"),
        ([MaxAbsScaler(), StandardScaler()], {"range_file": "m.range"}, "the pipeline has 2 steps"),
    ],
)
def test_a_scaling_that_cannot_be_written_is_told(before, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(*before, PolytomyClassifier(SVC(gamma=0.2))).fit(X, y)
    with pytest.raises(ArgumentError, match=words):
        write_libsvm(pipeline, "m.model", **options)
    assert list(tmp_path.iterdir()) == []


def test_what_a_model_of_libsvm_is():
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


@pytest.mark.parametrize("read", [load, read_info])
def test_a_file_that_is_empty_or_no_model_is_told(read, tmp_path):
    (tmp_path / "m.model").write_text("")
    with pytest.raises(ModelFileError, match=r"m\.model: the file is empty"):
        read(tmp_path / "m.model")
    (tmp_path / "m.model").write_text("a {0 1}\n")
    with pytest.raises(ModelFileError, match=r"line 1: 'a' is unknown .* no model of LIBSVM"):
        read(tmp_path / "m.model")


def test_a_model_in_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="a model is read from a file, not from a pipe"):
        load(tmp_path / "pipe")


def test_a_model_of_libsvm_can_be_saved(flowers, tmp_path):
    X, _ = flowers
    for name in (*KERNELS, "first"):
        classifier = load(FOLDER / f"{name}.model")
        save(classifier, tmp_path / "m.polytomy")
        np.testing.assert_array_equal(
            load(tmp_path / "m.polytomy").decisions(X), classifier.decisions(X)
        )


def test_printing_then_parsing_returns_the_same_model():
    for file in sorted(FOLDER.glob("*.model")):
        model = parse_libsvm(file.read_bytes(), "m")
        if model.is_precomputed:
            continue
        again = parse_libsvm(print_libsvm(model).encode(), "m")
        assert (again.labels, again.kernel) == (model.labels, model.kernel)
        assert (again.n_vectors, again.svm_type) == (model.n_vectors, model.svm_type)
        for name in ("coefficients", "rho", "prob_a", "prob_b"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert (again.vectors != model.vectors).nnz == 0


_RBF = (FOLDER / "rbf.model").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("svm_type c_svc", "svm_type one_class", "only c_svc and nu_svc tell classes apart"),
        ("svm_type c_svc", "svm_type c_svc c_svc", "svm_type is not one word"),
        ("kernel_type rbf", "kernel_type cosine", "is cosine, which is no kernel of LIBSVM"),
        ("gamma 0.5", "gamma nan", "gamma is not made of finite numbers"),
        ("gamma 0.5", "gamma 1_0", "gamma is not made of finite numbers"),
        ("gamma 0.5\n", "", "gamma is missing"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", "line 4: 'gamma' is unknown or repeated"),
        ("gamma 0.5", "gamma 0.5\n", "line 4: the line is empty"),
        ("gamma 0.5", "delta 0.5", "line 3: 'delta' is unknown or repeated"),
        ("nr_class 3", "nr_class 4", "label does not name 4 different classes"),
        ("nr_class 3", "nr_class 99999999999", "nr_class is not made of whole numbers"),
        ("nr_class 3", "nr_class 4000000000", "label does not name 4000000000 different"),
        ("label ", "label 1 ", "label does not name 3 different classes"),
        ("nr_sv ", "nr_sv 1 ", "nr_sv does not have a count for each of 3 classes"),
        ("rho ", "rho 1 ", "rho has 4 numbers; 3 are due"),
        ("rho ", "rho inf ", "rho has 4 numbers; 3 are due"),
        ("probA ", "probA 1 ", "probA has 4 numbers; 3 are due"),
        ("SV\n", "SV\n1 2 1:1\n", "total_sv and nr_sv are not the"),
        ("\nSV\n", "\n", "is unknown or repeated"),
        ("\nSV\n", "\nSV\n1 2 x ", "a support vector is 2 coefficients and then index:value"),
        (" 1:", " 1:1e9999 2:", "the support vectors"),
        (" 1:", " 2:1 1:", "the support vectors cannot be read"),
        (" 1:", " 0:1 1:", "the support vectors cannot be read"),
    ],
)
def test_a_model_that_is_none_is_told_why(old, new, words):
    assert old in _RBF
    with pytest.raises(ModelFileError, match=words):
        parse_libsvm(_RBF.replace(old, new, 1).encode(), "rbf.model")


def test_an_index_that_would_need_huge_samples_is_refused():
    first = _RBF.partition("\nSV\n")[2].splitlines()[0]
    with pytest.raises(ModelFileError, match="have an index above 67108864"):
        parse_libsvm(_RBF.replace(first, first + "99999999:1").encode(), "m")


def test_half_of_the_probabilities_is_refused():
    lines = [line for line in _RBF.splitlines() if not line.startswith("probA")]
    with pytest.raises(ModelFileError, match="of probA and probB there is only one"):
        parse_libsvm("\n".join(lines).encode(), "m")


@given(st.data())
def test_a_changed_model_is_read_or_refused_and_nothing_else(data):
    content = bytearray(_RBF.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["change", "remove", "insert", "cut"]))
        if kind == "cut":
            del content[at:]
            break
        if kind == "remove":
            del content[at : at + data.draw(st.integers(1, 40))]
        elif kind == "insert":
            content[at:at] = data.draw(st.binary(min_size=1, max_size=8))
        else:
            content[at] = data.draw(st.integers(0, 255))
        if not content:
            break
    try:
        model = parse_libsvm(bytes(content), "m")
    except ModelFileError:
        return
    assert np.isfinite(model.coefficients).all()
    assert np.isfinite(model.vectors.data).all()
    assert sum(model.n_vectors) == model.vectors.shape[0]
