"""Groups of kernel machines that share their support vectors, evaluated together.

Each kernel value of a sample and a support vector is computed once for all machines that use the
vector. Machines with different kernel functions, or after different scalers, form separate groups.

Both evaluators add Σ_v coefficient[v, machine] · K(vector v, sample) to the scores of all machines,
in one pass of a compiled routine. Apart from the scores, their memory is bounded, whatever the
number of samples and vectors, and they keep no second copy of the vectors in double precision.

BLAS does not compute the inner products: its threads and the routine's threads would wait for each
other, and writing and reading a matrix of products was slower overall, even with hundreds of
features.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.svm import SVC, NuSVC

from polytomy.errors import ArgumentError
from polytomy.inputs.sparse import check_sparse, is_sparse
from polytomy.inputs.training_data import Samples, blocks_of, input_key
from polytomy.learners.scaling import Scaling, peel_scalers
from polytomy.learners.svm.kernels import LARGEST_EXPONENT, KernelFunction, squared_lengths
from polytomy.learners.svm.machines import Pool, pool_by_bytes, pool_by_index
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine

# Smallest number of features for which inner products are faster than differences.
_WIDE = 32
# Block size for converting samples to dense or sparse, and for centring vectors.
_BLOCK_BYTES = 2**24

Weights = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]
Slots = tuple[NDArray[np.intp], NDArray[np.intp], Weights]


class DenseEvaluator:
    """Evaluates dense vectors; sparse samples are converted to dense ones.

    The rbf kernel computes distances from differences or, if there are many features, from inner
    products by |x|² + |y|² − 2x·y, which is faster. The rounding error of the latter is relative to
    the squared lengths, so the mean of the vectors is subtracted from vectors and samples first,
    and differences are used if some vector is still too long. In single precision, the mean is
    always subtracted before rounding, so that large values keep the digits that differ.

    Parameters
    ----------
    function : the kernel
    vectors : array of shape (n_stored, n_features)
    rows : the rows of `vectors` that are used
    weights : (starts, machines, coefficients)
        The coefficients of the n-th of these rows, and the machines they belong to, are at
        starts[n] to starts[n + 1].
    dtype : float64 or float32, precision of inner products and distances
    """

    def __init__(
        self,
        function: KernelFunction,
        vectors: NDArray[np.float64],
        rows: NDArray[np.intp],
        weights: Weights,
        dtype: Any,
    ) -> None:
        self._code, self._rows, self._weights = function.code, rows, weights
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float64)
        self._centre = np.zeros(vectors.shape[1], dtype)
        self._squares = np.empty(0, dtype)
        if not function.is_of_distances or not len(rows):
            return
        centre = self._vectors.mean(axis=0).astype(dtype)
        squares = _squared_distances(self._vectors, rows, centre)
        is_fast = len(centre) >= _WIDE and function.gamma * squares.max() <= LARGEST_EXPONENT
        if is_fast:
            self._squares = squares.astype(dtype)
        if is_fast or dtype != np.float64:
            self._centre = centre

    def add_scores(self, X: Any, scores: NDArray[np.float64]) -> None:
        """Add the machines' sums over the vectors."""
        add = routine("add_dense_scores", "banks")
        for block in _converted_blocks(X, is_converted=is_sparse(X)):
            samples = X[block].toarray() if is_sparse(X) else X[block]
            more = self._centre, self._squares, self._code, self._weights
            add(samples, self._vectors, self._rows, *more, scores[block])

    def add_parts(
        self,
        X: NDArray[np.float64],
        slots: Slots,
        users: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]],
        sums: NDArray[np.float64],
    ) -> None:
        """Add the sums over parts of the vectors, for some of the samples; see the routine."""
        starts, places, weights = slots
        squares = self._squares[places] if len(self._squares) else self._squares
        vectors = self._vectors, self._rows[places], self._centre, squares, self._code
        routine("add_parts", "banks")(X, *vectors, (starts, *weights), users, sums)


