"""LIBSVM's model files, which svm-train writes and svm-predict reads (Chang and Lin 2011).

The file has a header of keys and values, a line ``SV``, and a line for each support vector: its
coefficients in the machines against the other classes, and its features as ``index:value``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from polytomy.errors import ArgumentError, ModelFileError
from polytomy.learners.svm.kernels import KERNELS, LARGEST_DEGREE, KernelFunction
from polytomy.persistence.archive import open_model_file, read_text_content

#: LIBSVM's names of kernels, and scikit-learn's.
_KERNELS = {kernel.libsvm_name: name for name, kernel in KERNELS.items()}
_PRECOMPUTED = "precomputed"
_TYPES = ("c_svc", "nu_svc")
_OTHER_TYPES = ("one_class", "epsilon_svr", "nu_svr")
_KEYS = {
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho"),
    *("label", "probA", "probB", "prob_density_marks", "nr_sv"),
}
_LONGEST_KEY = max(map(len, _KEYS))
# Samples become rows of this many numbers, so memory must be bounded.
_LARGEST_INDEX = 2**26
_PAIR = re.compile(rb"[0-9]+:[-+.0-9eE]+")


@dataclass(frozen=True, slots=True, eq=False)
class LibsvmModel:
    """A model of LIBSVM: one machine for each pair of classes, with common support vectors.

    Attributes
    ----------
    svm_type : "c_svc" or "nu_svc"
    kernel : KernelFunction
        A precomputed kernel is a linear one whose support vectors select columns of kernel values.
    is_precomputed : bool
    labels : the classes, in the order of the file
    n_vectors : number of support vectors of each class; vectors are sorted by class
    vectors : CSR array of shape (n_support, n_features)
    coefficients : array of shape (n_classes − 1, n_support)
    rho : array of one value for each pair of classes; f(x) = Σ coefficient · K(vector, x) − rho
    prob_a, prob_b : array of one value for each pair, or None
        P(first class) = 1 / (1 + exp(A·f + B))
    """

    svm_type: str
    kernel: KernelFunction
    is_precomputed: bool
    labels: tuple[int, ...]
    n_vectors: tuple[int, ...]
    vectors: csr_array
    coefficients: NDArray[np.float64]
    rho: NDArray[np.float64]
    prob_a: NDArray[np.float64] | None = None
    prob_b: NDArray[np.float64] | None = None

    @property
    def n_features(self) -> int:
        """The largest index of a feature."""
        return int(self.vectors.shape[1])

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of classes in the order of `rho`."""
        n_classes = len(self.labels)
        yield from ((i, j) for i in range(n_classes) for j in range(i + 1, n_classes))


def read_model(path: str | os.PathLike[str]) -> LibsvmModel:
    """Return the model in a file; ModelFileError if it is not one.

    Messages do not quote a file that is not a model: a control file can name any file.
    """
    source = os.fspath(path)
    with open_model_file(path) as file:
        head = file.read(_LONGEST_KEY + 1)
        if head.split(b" ")[0].decode("ascii", "replace") not in _KEYS:
            raise ModelFileError(f"{source}: this is not a LIBSVM model")
    return parse_libsvm(read_text_content(path), source)


