"""Data and models of LIBSVM on the command line, beside what its own programs answered."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from polytomy.datasets import read_data

FOLDER = Path(__file__).parent.parent / "persistence" / "libsvm"
has_libsvm = pytest.mark.skipif(
    shutil.which("svm-predict") is None, reason="needs the programs of LIBSVM"
)


@pytest.fixture
def flowers(here):
    for file in FOLDER.iterdir():
        shutil.copy(file, here)
    lines = Path("flowers.svm").read_text().splitlines()
    # Features that no support vector has, here and there.
    wide = [f"{line} {6 + i % 3}:{0.5 * (i % 4)}" for i, line in enumerate(lines)]
    Path("wide.svm").write_text("\n".join(wide) + "\n")
    X = read_data("flowers.svm").X.toarray()
    rows = [
        f"{line.split()[0]} 0:{i} " + " ".join(f"{k}:{value!r}" for k, value in enumerate(row, 1))
        for i, (line, row) in enumerate(zip(lines, (X @ X.T).tolist(), strict=True), 1)
    ]
    Path("kernel.svm").write_text("\n".join(rows) + "\n")
    return lines


def answers(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.split()[1:]


@has_libsvm
@pytest.mark.parametrize("name", ["linear", "polynomial", "rbf", "sigmoid", "nu", "votes"])
def test_more_features_than_the_vectors_count_as_in_svm_predict(finish, polytomy, flowers, name):
    option = "" if name == "votes" else "-b 1"
    run = finish(shell=f"svm-predict {option} wide.svm {name}.model theirs")
    assert run.code == 0
    theirs = [line.split()[0] for line in Path("theirs").read_text().splitlines()]
    ours = answers(polytomy("predict", f"{name}.model", "wide.svm"))
    assert ours == (theirs if name == "votes" else theirs[1:])


def test_every_sample_sees_its_own_features_only(polytomy, flowers):
    """Blocks of other widths give what the whole file gives."""
    whole = answers(polytomy("predict", "rbf.model", "wide.svm", "--proba"))
    told = answers(polytomy("predict", "rbf.model", "wide.svm", "--proba", "--features", "20"))
    np.testing.assert_allclose(
        np.array([line.split(",") for line in told], float),
        np.array([line.split(",") for line in whole], float),
        rtol=0,
        atol=1e-12,
    )


def test_features_that_training_did_not_see(polytomy, flowers):
    assert polytomy("train", "flowers.svm", "-o", "m.polytomy").code == 0
    outcome = polytomy("predict", "m.polytomy", "wide.svm")
    assert (outcome.code, outcome.out) == (2, "")
    words = "there is a feature 6, but there are only 4 features. Read the training data with"
    assert f"wide.svm, line 1: {words} --features 6 or more" in outcome.err
    told = polytomy("train", "flowers.svm", "-o", "m.polytomy", "--features", "8", "--json")
    assert json.loads(told.out)["features"] == 8
    assert polytomy("predict", "m.polytomy", "wide.svm").code == 0


def test_a_huge_index_is_refused_at_once(finish, flowers):
    Path("huge.svm").write_text("1 1:1\n2 2000000000:1\n")
    for line in ("train huge.svm -o m.polytomy", "predict rbf.model huge.svm"):
        outcome = finish(
            shell=f"ulimit -v 3000000; polytomy {line}", variables={"OPENBLAS_NUM_THREADS": "1"}
        )
        assert (outcome.code, outcome.out) == (2, "")
        assert "huge.svm, line 2: feature 2000000000 is beyond 16777216." in outcome.err


def test_rows_of_kernel_values_are_read_as_svm_predict_reads_them(polytomy, flowers):
    expected = Path("precomputed.out").read_text().split()
    assert answers(polytomy("predict", "precomputed.model", "kernel.svm")) == expected
    assert polytomy("convert", "precomputed.model", "-o", "p.polytomy").code == 2
    n_samples = str(len(flowers))
    assert polytomy("convert", "precomputed.model", "-o", "p.polytomy", "--features", n_samples)
    assert answers(polytomy("predict", "p.polytomy", "kernel.svm")) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("predict precomputed.model flowers.svm", "a row of kernel values is label 0:number 1:val"),
        ("predict precomputed.model iris.csv", "iris.csv, line 1: label:"),
        ("predict precomputed.model iris.csv --format csv", "--format csv does not fit: the model"),
        ("predict rbf.model kernel.svm", "If these are rows of kernel values, label 0:number"),
        ("convert precomputed.model -o p.polytomy", "Give the number of training samples as --fea"),
        ("train kernel.svm --format kernel -o p.polytomy", "a precomputed kernel and rows of kern"),
        ("distances kernel.svm --format kernel", "--format kernel has no features"),
    ],
)
def test_features_are_never_taken_for_kernel_values(polytomy, flowers, line, words):
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert not Path("p.polytomy").exists()


def test_training_on_a_precomputed_kernel(polytomy, flowers):
    pytest.importorskip("skops")
    train = ["train", "kernel.svm", "--format", "kernel", "-o", "p.polytomy"]
    estimator = ["--estimator", "svc kernel=precomputed"]
    outcome = polytomy(*train, *estimator)
    assert "--scale standard would change kernel values; give --scale none" in outcome.err
    assert polytomy(*train, *estimator, "--scale", "none").code == 0
    linear = ["train", "flowers.svm", "-o", "l.polytomy", "--estimator", "svc kernel=linear"]
    assert polytomy(*linear, "--scale", "none").code == 0
    expected = answers(polytomy("predict", "l.polytomy", "flowers.svm"))
    assert answers(polytomy("predict", "p.polytomy", "kernel.svm")) == expected


def test_every_model_that_predicts_tells_what_it_is(polytomy, flowers):
    Path("tree.control").write_text("first {7 second {-2 4}}")
    for name, kind in (
        ("rbf.model", "model of LIBSVM"),
        ("precomputed.model", "model of LIBSVM"),
        ("tree.control", "control file with models"),
    ):
        shown = polytomy("info", name)
        assert shown.code == 0
        assert shown.out.startswith(f"{name}: {kind}, ")
        told = json.loads(polytomy("info", name, "--json").out)
        assert told["classes"] == [-2, 4, 7]
        assert (told["file"], told["kind"]) == (name, kind)


@pytest.mark.parametrize("command", ["info", "predict"])
def test_an_empty_model_is_called_empty(polytomy, here, command):
    Path("m.model").write_text("")
    outcome = polytomy(command, "m.model", *(["iris.csv"] if command == "predict" else []))
    assert outcome == (2, "", "polytomy: m.model: the file is empty\n")


@has_libsvm
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_scaled_model_goes_to_libsvm_with_its_scaling(finish, polytomy, flowers, scale):
    train = ["train", "flowers.csv", "--estimator", "svc gamma=0.3", "--scale", scale]
    data = read_data("flowers.svm")
    rows = [",".join(map(str, [*row, y])) for row, y in zip(data.X.toarray(), data.y, strict=True)]
    Path("flowers.csv").write_text("\n".join(["a,b,c,d,kind", *rows]) + "\n")
    assert polytomy(*train, "-o", "m.polytomy").code == 0
    outcome = polytomy("convert", "m.polytomy", "-o", "m.model")
    assert outcome.code == 2
    assert "before the machines, which a model of LIBSVM cannot do. Give --range," in outcome.err
    assert not Path("m.model").exists()
    outcome = polytomy("convert", "m.polytomy", "-o", "m.model", "--range", "m.range", "--json")
    files = json.loads(outcome.out)
    assert [each["file"] for each in files] == ["m.model", "m.range"]
    assert [each["bytes"] for each in files] == [
        Path(name).stat().st_size for name in ("m.model", "m.range")
    ]
    line = "svm-scale -r m.range flowers.svm > s.svm && svm-predict -b 1 s.svm m.model theirs"
    assert finish(shell=line).code == 0
    theirs = [line.split()[0] for line in Path("theirs").read_text().splitlines()[1:]]
    assert answers(polytomy("predict", "m.polytomy", "flowers.csv")) == theirs