class SparseEvaluator:
    """Evaluates sparse vectors; dense samples are converted to sparse ones, as in SVC.

    The parameters are those of `DenseEvaluator`, but the vectors are a CSR array.
    """

    def __init__(
        self,
        function: KernelFunction,
        vectors: csr_array,
        rows: NDArray[np.intp],
        weights: Weights,
        dtype: Any,
    ) -> None:
        self._code, self._rows, self._weights = function.code, rows, weights
        self._vectors = vectors.astype(dtype, copy=False)

    def add_scores(self, X: Any, scores: NDArray[np.float64]) -> None:
        """Add the machines' sums over the vectors."""
        add = routine("add_sparse_scores", "banks")
        vectors = self._vectors
        for block in _converted_blocks(X, is_converted=not is_sparse(X)):
            samples = csr_array(X[block]).astype(vectors.dtype, copy=False)
            add(
                (samples.data, samples.indices, samples.indptr),
                (vectors.data, vectors.indices, vectors.indptr),
                self._rows,
                vectors.shape[1],
                self._code,
                self._weights,
                scores[block],
            )


def _converted_blocks(X: Any, *, is_converted: bool) -> Any:
    """Return the blocks of samples to evaluate: a single block unless they are converted."""
    n_rows, n_features = X.shape
    return blocks_of(n_rows, 8 * n_features, _BLOCK_BYTES) if is_converted else [slice(0, n_rows)]