def parse_libsvm(content: bytes, source: str) -> LibsvmModel:
    """Return the model in a file's content; ModelFileError with the line if it is not one."""
    header, lines, first = _split_header(content, source)
    reader = _Header(header, source)
    svm_type = reader.word("svm_type")
    if svm_type not in _TYPES:
        shown = svm_type if svm_type in _OTHER_TYPES else "unknown"
        raise reader.fault("svm_type", f"is {shown}; only c_svc and nu_svc are classifiers")
    kernel, is_precomputed = _kernel(reader)
    labels = reader.integers("label")
    n_classes = reader.integer("nr_class")
    if len(labels) != n_classes or len(set(labels)) < n_classes or n_classes < 2:
        raise reader.fault("label", f"does not list {n_classes} different classes, two or more")
    n_vectors = reader.integers("nr_sv")
    if len(n_vectors) != n_classes or min(n_vectors) < 0:
        raise reader.fault("nr_sv", f"does not list a count for each of {n_classes} classes")
    if not sum(n_vectors) == reader.integer("total_sv") == len(lines):
        raise reader.fault("total_sv", f"and nr_sv do not match the {len(lines)} lines after SV")
    n_pairs = n_classes * (n_classes - 1) // 2
    # Before the coefficients: with a number for each pair, the size of the file bounds the memory.
    rho = reader.numbers("rho", n_pairs)
    optional = [
        reader.numbers(key, n_pairs) if key in header else None for key in ("probA", "probB")
    ]
    if (optional[0] is None) != (optional[1] is None):
        raise ModelFileError(f"{source}: one of probA and probB is missing")
    coefficients, vectors = _vectors(lines, n_classes - 1, is_precomputed, first, source)
    return LibsvmModel(
        svm_type,
        kernel,
        is_precomputed,
        tuple(labels),
        tuple(n_vectors),
        vectors,
        coefficients,
        rho,
        *optional,
    )


def print_libsvm(model: LibsvmModel) -> str:
    """Return the text of a model file; all numbers read back exactly."""
    kernel = model.kernel
    lines = [f"svm_type {model.svm_type}", f"kernel_type {kernel.about.libsvm_name}"]
    lines += [f"{name} {value!r}" for name, value in kernel.parameters.items()]
    lines += [
        f"nr_class {len(model.labels)}",
        f"total_sv {sum(model.n_vectors)}",
        f"rho {_joined(model.rho.tolist())}",
        f"label {_joined(model.labels)}",
    ]
    if model.prob_a is not None and model.prob_b is not None:
        lines += [f"probA {_joined(model.prob_a.tolist())}"]
        lines += [f"probB {_joined(model.prob_b.tolist())}"]
    lines += [f"nr_sv {_joined(model.n_vectors)}", "SV"]
    vectors = model.vectors
    for row, coefficients in enumerate(model.coefficients.T.tolist()):
        part = slice(vectors.indptr[row], vectors.indptr[row + 1])
        indices, values = (vectors.indices[part] + 1).tolist(), vectors.data[part].tolist()
        pairs = [f"{index}:{value!r}" for index, value in zip(indices, values, strict=True)]
        lines.append(" ".join([*map(repr, coefficients), *pairs, ""]))
    return "\n".join(lines) + "\n"


def _joined(numbers: Sequence[Any]) -> str:
    return " ".join(map(repr, numbers))


def _split_header(content: bytes, source: str) -> tuple[dict[str, list[str]], list[bytes], int]:
    """Return the header, the lines of support vectors, and the line number of the first one."""
    lines = content.split(b"\n")
    header: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        words = line.decode("ascii", "replace").split()
        if words == ["SV"]:
            return header, [each for each in lines[number:] if each.strip()], number + 1
        if not words or words[0] not in _KEYS or words[0] in header:
            what = "the line is empty"
            if words:
                # Only LIBSVM's own words are quoted: the file may be anything.
                is_known = words[0] in _KEYS
                what = f"{words[0]} is repeated" if is_known else "the first word is unknown"
            raise ModelFileError(f"{source}, line {number}: {what}; this is not a LIBSVM model")
        header[words[0]] = words[1:]
    raise ModelFileError(f"{source}: the line SV is missing; the file is incomplete")


class _Header:
    """The header of a model file; its values are checked when they are read."""

    def __init__(self, header: dict[str, list[str]], source: str) -> None:
        self._header, self._source = header, source

    def word(self, key: str) -> str:
        words = self._words(key)
        if len(words) != 1:
            raise self.fault(key, "is not one word")
        return words[0]

    def integer(self, key: str) -> int:
        return self._integer(key, self.word(key))

    def integers(self, key: str) -> list[int]:
        return [self._integer(key, word) for word in self._words(key)]

    def number(self, key: str) -> float:
        return float(self.numbers(key, 1)[0])

    def numbers(self, key: str, count: int) -> NDArray[np.float64]:
        words = self._words(key)
        if len(words) != count:
            raise self.fault(key, f"has {len(words)} numbers instead of {count}")
        try:
            values = np.array([_number(word) for word in words])
        except ValueError:
            raise self.fault(key, "does not consist of finite numbers") from None
        return values

    def _words(self, key: str) -> list[str]:
        if key not in self._header:
            raise self.fault(key, "is missing")
        return self._header[key]

    def _integer(self, key: str, word: str) -> int:
        if not re.fullmatch(r"[-+]?[0-9]{1,10}", word):
            raise self.fault(key, "does not consist of integers")
        return int(word)

    def fault(self, key: str, what: str) -> ModelFileError:
        return ModelFileError(f"{self._source}: {key} {what}")


