"""Groups of kernel machines that share their support vectors.

Each kernel value of a sample and a support vector is computed once for all machines that use the
vector. Machines with different kernel functions, or after different scalers, form separate groups.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.svm import SVC, NuSVC

from polytomy.banks.evaluators import Weights, make_evaluator
from polytomy.banks.scaling import Scaling, peel_scalers
from polytomy.banks.vector_union import Pool, pool_by_bytes, pool_by_index
from polytomy.binary.answers import Output, TrainedBinary
from polytomy.inputs.samples import Samples, input_key
from polytomy.inputs.sparse import check_sparse, is_sparse
from polytomy.svm.kernel_functions import KernelFunction, squared_lengths

__all__ = ["KernelGroup", "KernelMember", "is_exact", "kernel_member"]

# Sparse rows are not centred. Up to this γ|y|², distances computed from inner products are accurate
# enough.
_LARGEST_SPARSE_EXPONENT = 1e5


class KernelMember(NamedTuple):
    """One machine of a group.

    Attributes
    ----------
    binary : the trained binary
    kernel : its kernel function
    scaling : scaling of the samples before the kernel
    vectors : its support vectors, or all vectors of its pool
    support : its rows of the pool; None if all vectors are its own
    coefficients, intercept : those of its decision function, which is positive on the +1 side
    """

    binary: TrainedBinary
    kernel: KernelFunction
    scaling: Scaling | None
    vectors: Any
    support: NDArray[np.intp] | None
    coefficients: NDArray[np.float64]
    intercept: float

    @property
    def key(self) -> Hashable:
        """Equal for machines that can be evaluated together."""
        return (
            self.kernel,
            None if self.scaling is None else self.scaling.key,
            is_sparse(self.vectors),
            None if self.support is None else id(self.vectors),
            input_key(self.binary.estimator, self.vectors.shape[1]),
        )


def kernel_member(binary: TrainedBinary) -> KernelMember | None:
    """Return a binary as a member of a group, or None if it is not an SVM with a known kernel.

    Machines are fitted SVCs and NuSVCs, alone or after scalers in a pipeline, and objects like
    KernelMachine: they have a KernelFunction `kernel`, `pool.vectors`, `support_`, `dual_coef_` and
    `intercept_`.
    """
    peeled = peel_scalers(binary.estimator) if binary.output is Output.MARGIN else None
    if peeled is None:
        return None
    scaling, machine = peeled
    function: KernelFunction | None = None
    vectors: Any = None
    support: NDArray[np.intp] | None = None
    if type(machine) in (SVC, NuSVC):
        function, vectors = KernelFunction.of(machine), machine.support_vectors_
    elif isinstance(getattr(machine, "kernel", None), KernelFunction):
        function, vectors = machine.kernel, machine.pool.vectors
        support = np.asarray(machine.support_, dtype=np.intp)
    if function is None:
        return None
    coefficients = machine.dual_coef_
    if is_sparse(coefficients):
        coefficients = check_sparse(coefficients, "dual_coef_").toarray()
    sign = 1.0 if binary.positive_index == 1 else -1.0
    intercept = sign * float(np.ravel(machine.intercept_)[0])
    return KernelMember(
        binary, function, scaling, vectors, support, sign * np.ravel(coefficients), intercept
    )


class KernelGroup:
    """Machines of one kernel over one pool of support vectors.

    Parameters
    ----------
    columns : array of int
        Positions of the members among the binaries of the bank.
    members : sequence of KernelMember, all with the same key
    dtype : float64 or float32
        Precision of inner products and distances. Sums are always in double precision.
    """

    def __init__(
        self, columns: NDArray[np.intp], members: Sequence[KernelMember], dtype: Any = np.float64
    ) -> None:
        first = members[0]
        self.columns = columns
        self._binary, self._scaling = first.binary, first.scaling
        self._n_features = int(first.vectors.shape[1])
        self._intercepts = np.array([member.intercept for member in members])
        pool = pool_vectors(members)
        self.effort = float(len(pool.rows))
        self.efforts = np.array([float(len(member.coefficients)) for member in members])
        weights = _weights_by_vector(pool, members)
        self._evaluator = make_evaluator(first.kernel, pool.vectors, pool.rows, weights, dtype)

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the decision values, of shape (n_samples, n_members)."""
        X = samples.as_numbers(self._binary.estimator, self._n_features)
        if self._scaling is not None:
            X = self._scaling.apply(X)
        scores = np.empty((samples.n_rows, len(self.columns)))
        scores[...] = self._intercepts
        self._evaluator.add_scores(X, scores)
        return scores


def is_exact(members: Sequence[KernelMember]) -> bool:
    """Return whether a group of these members is as accurate as the members on their own."""
    function = members[0].kernel
    if function.kind != "rbf" or not is_sparse(members[0].vectors):
        return True
    matrices = {id(member.vectors): member.vectors for member in members}.values()
    longest = max(squared_lengths(matrix).max(initial=0.0) for matrix in matrices)
    return bool(function.gamma * longest <= _LARGEST_SPARSE_EXPONENT)


def pool_vectors(members: Sequence[KernelMember]) -> Pool:
    """Return the support vectors of all members, each once."""
    supports = [member.support for member in members if member.support is not None]
    if supports:
        return pool_by_index(members[0].vectors, supports)
    return pool_by_bytes([member.vectors for member in members])


def _weights_by_vector(pool: Pool, members: Sequence[KernelMember]) -> Weights:
    """Return the coefficients of each vector for the machines that use it."""
    vectors = np.concatenate(pool.places)
    machines = np.repeat(np.arange(len(members)), [len(places) for places in pool.places])
    coefficients = np.concatenate([member.coefficients for member in members])
    shape = len(pool.rows), len(members)
    # The conversion sums the coefficients if a machine has the same vector several times.
    by_vector = csr_array((coefficients, (vectors, machines)), shape=shape)
    return (
        by_vector.indptr.astype(np.intp),
        by_vector.indices.astype(np.intp),
        by_vector.data.astype(np.float64),
    )