def _squared_distances(
    vectors: NDArray[np.float64], rows: NDArray[np.intp], centre: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the squared distances of vectors from a point."""
    blocks = blocks_of(len(rows), 8 * len(centre), _BLOCK_BYTES)
    return np.concatenate([squared_lengths(vectors[rows[block]] - centre) for block in blocks])


# Sparse rows are not centred. Up to this γ|y|², distances computed from inner products are accurate
# enough.
_LARGEST_SPARSE_EXPONENT = 1e5


# Products and powers are rounded differently in ONNX, which changes decision values by up to about
# 1e-16 times the sum of their terms' absolute values: here 1e-7.
_LARGEST_ONNX_TERMS = 1e9


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
    """Return a binary as a member of a group, or None if it is not an SVM with a compiled kernel.

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
    if function is None or function.about.values is not None:
        return None
    coefficients = machine.dual_coef_
    if is_sparse(coefficients):
        coefficients = check_sparse(coefficients, "dual_coef_").toarray()
    sign = 1.0 if binary.positive_index == 1 else -1.0
    intercept = sign * float(np.ravel(machine.intercept_)[0])
    return KernelMember(
        binary, function, scaling, vectors, support, sign * np.ravel(coefficients), intercept
    )


class Parts(NamedTuple):
    """The support vectors of machines by class, or by machine and side if that has several classes.

    Attributes
    ----------
    sides : the class of each side of each binary, or −1
    part_of : array of shape (n_machines, 2), the part of each side
    place_of : array of that shape, the place of the machine among those that use the part
    slots : first slot of each part; the vector of each slot, and its coefficients
    """

    sides: NDArray[np.intp]
    part_of: NDArray[np.intp]
    place_of: NDArray[np.intp]
    slots: Slots


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
        evaluator = SparseEvaluator if is_sparse(pool.vectors) else DenseEvaluator
        weights = _sort_by_vector(len(pool.rows), *_list_coefficients(pool, members))
        self._evaluator = evaluator(first.kernel, pool.vectors, pool.rows, weights, dtype)
        self._members = members
        self._parts: Parts | None = None

    def scores(self, samples: Samples, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the decision values, of shape (n_samples, n_members)."""
        scores = np.tile(self._intercepts, (samples.n_rows, 1))
        self._evaluator.add_scores(self._prepare(samples), scores)
        return scores

    def score_pairs(
        self,
        samples: Samples,
        rows: NDArray[np.intp],
        members: NDArray[np.intp],
        sides: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Return decision values of pairs of a row and a member; see `Bank.decide_pairs`.

        The support vectors of a class are compared once with each sample that has a pair with that
        class. Those on a side of several classes are compared for each machine.
        """
        X = self._prepare(samples)
        if is_sparse(X) or not isinstance(self._evaluator, DenseEvaluator):
            return np.asarray(self.scores(samples)[rows, members])
        if self._parts is None or self._parts.sides is not sides:
            self._parts = _split_by_side(self._members, sides, self.columns)
        own, slots = self._parts.part_of[members], self._parts.slots
        widths = np.bincount(self._parts.part_of.ravel())
        is_user = np.zeros((len(widths), samples.n_rows), bool)
        is_user[own, rows[:, np.newaxis]] = True
        parts, users = np.nonzero(is_user)
        ends = np.cumsum(widths[parts])  # of the sums of each part and user
        index = np.empty(is_user.shape, dtype=np.intp)
        index[parts, users] = ends - widths[parts]
        sums = np.zeros(ends[-1] if len(ends) else 0)
        starts = np.searchsorted(parts, np.arange(len(widths) + 1))
        self._evaluator.add_parts(X, slots, (starts, users, widths), sums)
        places = index[own, rows[:, np.newaxis]] + self._parts.place_of[members]
        return np.asarray(self._intercepts[members] + sums[places].sum(axis=1))

    def _prepare(self, samples: Samples) -> Any:
        X = samples.as_numbers(self._binary.estimator, self._n_features)
        return X if self._scaling is None else self._scaling.apply(X)

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return the decision values as a graph."""
        pool = pool_vectors(self._members)
        if not len(pool.rows):
            return graph.repeat(self._intercepts, X)
        coefficients = np.zeros((len(pool.rows), len(self._members)))
        for column, (member, places) in enumerate(zip(self._members, pool.places, strict=True)):
            # Add up, because a machine may have the same vector several times.
            np.add.at(coefficients[:, column], places, member.coefficients)
        vectors = pool.vectors[pool.rows]
        dense = np.asarray(vectors.toarray() if is_sparse(vectors) else vectors, dtype=np.float64)
        largest = np.abs(self._members[0].kernel.values_with_itself(squared_lengths(dense))).max()
        terms = float(largest * np.abs(coefficients).sum(axis=0).max())
        if terms > _LARGEST_ONNX_TERMS:
            raise ArgumentError(
                f"the decision values are differences of sums of up to {terms:.3g}, so rounding "
                f"changes them; the sums must be at most {_LARGEST_ONNX_TERMS:g} for the same "
                "answers in ONNX. Scale the features, or choose a smaller gamma, degree or C."
            )
        samples = X if self._scaling is None else self._scaling.to_onnx(X)
        values = self._members[0].kernel.to_onnx(graph, samples, dense)
        return values @ coefficients + self._intercepts


def is_exact(members: Sequence[KernelMember]) -> bool:
    """Return whether a group of these members is as accurate as the members on their own."""
    function = members[0].kernel
    if not function.is_of_distances or not is_sparse(members[0].vectors):
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


def _list_coefficients(pool: Pool, members: Sequence[KernelMember]) -> Weights:
    """Return the vector of each coefficient, its machine, and the coefficient."""
    machines = np.repeat(np.arange(len(members)), [len(places) for places in pool.places])
    coefficients = np.concatenate([member.coefficients for member in members])
    return np.concatenate(pool.places), machines, coefficients


def _split_by_side(
    members: Sequence[KernelMember], sides: NDArray[np.intp], columns: NDArray[np.intp]
) -> Parts:
    """Return the support vectors of machines in parts; see `Parts`."""
    numbers = np.arange(2 * len(members)).reshape(-1, 2)
    labels = np.where(sides[columns] < 0, numbers + sides.max() + 1, sides[columns])
    part_of = np.unique(labels, return_inverse=True)[1].reshape(-1, 2)
    order = np.argsort(part_of, axis=None, kind="stable")
    ordered = part_of.ravel()[order]
    place_of = np.empty(part_of.shape, dtype=np.intp)
    place_of.ravel()[order] = np.arange(part_of.size) - np.searchsorted(ordered, ordered)
    pool = pool_vectors(members)
    vectors, machines, coefficients = _list_coefficients(pool, members)
    # The coefficients of the positive side are positive.
    side = machines, (coefficients > 0).astype(np.intp)
    keys, slots = np.unique(part_of[side] * len(pool.rows) + vectors, return_inverse=True)
    weights = _sort_by_vector(len(keys), slots, place_of[side], coefficients)
    parts, places = np.divmod(keys, max(1, len(pool.rows)))
    starts = np.searchsorted(parts, np.arange(part_of.max() + 2))
    return Parts(sides, part_of, place_of, (starts, places, weights))


def _sort_by_vector(
    n_vectors: int,
    vectors: NDArray[np.intp],
    machines: NDArray[np.intp],
    coefficients: NDArray[np.float64],
) -> Weights:
    """Return the coefficients of each vector for the machines that use it."""
    # The conversion sums the coefficients if a machine has the same vector several times.
    shape = n_vectors, machines.max(initial=0) + 1
    by_vector = csr_array((coefficients, (vectors, machines)), shape=shape)
    return (
        by_vector.indptr.astype(np.intp),
        by_vector.indices.astype(np.intp),
        by_vector.data.astype(np.float64),
    )
