"""Trained support vector machines as plain data, with vectors that several of them may share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.svm import SVC, NuSVC

from polytomy.calibration.calibrators import HeldOut
from polytomy.inputs.sparse import check_sparse, is_sparse
from polytomy.inputs.training_data import Samples, blocks_of
from polytomy.learners.svm.kernels import LARGEST_DEGREE, KernelFunction
from polytomy.states import State, stored_as

# Largest size of the kernel values computed for a block of samples.
_BLOCK_BYTES = 2**25


@stored_as("vectors")
@dataclass(frozen=True, slots=True, eq=False)
class VectorPool:
    """The vectors from which several machines take their support vectors.

    Machines that are pickled together still share it afterwards, so it is stored once.

    Parameters
    ----------
    vectors : float64 array or CSR matrix of shape (n_vectors, n_features)
    """

    vectors: Any

    @property
    def n_features(self) -> int:
        """Number of features of the vectors."""
        return int(self.vectors.shape[1])

    def state(self) -> dict[str, Any]:
        """Return the vectors."""
        return {"vectors": self.vectors}

    @classmethod
    def from_state(cls, state: State) -> VectorPool:
        """Return the pool of a state."""
        return cls(state.matrix("vectors"))

    def __repr__(self) -> str:
        n_vectors, n_features = self.vectors.shape
        return f"<VectorPool of {n_vectors} vectors of {n_features} features>"


@stored_as("estimator/machine")
@dataclass(frozen=True, slots=True, eq=False)
class KernelMachine:
    """A trained binary support vector machine with the classes −1 and +1.

    Like scikit-learn's SVC, it computes f(x) = Σ dual_coef_ · K(vector, x) + intercept_, but it
    stores no vectors itself: `support_` says which vectors of a pool are its support vectors.

    Parameters
    ----------
    kernel : KernelFunction
    pool : VectorPool
    support_ : array of int
        The rows of the pool that are its support vectors.
    dual_coef_ : float64 array, one for each support vector
    intercept_ : float

    Examples
    --------
    >>> pool = VectorPool(np.array([[0.0], [2.0]]))
    >>> kernel = KernelFunction("linear")
    >>> machine = KernelMachine(kernel, pool, np.array([0, 1]), np.array([-0.5, 0.5]), -1.0)
    >>> machine.decision_function([[1.0], [3.0]]), machine.predict([[3.0]])
    (array([0., 2.]), array([1]))
    """

    kind_of_model: ClassVar[str] = "svc"

    kernel: KernelFunction
    pool: VectorPool
    support_: NDArray[np.intp]
    dual_coef_: NDArray[np.float64]
    intercept_: float

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The two labels, −1 and +1."""
        return np.array([-1, 1])

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.pool.n_features

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors on the −1 side and on the +1 side."""
        n_positive = int(np.count_nonzero(self.dual_coef_ > 0))
        return np.array([len(self.support_) - n_positive, n_positive], dtype=np.int32)

    @property
    def support_vectors_(self) -> Any:
        """Its support vectors, a copy of shape (n_support, n_features)."""
        return self.pool.vectors[self.support_]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f of each row of X, positive for the +1 side."""
        X = Samples(X).as_numbers(self, self.n_features_in_)
        values = np.full(X.shape[0], self.intercept_)
        if len(self.support_):
            vectors = self.support_vectors_
            for block in blocks_of(len(values), 8 * len(self.support_), _BLOCK_BYTES):
                values[block] += self.kernel.matrix(X[block], vectors) @ self.dual_coef_
        return values

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return −1 or +1 for each row of X."""
        return np.where(self.decision_function(X) > 0, 1, -1)

    def state(self) -> dict[str, Any]:
        """Return the kernel, the pool, and this machine's part of it."""
        kernel = self.kernel
        return {
            "kernel": kernel.kind,
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
            "pool": self.pool,
            "support": np.asarray(self.support_, dtype=np.int64),
            "coefficients": self.dual_coef_,
            "intercept": float(self.intercept_),
        }

    @classmethod
    def from_state(cls, state: State) -> KernelMachine:
        """Return the machine of a state."""
        pool = state.part("pool", "vectors")
        support = state.indices("support", pool.vectors.shape[0])
        kernel = KernelFunction(
            state.text("kernel"),
            state.number("gamma"),
            state.integer("degree", most=LARGEST_DEGREE),
            state.number("coef0"),
        )
        coefficients = state.floats("coefficients", support.shape)
        return cls(kernel, pool, support, coefficients, state.number("intercept"))

    @classmethod
    def of(cls, svc: SVC | NuSVC) -> KernelMachine | None:
        """Return a fitted SVC of two classes as a machine, or None if its kernel is not known."""
        kernel = kernel_of(svc)
        if kernel is None or len(svc.classes_) != 2:
            return None
        vectors, coefficients = svc.support_vectors_, svc.dual_coef_
        if is_sparse(coefficients):
            coefficients = coefficients.toarray()
        own, rows = np.ravel(coefficients), np.arange(vectors.shape[0])
        return cls(kernel, VectorPool(vectors), rows, own, float(svc.intercept_[0]))

    def to_svc(self) -> SVC:
        """Return a fitted scikit-learn SVC that gives the same answers, with its own vectors.

        Parameters that do not affect its answers are lost: `C`, for example, has its default.
        """
        svc = SVC(kernel=self.kernel.kind, **self.kernel.parameters)
        # LIBSVM needs the support vectors of one class before those of the other.
        order = np.argsort(self.dual_coef_ > 0, kind="stable")
        vectors = self.pool.vectors[self.support_[order]]
        coefficients = self.dual_coef_[order][np.newaxis]
        is_sparse = bool(issparse(vectors))
        svc.classes_ = self.classes_
        svc.class_weight_ = np.ones(2)
        svc.support_ = np.arange(len(order), dtype=np.int32)
        svc.support_vectors_ = csr_matrix(vectors) if is_sparse else np.ascontiguousarray(vectors)
        svc.dual_coef_ = csr_matrix(coefficients) if is_sparse else coefficients
        svc.intercept_ = np.array([self.intercept_])
        svc.fit_status_ = 0
        svc.shape_fit_ = vectors.shape
        svc.n_features_in_ = self.n_features_in_
        svc.n_iter_ = np.zeros(1, dtype=np.int32)
        # Its private attributes have LIBSVM's signs: positive for the first class.
        svc._dual_coef_ = -svc.dual_coef_
        svc._intercept_ = -svc.intercept_
        svc._n_support = self.n_support_
        svc._probA = svc._probB = np.empty(0)
        svc._effective_probability = False
        svc._sparse = is_sparse
        svc._gamma = self.kernel.gamma
        svc._num_iter = svc.n_iter_
        return svc

    def __repr__(self) -> str:
        return f"<KernelMachine of {len(self.support_)} support vectors, {self.kernel!r}>"