def _kernel(reader: _Header) -> tuple[KernelFunction, bool]:
    name = reader.word("kernel_type")
    if name == _PRECOMPUTED:
        return KernelFunction("linear"), True
    if name not in _KERNELS:
        raise reader.fault("kernel_type", "is not a kernel of LIBSVM")
    kind = _KERNELS[name]
    used = KERNELS[kind].parameters
    gamma = reader.number("gamma") if "gamma" in used else 0.0
    degree = reader.integer("degree") if "degree" in used else 0
    if degree < 0:
        raise reader.fault("degree", "is negative")
    if degree > LARGEST_DEGREE:
        raise reader.fault("degree", f"is {degree}; polytomy reads degrees up to {LARGEST_DEGREE}")
    coef0 = reader.number("coef0") if "coef0" in used else 0.0
    try:
        return KernelFunction(kind, gamma, degree, coef0), False
    except ArgumentError as error:
        raise reader.fault("kernel_type", f"has a wrong parameter: {error}") from error


def _vectors(
    lines: list[bytes], n_coefficients: int, is_precomputed: bool, first: int, source: str
) -> tuple[NDArray[np.float64], csr_array]:
    """Return the coefficients and the vectors in the lines after SV."""
    coefficients = np.empty((len(lines), n_coefficients))
    pairs = []
    for row, line in enumerate(lines):
        words = line.split()
        rest = words[n_coefficients:]
        try:
            numbers = [_number(word.decode("ascii")) for word in words[:n_coefficients]]
            coefficients[row] = numbers
            if not all(map(_PAIR.fullmatch, rest)):
                raise ValueError
        except ValueError:
            raise ModelFileError(
                f"{source}, line {first + row}: a support vector needs {n_coefficients} "
                "coefficients and then index:value pairs, all of them finite numbers"
            ) from None
        pairs.append(rest)
    if is_precomputed:
        return coefficients.T.copy(), _picked_columns(pairs, first, source)
    text = b"\n".join(b"0 " + b" ".join(rest) for rest in pairs)
    try:
        X: Any = load_svmlight_file(BytesIO(text), zero_based=False)[0]
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"{source}: the support vectors cannot be read: {error}") from error
    if X.shape[0] != len(lines) or X.shape[1] > _LARGEST_INDEX or not np.isfinite(X.data).all():
        raise ModelFileError(
            f"{source}: the support vectors are not finite, or have an index above {_LARGEST_INDEX}"
        )
    return coefficients.T.copy(), csr_array(X)


def _picked_columns(pairs: list[list[bytes]], first: int, source: str) -> csr_array:
    """Return vectors that each select one column from rows of kernel values."""
    serials = []
    for row, rest in enumerate(pairs):
        index, _, value = rest[0].partition(b":") if rest else (b"", b"", b"")
        if index != b"0" or not value.isdigit() or not 1 <= int(value) <= _LARGEST_INDEX:
            raise ModelFileError(
                f"{source}, line {first + row}: a support vector of a precomputed kernel must be "
                "0:number"
            )
        serials.append(int(value) - 1)
    n_rows, n_columns = len(serials), max(serials, default=-1) + 1
    parts = np.ones(n_rows), (np.arange(n_rows), np.array(serials, dtype=np.intp))
    return csr_array(parts, shape=(n_rows, n_columns))


def _number(word: str) -> float:
    value = float(word)
    if "_" in word or not math.isfinite(value):
        raise ValueError
    return value
