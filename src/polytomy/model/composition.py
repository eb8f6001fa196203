"""A fitted model: trained binaries, and how their answers become scores of the classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import BiasMap, clip_decisions
from polytomy.errors import (
    Argument,
    ArgumentError,
    CalibrationWarning,
    PythonOnly,
    SchemeError,
    warn_caller,
)
from polytomy.inputs.arguments import count_things
from polytomy.inputs.rows import count_rows, take_block, take_rows, unchangeable
from polytomy.inputs.sparse import check_sparse
from polytomy.inputs.training_data import blocks_of_rows
from polytomy.learners.bank import Bank
from polytomy.learners.cascade import Cascade
from polytomy.learners.problems import Dichotomy
from polytomy.learners.trained import TrainedBinary
from polytomy.model.arrangement import (
    Arrangement,
    Solver,
    arrange_trained,
    first_rows,
    gives_probabilities,
    resolve_solvers,
)
from polytomy.model.decisions import ClassFrequencies, Costs, PriorShift, check_top_k, sort_best
from polytomy.model.out_of_fold import (
    FinalCalibration,
    OutOfFold,
    cross_decisions,
    learn_conformity,
    learn_final_calibration,
)
from polytomy.model.scheme_argument import members_of
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.codes import one_vs_one
from polytomy.solvers.solving import METHODS, check_applicable, decode
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]


@stored_as("compression")
@dataclass(frozen=True, slots=True)
class Compression:
    """How a classifier was compressed, and what that changed.

    The changes are means over samples that neither the models nor their approximations had seen.

    Attributes
    ----------
    method : "fourier", "cascade" or "borders"
    size : int, the number of features, or of border samples of each binary
    speed_up : float, the processor time of the exact classifier divided by that of this one
    accuracy_loss : float, how much smaller the accuracy is; negative if it is larger
    accuracy_loss_error : float, its standard error, at least one sample's share
    log_loss_increase : float, how much larger the log-loss is
    log_loss_increase_error : float, its standard error
    n_samples : int, number of samples that were compared
    """

    method: str
    size: int
    speed_up: float
    accuracy_loss: float
    accuracy_loss_error: float
    log_loss_increase: float
    log_loss_increase_error: float
    n_samples: int

    def __str__(self) -> str:
        loss, error = 100 * self.accuracy_loss, 100 * self.accuracy_loss_error
        return (
            f"{self.method} {self.size}: {self.speed_up:.1f} times as fast, accuracy "
            f"{0.0 - loss:+.2f} ± {error:.2f} points, log-loss {self.log_loss_increase:+.4f} ± "
            f"{self.log_loss_increase_error:.4f}"
        )

    @classmethod
    def from_state(cls, state: State) -> Compression:
        """Return the compression of a state."""
        return cls(
            state.text("method"),
            state.integer("size"),
            state.number("speed_up"),
            state.number("accuracy_loss"),
            state.number("accuracy_loss_error"),
            state.number("log_loss_increase"),
            state.number("log_loss_increase_error"),
            state.integer("n_samples"),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """Trained binaries, the scheme they answer for, and the solver that couples their answers.

    It holds everything that prediction needs, and nothing about training. It does not check
    samples; `PolytomyClassifier` does.

    Parameters
    ----------
    classes : array of the class labels
    scheme : Scheme or SchemeEnsemble
    dichotomies : tuple of Dichotomy
        The classes that each binary separates, as class indices.
    arrangements : tuple of Arrangement, one for the scheme or for each member of the ensemble
    bank : Bank, the trained binaries in the order of the dichotomies
    solvers : tuple with the name of a method, or function of (scheme, decisions), for each
        arrangement
    tie_order : tuple of int, optional
        Class indices; in a tie between scores, the class that comes first wins. Only models read
        from files have one: LIBSVM breaks ties by the order of labels in its file.
    final : FinalCalibration, optional
        Applied to the solver's probabilities.
    out_of_fold : OutOfFold, optional
        What `final` was learnt from. If present, `with_solver` and `with_scheme` learn the
        final calibration again.
    preprocessing : fitted Pipeline of transformers, optional
        Applied to samples before any binary sees them.
    frequencies : ClassFrequencies, optional
        Class frequencies in training, if known.
    prior : PriorShift, optional
        Applied to the probabilities, after the final calibration.
    costs : Costs, optional
        If set, `predict` returns the class with the least expected cost.
    compression : Compression, optional
        How the binaries were approximated, and what that changed.
    cascade : Cascade, optional
        If set, probabilities come from its student, and from the binaries where that is not sure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polytomy import PolytomyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> composition = PolytomyClassifier(random_state=0).fit(X, y).composition_
    >>> composition
    <Composition of 3 binaries for 3 classes, solved by "least-squares">
    >>> composition.with_solver("voting").scores(X[:1]).round(2)
    array([[ 1.94,  0.03, -1.97]])
    """

    classes: NDArray[Any]
    scheme: Scheme | SchemeEnsemble
    dichotomies: tuple[Dichotomy, ...]
    arrangements: tuple[Arrangement, ...]
    bank: Bank
    solvers: tuple[Solver, ...]
    tie_order: tuple[int, ...] | None = None
    final: FinalCalibration | None = None
    out_of_fold: OutOfFold | None = None
    preprocessing: Any = None
    frequencies: ClassFrequencies | None = None
    prior: PriorShift | None = None
    costs: Costs | None = None
    compression: Compression | None = None
    cascade: Cascade | None = None

    def __post_init__(self) -> None:
        classes = np.asarray(self.classes).view()
        classes.flags.writeable = False
        object.__setattr__(self, "classes", classes)
        for member, solver in zip(members_of(self.scheme), self.solvers, strict=True):
            if not callable(solver):  # "auto" must have been resolved before
                check_applicable(solver, member, "solver")
            if gives_probabilities(solver) != self.gives_probabilities:
                raise ArgumentError(
                    Argument("solver", solver),
                    " and ",
                    Argument("solver", self.solver),
                    " are in one pool, and only one of them gives probabilities. Use solvers that "
                    "all do.",
                )
        needs_probabilities = self.prior is not None or self.costs is not None
        if needs_probabilities and not self.gives_probabilities:
            part, undo = ("prior", "with_prior") if self.costs is None else ("costs", "with_cost")
            raise ArgumentError(
                Argument("solver", self.solver),
                f" gives scores, and the {part} of the classifier need probabilities. Use {undo}"
                "(None) first.",
            )
        if self.tie_order is not None and sorted(self.tie_order) != [*range(len(self.classes))]:
            raise SchemeError(f"the tie order {self.tie_order} does not have each class once.")

    @property
    def binaries(self) -> tuple[TrainedBinary, ...]:
        """The trained binaries, in the order of the dichotomies."""
        return self.bank.binaries

    @property
    def partition_binaries(self) -> list[TrainedBinary]:
        """The binary of each partition, or of its first side; in an ensemble, scheme by scheme."""
        columns = [
            each.columns[row]
            for each in self.arrangements
            for row in first_rows(each.scheme).tolist()
        ]
        return [self.binaries[k] for k in columns]

    @property
    def solver(self) -> Solver:
        """The solver; in an ensemble, that of the first member."""
        return self.solvers[0]

    @property
    def gives_probabilities(self) -> bool:
        """Whether the scores are probabilities."""
        return gives_probabilities(self.solver)

    # -- answers ---------------------------------------------------------------------------------

    def preprocess(self, X: Any) -> Any:
        """Return samples as the binaries take them: transformed, if they share transformers."""
        if self.preprocessing is None:
            return X
        return check_sparse(self.preprocessing.transform(unchangeable(X)))

    def decisions(self, X: Any, n_jobs: int | None = None) -> Floats:
        """Return P(+1) − P(−1) for each partition; for an ensemble, for each binary.

        A partition with more than two sides has a column for each side, 2 P(side) − 1.

        Returns
        -------
        array of shape (n_samples, n_rows), in [−1, 1]
        """
        answers = self.bank.decisions(self.preprocess(X), n_jobs=n_jobs)
        # The binaries of an ensemble belong to several schemes, so they answer as trained.
        return self.arrangements[0].decisions(answers) if len(self.arrangements) == 1 else answers

    def scores(self, X: Any, n_jobs: int | None = None) -> Floats:
        """Return the probabilities of the classes, or their scores if the solver gives scores.

        Rows are processed in blocks, so that memory stays bounded.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        scores = np.empty((count_rows(X), len(self.classes)))
        for block, own in self._score_blocks(X, n_jobs):
            scores[block] = own
        return scores

    def _score_blocks(self, X: Any, n_jobs: int | None) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of the rows, and their scores.

        All answers come from the same blocks: rounding may depend on the size of a block, and the
        class of a close race on rounding.
        """
        X = check_sparse(X)
        n_features = X.shape[1] if isinstance(X, np.ndarray) else 0
        for block in blocks_of_rows(count_rows(X), len(self.binaries), n_features):
            yield block, self._score_block(self.preprocess(take_block(X, block)), n_jobs)

    def solve(self, answers: Floats) -> Floats:
        """Return the scores of the classes, given the answers of all binaries.

        Parameters
        ----------
        answers : array of shape (n_samples, n_binaries), in [−1, 1]
        """
        if self.final is not None:
            answers = clip_decisions(answers)
        return self.finish(self.solve_members(answers))

    def solve_members(self, answers: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield the solver's scores of each member, and the answers of its own binaries."""
        parts = zip(self.arrangements, self.solvers, self.member_answers(answers), strict=True)
        for each, solver, own in parts:
            yield each.solve(answers, solver), own

    def member_answers(self, answers: Floats) -> Iterator[Floats]:
        """Yield the answers of each member's own binaries, given those of all binaries."""
        for each in self.arrangements:
            yield answers if len(self.arrangements) == 1 else answers[:, np.unique(each.columns)]

    def finish(self, solved: Iterator[tuple[Floats, Floats]]) -> Floats:
        """Return the scores of the classes, given those of each member; see `solve_members`."""
        map_: Any = None if self.final is None else self.final.map
        if map_ is None:
            scores = _mean(own for own, _ in solved)
        else:
            scores = map_.apply(solved) if len(self.arrangements) > 1 else map_.apply(*next(solved))
        return self._shift(scores)

    def couple(self, answers: Floats) -> Floats:
        """Return the solver's scores for the answers of all binaries, without corrections."""
        return _mean(own for own, _ in self.solve_members(answers))

    def predict(self, X: Any, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the label of each sample, in bounded memory; see `labels`."""
        found = [self.labels(own) for _, own in self._score_blocks(X, n_jobs)]
        return found[0] if len(found) == 1 else np.concatenate(found or [self.classes[:0]])

    def labels(self, scores: Floats) -> NDArray[Any]:
        """Return the label for each row of scores: the winner, or the one with the least cost."""
        if self.costs is not None:
            return self.costs.labels(scores, self.classes)
        labels: NDArray[Any] = self.classes[self.winners(scores)]
        return labels

    def choose(self, probabilities: Floats) -> NDArray[np.intp]:
        """Return the index of the predicted class of each row, even if no prediction is cheaper."""
        if self.costs is None:
            return self.winners(probabilities)
        return np.asarray(np.argmin(probabilities @ self.costs.matrix, axis=1))

    def top_classes(
        self, X: Any, k: int, n_jobs: int | None = None
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return the k likeliest classes of each sample, the likeliest first, in bounded memory.

        Ties are broken as in `winners`. See `PolytomyClassifier.predict_top_k`.

        Returns
        -------
        class_indices, probabilities : arrays of shape (n_samples, k)
        """
        k = check_top_k(k, len(self.classes))
        if not self.gives_probabilities:
            raise ArgumentError(
                f'solver="{self.solver}" gives scores, not probabilities. Use '
                'with_solver("least-squares").'
            )
        indices, best = np.empty((count_rows(X), k), dtype=np.intp), np.empty((count_rows(X), k))
        for block, scores in self._score_blocks(X, n_jobs):
            indices[block] = sort_best(scores, k)
            best[block] = np.take_along_axis(scores, indices[block], axis=1)
        return indices, best

    def winners(self, scores: Floats) -> NDArray[np.intp]:
        """Return the index of the class with the largest score in each row.

        Ties between classes are broken here and nowhere else: the first class wins, unless
        `tie_order` names another. Probabilities ignore `tie_order`.
        """
        if self.tie_order is None or self.gives_probabilities:
            return np.asarray(np.argmax(scores, axis=1))
        order = np.array(self.tie_order, dtype=np.intp)
        return np.asarray(order[np.argmax(scores[:, order], axis=1)])

    def decision_values(self, X: Any, n_jobs: int | None = None) -> Floats:
        """Return a value for each class, the largest for the class that `predict` returns.

        For probabilities, the values are their logarithms minus the mean of each row; other scores
        are returned unchanged. For two classes there is one value, positive for the second: the
        log-odds, or the difference of the scores.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        scores = self.scores(X, n_jobs)
        if not self.gives_probabilities:
            return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
        # Solvers have errors of this size, so smaller probabilities may as well be zero.
        logarithms = np.log(np.maximum(scores, np.finfo(np.float64).eps))
        winners, rows = self.winners(scores), np.arange(len(scores))
        if scores.shape[1] == 2:
            log_odds = logarithms[:, 1] - logarithms[:, 0]
            # Probabilities that differ only by rounding may have the same logarithm.
            is_hidden = (winners == 1) & (log_odds <= 0)
            log_odds[is_hidden] = np.finfo(np.float64).eps
            return log_odds
        values = logarithms - logarithms.mean(axis=1, keepdims=True)
        is_hidden = np.argmax(values, axis=1) != winners
        values[rows[is_hidden], winners[is_hidden]] = np.nextafter(
            values[is_hidden].max(axis=1), np.inf
        )
        return np.asarray(values)

    def _score_block(self, X: Any, n_jobs: int | None) -> Floats:
        if not self.binaries:
            return np.ones((count_rows(X), len(self.classes)))
        if self.cascade is not None and self.gives_probabilities:
            return self._score_by_cascade(X, self.cascade)
        is_named = isinstance(self.solver, str) and len(self.arrangements) == 1
        if is_named and METHODS[str(self.solver)].counts_votes:
            votes = self.arrangements[0].pair_votes(self.bank, X)
            if votes is not None:
                return votes
        return self.solve(self.bank.decisions(X, n_jobs=n_jobs))

    def _score_by_cascade(self, X: Any, cascade: Cascade) -> Floats:
        guessed = cascade.guess(X)
        unsure, is_candidate = cascade.find_candidates(self._shift(guessed))
        guessed = cascade.smooth(guessed)
        scores = self._shift(guessed)
        if len(unsure):
            inputs = self.bank, take_rows(X, unsure), guessed[unsure], is_candidate
            scores[unsure] = (
                self._shift(cascade.couple(*inputs, self._couple_pairs))
                if cascade.has_all_pairs and self._finishes_pairs
                else self.solve(cascade.answer(*inputs))
            )
        return scores

    def _shift(self, probabilities: Floats) -> Floats:
        return probabilities if self.prior is None else self.prior.apply(probabilities)

    @property
    def _finishes_pairs(self) -> bool:
        """Whether probabilities among some classes follow from the answers of their pairs."""
        is_simple = isinstance(self.solver, str) and len(self.arrangements) == 1
        return is_simple and (self.final is None or type(self.final.map) is BiasMap)

    def _couple_pairs(self, classes: NDArray[np.intp], answers: Floats) -> Floats:
        """Return probabilities among the classes of each row, given the answers of their pairs."""
        code = one_vs_one(classes.shape[1])
        if self.final is None:
            return decode(code, answers, str(self.solver))
        map_: Any = self.final.map
        solved = decode(code, clip_decisions(answers), str(self.solver))
        # The biases of each row are those of its own classes.
        return np.asarray(replace(map_, bias=map_.bias[classes]).apply(solved, answers))

    # -- the same binaries, composed differently ---------------------------------------------------

    def with_binaries(self, binaries: Sequence[TrainedBinary]) -> Composition:
        """Return the same scheme and solver with other binaries for the same dichotomies.

        The result has no final calibration, and its class frequencies are not known.
        """
        bank = Bank(binaries, self.bank.dtype)
        return replace(
            self,
            bank=bank,
            final=None,
            out_of_fold=None,
            frequencies=None,
            compression=None,
            cascade=None,
        )

    def with_solver(self, solver: Solver) -> Composition:
        """Return the same binaries and scheme with another solver."""
        return self._changed(solvers=self._resolve(solver, self.scheme))

    def with_prior(self, prior: PriorShift | None) -> Composition:
        """Return the same composition with another class prior; None restores that of training.

        It replaces any earlier prior.
        """
        return replace(self, prior=prior)

    def _resolve(self, solver: Solver, scheme: Scheme | SchemeEnsemble) -> tuple[Solver, ...]:
        is_calibrated = self.final is not None or self.out_of_fold is not None
        return resolve_solvers(solver, scheme, is_calibrated=is_calibrated)

    def with_scheme(
        self, scheme: Scheme | SchemeEnsemble, solver: Solver | None = None
    ) -> Composition:
        """Return the same binaries with another scheme, and with another solver if one is given.

        Every partition of the new scheme must have been trained, with its sides in either order;
        SchemeError names one that was not.
        """
        arrangements = tuple(
            arrange_trained(member, self.classes, self.dichotomies) for member in members_of(scheme)
        )
        own = self._resolve(self.solver if solver is None else solver, scheme)
        return self._changed(scheme=scheme, arrangements=arrangements, solvers=own, tie_order=None)

    def calibrated_on(self, out_of_fold: OutOfFold | None) -> Composition:
        """Return the same composition with a final calibration learnt from out-of-fold scores.

        There is none if the solver does not give probabilities; the scores are still kept, for
        another solver.
        """
        final = None
        if out_of_fold is not None and self.gives_probabilities:
            decisions = cross_decisions(out_of_fold, self.binaries, self.dichotomies)
            final = learn_final_calibration(out_of_fold, self.solve_members(decisions))
        return replace(self, final=final, out_of_fold=out_of_fold)

    def with_conformity(self) -> Composition:
        """Return the composition with the out-of-fold probabilities that prediction sets need.

        A composition without out-of-fold scores is returned unchanged.

        Calibrators of small problems overfit slightly, so they are learnt again without each fold.
        That takes as long as the final calibration itself, so it is done only when sets are
        requested or the model is saved.
        """
        final, out_of_fold = self.final, self.out_of_fold
        if final is None or final.conformity is not None or out_of_fold is None:
            return self
        decisions = cross_decisions(out_of_fold, self.binaries, self.dichotomies, every=True)
        rows = learn_conformity(out_of_fold, self.solve_members(decisions))
        return replace(self, final=replace(final, conformity=rows))

    def _changed(self, **changes: Any) -> Composition:
        """Return a changed composition with its final calibration learnt again."""
        other = replace(self, **changes, final=None)
        if self.final is not None and self.out_of_fold is None and other.gives_probabilities:
            warn_of_lost_calibration()
        return other.calibrated_on(other.out_of_fold)

    @property
    def counted_models(self) -> str:
        """The number of models as text; the sides of a partition share one."""
        n_models = sum(own.is_counted for own in self.dichotomies)
        are_binary = all(own.is_binary for own in self.dichotomies)
        return count_things(n_models, *(["binary", "binaries"] if are_binary else ["model"]))

    def __repr__(self) -> str:
        each = [f'"{own}"' if isinstance(own, str) else repr(own) for own in self.solvers]
        solvers = " and ".join(dict.fromkeys(each))
        classes = count_things(len(self.classes), "class", "classes")
        return f"<Composition of {self.counted_models} for {classes}, solved by {solvers}>"


def warn_of_lost_calibration() -> None:
    """Warn that a final calibration cannot be learnt again."""
    warn_caller(
        CalibrationWarning(
            "the probabilities no longer have a final calibration: it would have to be learnt "
            "again from out-of-fold scores, which the model was saved without. Fit it again",
            PythonOnly(" and save it with out_of_fold=True"),
            ".",
        ),
        CalibrationWarning,
    )


def _mean(scores: Iterable[Floats]) -> Floats:
    """Return the mean over the members of an ensemble, with at most two in memory at a time."""
    total, n_members = None, 0
    for each in scores:
        n_members += 1
        # The first sum is a new array, so that no member's own scores are overwritten.
        total = each if total is None else np.add(total, each, out=total if n_members > 2 else None)
    assert total is not None
    return total if n_members == 1 else total / n_members