_Floats = NDArray[np.float64]


class Machine(NamedTuple):
    """A machine, given by the rows of the data that are its support vectors."""

    kernel: KernelFunction
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercept: float


class FoldMachines(NamedTuple):
    """The machines of one problem, each trained without one of the folds.

    Attributes
    ----------
    kernel : KernelFunction
    rows : array of shape (n_samples,), the rows of the data in the problem
    coefficients : array of shape (n_folds, n_samples), zero for a fold with a constant score
    intercepts : array of shape (n_folds,)
    """

    kernel: KernelFunction
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercepts: _Floats

    def machine(self, fold: int) -> Machine:
        """Return the machine of one fold, without the samples that are not support vectors."""
        own = self.coefficients[fold]
        support = np.flatnonzero(own)
        return Machine(self.kernel, self.rows[support], own[support], float(self.intercepts[fold]))


class MachineData(NamedTuple):
    """A trained machine, its calibration data, and the machines of the folds.

    Attributes
    ----------
    machine : Machine
    to_calibrate : HeldOut, the data that a calibrator learns from, or None for no calibrator
    n_stopped : number of machines that stopped before reaching the tolerance
    seconds : training time
    scores : array of shape (n_scored,), the score of each row in ``Folds.scored`` by the machine of
        its fold, NaN for rows outside the problem; None without folds
    fold_machines : FoldMachines, or None if they are not needed
    """

    machine: Machine
    to_calibrate: HeldOut | None
    n_stopped: int
    seconds: float
    scores: _Floats | None = None
    fold_machines: FoldMachines | None = None

    @property
    def lacks_scores(self) -> bool:
        """Whether rows outside the problem still have to be scored."""
        return self.scores is not None and bool(np.isnan(self.scores).any())


