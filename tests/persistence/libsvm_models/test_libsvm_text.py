"""LIBSVM's model files, printed and parsed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from persistence.libsvm.libsvm_files import FOLDER
from persistence.saved_archives import peak_memory
from polytomy.errors import ModelFileError
from polytomy.persistence.libsvm_models import parse_libsvm, print_libsvm, read_model


def test_printing_then_parsing_returns_the_same_model():
    for file in sorted(FOLDER.glob("*.model")):
        model = parse_libsvm(file.read_bytes(), "m")
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
        ("svm_type c_svc", "svm_type one_class", "only c_svc and nu_svc are classifiers"),
        ("svm_type c_svc", "svm_type c_svc c_svc", "svm_type is not one word"),
        ("kernel_type rbf", "kernel_type precomputed", "kernel_type is not one that can be read"),
        ("gamma 0.5", "gamma nan", "gamma does not consist of finite numbers"),
        ("gamma 0.5", "gamma 1_0", "gamma does not consist of finite numbers"),
        ("gamma 0.5\n", "", "gamma is missing"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", "line 4: gamma is repeated"),
        ("gamma 0.5", "gamma 0.5\n", "line 4: the line is empty"),
        ("gamma 0.5", "delta 0.5", "line 3: the first word is unknown; this is not a LIBSVM model"),
        ("nr_class 3", "nr_class 4", "label does not list 4 different classes"),
        ("nr_class 3", "nr_class 99999999999", "nr_class does not consist of integers"),
        ("nr_class 3", "nr_class 4000000000", "label does not list 4000000000 different"),
        ("label ", "label 1 ", "label does not list 3 different classes"),
        ("nr_sv ", "nr_sv 1 ", "nr_sv does not list a count for each of 3 classes"),
        ("rho ", "rho 1 ", "rho has 4 numbers instead of 3"),
        ("svm_type c_svc", "svm_type secret", "svm_type is unknown; only c_svc and nu_svc"),
        ("rho ", "rho inf ", "rho has 4 numbers instead of 3"),
        ("probA ", "probA 1 ", "probA has 4 numbers instead of 3"),
        ("SV\n", "SV\n1 2 1:1\n", "total_sv and nr_sv do not match the"),
        ("\nSV\n", "\n", "the first word is unknown"),
        ("\nSV\n", "\nSV\n1 2 x ", "a support vector needs 2 coefficients and then index:value"),
        (" 1:", " 1:1e9999 2:", "the support vectors"),
        (" 1:", " 2:1 1:", "the support vectors cannot be read"),
        (" 1:", " 0:1 1:", "the support vectors cannot be read"),
    ],
)
def test_text_that_is_not_a_model_is_refused_with_the_reason(old, new, words):
    assert old in _RBF
    with pytest.raises(ModelFileError, match=words):
        parse_libsvm(_RBF.replace(old, new, 1).encode(), "rbf.model")


def test_counts_are_checked_before_memory_is_allocated_for_them():
    n_classes = 200_000
    header = f"svm_type c_svc\nkernel_type linear\nnr_class {n_classes}\ntotal_sv {n_classes}\n"
    labels = " ".join(map(str, range(n_classes)))
    lines = "1\n" * n_classes
    text = f"{header}rho 0\nlabel {labels}\nnr_sv {'1 ' * n_classes}\nSV\n{lines}"
    peak, _ = peak_memory(_refuse, text)
    assert peak < 2**28


def _refuse(text):
    with pytest.raises(ModelFileError, match="rho has 1 numbers instead of 19999900000"):
        parse_libsvm(text.encode(), "m")


@pytest.mark.parametrize("content", [b"root:x:0:0:root\n", b"", b"svm_typesecret", b"\0\0"])
def test_a_file_that_is_not_a_model_is_not_quoted(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError) as info:
        read_model(tmp_path / "m")
    assert str(info.value) == f"{tmp_path / 'm'}: this is not a LIBSVM model"


def test_later_lines_that_are_not_of_a_model_are_not_quoted(tmp_path):
    (tmp_path / "m").write_bytes(b"svm_type c_svc\nsecret 1\n")
    with pytest.raises(ModelFileError) as info:
        read_model(tmp_path / "m")
    assert "secret" not in str(info.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "m").open("wb") as file:
        file.write(b"svm_type c_svc\n")
        file.truncate(2**31 + 1)  # sparse: it takes no space
    with pytest.raises(ModelFileError, match="larger than the limit of 2,147,483,648 bytes"):
        read_model(tmp_path / "m")


def test_an_index_that_would_need_huge_samples_is_refused():
    first = _RBF.partition("\nSV\n")[2].splitlines()[0]
    with pytest.raises(ModelFileError, match="have an index above 67108864"):
        parse_libsvm(_RBF.replace(first, first + "99999999:1").encode(), "m")


def test_probabilities_with_only_half_of_their_parameters_are_refused():
    lines = [line for line in _RBF.splitlines() if not line.startswith("probA")]
    with pytest.raises(ModelFileError, match="one of probA and probB is missing"):
        parse_libsvm("\n".join(lines).encode(), "m")


def test_an_absurd_degree_is_refused():
    lines = "kernel_type polynomial\ndegree 2147483647\ncoef0 0"
    text = _RBF.replace("kernel_type rbf", lines, 1)
    assert text != _RBF
    with pytest.raises(ModelFileError) as error:
        parse_libsvm(text.encode(), "poly.model")
    assert str(error.value) == (
        "poly.model: kernel_type has a wrong parameter: degree=2147483647 is not a degree from 0 "
        "to 1000. Degrees from 2 to 5 are usual."
    )


@given(st.data())
def test_a_changed_model_is_read_or_refused(data):
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
