"""Models that LIBSVM wrote, and their decision values worked out from the text alone."""

from itertools import combinations
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
WITH_PROBABILITIES = ["linear", "polynomial", "rbf", "sigmoid", "nu"]
KERNELS = {
    "linear": lambda products, _: products,
    "polynomial": lambda products, _: (0.5 * products + 1) ** 2,
    "rbf": lambda _, squares: np.exp(-0.5 * squares),
    "votes": lambda _, squares: np.exp(-0.5 * squares),
    "nu": lambda _, squares: np.exp(-0.5 * squares),
    "sigmoid": lambda products, _: np.tanh(0.125 * products + 0.5),
}


def decision_values(name, X):
    """Return header, labels and f = Σ coefficient · K − rho of every pair, from a model's text."""
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


def machine_scores(classifier, X):
    """Return the decision values of the classifier's machines, positive for the first label."""
    return {
        (partition.negative_classes[0], partition.positive_classes[0]): -binary.scores(X)
        for partition, binary in zip(
            classifier.scheme_.partitions, classifier.binaries_, strict=True
        )
    }