class Pool(NamedTuple):
    """Vectors that several machines share.

    Attributes
    ----------
    vectors : array or CSR array of shape (n_stored, n_features)
    rows : the rows that any machine uses, each once
    places : for each machine, the positions of its vectors in `rows`
    """

    vectors: Any
    rows: NDArray[np.intp]
    places: list[NDArray[np.intp]]


def pool_by_index(vectors: Any, supports: Sequence[NDArray[np.intp]]) -> Pool:
    """Return the pool of machines whose vectors are rows of one matrix, without a copy.

    Examples
    --------
    >>> pool = pool_by_index(np.eye(4), [np.array([3, 1]), np.array([1])])
    >>> pool.rows, pool.places
    (array([1, 3]), [array([1, 0]), array([0])])
    """
    rows = np.unique(np.concatenate(supports)).astype(np.intp)
    return Pool(
        check_sparse(vectors, "pool.vectors"),
        rows,
        [np.searchsorted(rows, support) for support in supports],
    )


def pool_by_bytes(matrices: Sequence[Any]) -> Pool:
    """Return the pool of machines that have their own matrices, all dense or all sparse.

    Two rows are the same vector if their bytes are equal.

    Examples
    --------
    >>> pool_by_bytes([np.array([[1.0], [2.0]]), np.array([[3.0], [1.0]])]).places
    [array([0, 1]), array([2, 0])]
    """
    known: dict[bytes, int] = {}
    parts, places = [], []
    for each in matrices:
        matrix = check_sparse(each, "support_vectors_")
        n_before = len(known)
        keys = _sparse_keys(matrix) if is_sparse(matrix) else _dense_keys(matrix)
        found = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)
        new, first_seen = np.unique(found, return_index=True)
        parts.append(matrix[first_seen[new >= n_before]])
        places.append(found)
    vectors: Any = vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
    return Pool(vectors, np.arange(len(known)), places)


def kernel_of(machine: Any) -> KernelFunction | None:
    """Return the kernel of a fitted machine; None for one whose vectors do not determine it.

    A machine with ``probability=True`` has more than its vectors, and is left out as well.
    """
    if isinstance(machine, KernelMachine):
        return machine.kernel
    if type(machine) not in (SVC, NuSVC) or getattr(machine, "probability", False) is True:
        return None
    return KernelFunction.of(machine) if hasattr(machine, "support_") else None


def share_vectors(machines: Sequence[KernelMachine]) -> list[KernelMachine]:
    """Return the same machines with only the vectors in their pools that they use.

    Machines with a common pool still have a common one.
    """
    return _pool_groups(
        machines,
        lambda machine: id(machine.pool),
        lambda own: pool_by_index(own[0].pool.vectors, [each.support_ for each in own]),
    )


def merge_vectors(machines: Sequence[KernelMachine]) -> list[KernelMachine]:
    """Return the same machines with one pool for all that have as many features."""
    return _pool_groups(
        machines,
        lambda machine: (issparse(machine.pool.vectors), machine.n_features_in_),
        lambda own: pool_by_bytes([each.support_vectors_ for each in own]),
    )


def _pool_groups(
    machines: Sequence[KernelMachine],
    key: Callable[[KernelMachine], Hashable],
    make_pool: Callable[[list[KernelMachine]], Pool],
) -> list[KernelMachine]:
    """Return the same machines, those of one key with a new pool."""
    groups: dict[Hashable, list[int]] = {}
    for number, machine in enumerate(machines):
        groups.setdefault(key(machine), []).append(number)
    pooled = list(machines)
    for numbers in groups.values():
        pool = make_pool([machines[number] for number in numbers])
        vectors = VectorPool(pool.vectors[pool.rows])
        for number, places in zip(numbers, pool.places, strict=True):
            pooled[number] = replace(machines[number], pool=vectors, support_=places)
    return pooled


def _dense_keys(matrix: NDArray[np.float64]) -> list[bytes]:
    if matrix.shape[1] == 0:
        return [b""] * len(matrix)
    row_type = np.dtype((np.void, matrix.itemsize * matrix.shape[1]))
    keys: Any = np.ascontiguousarray(matrix).view(row_type).ravel().tolist()
    return list(keys)


def _sparse_keys(matrix: Any) -> list[bytes]:
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return [
        matrix.indices[first:last].tobytes() + matrix.data[first:last].tobytes()
        for first, last in ends
    ]
