"""Predictions and attributes of a fitted classifier, taken from its composition."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polytomy.binary import TrainedBinary
from polytomy.composition.binding import bind_classes
from polytomy.composition.composition import Composition
from polytomy.composition.deciding import DecidingMixin, why_no_probabilities
from polytomy.composition.final_calibration import FinalCalibration
from polytomy.composition.hierarchical_answers import (
    descend_nodes,
    find_hierarchy,
    sum_below_nodes,
)
from polytomy.composition.scheme_argument import SchemeArgument, members_of, scheme_from
from polytomy.composition.scheme_diagram import scheme_as_html
from polytomy.composition.solver_option import Solver
from polytomy.inputs.availability import available_unless
from polytomy.inputs.training_data import check_features
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = ["AnsweringMixin"]


class AnsweringMixin(DecidingMixin):
    """Predictions and fitted attributes, taken from the Composition in ``composition_``.

    For classifiers with the parameters ``scheme``, ``solver``, ``n_jobs``, ``random_state`` and
    ``class_order``.
    """

    composition_: Any
    scheme: SchemeArgument
    solver: Solver
    n_jobs: int | None
    random_state: Any
    class_order: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest probability or score; ties go to the first class.

        After `with_cost`, it is the class of least expected cost instead.
        """
        return self._fitted().predict(check_features(self, X), self.n_jobs)

    @available_unless(why_no_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, in the order of ``classes_``."""
        return self._fitted().scores(check_features(self, X), self.n_jobs)

    @available_unless(why_no_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_unless(why_no_probabilities)
    def predict_top_k(
        self, X: Any, k: int, *, beam: int | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the k likeliest classes of each sample, without an array of all probabilities.

        Samples are processed in blocks, so memory stays bounded for any number of samples and
        classes. In a tree of linear binaries without a final calibration, only the binaries that
        matter are evaluated. The answers are exact unless `beam` is set.

        Parameters
        ----------
        X : samples
        k : int, from 1 to the number of classes
        beam : int, optional
            For trees with two branches at each node and linear binaries: the number of nodes to
            follow at each depth for each sample, at least k. This is faster, but a class below a
            node that is not followed is not found, and a final calibration has to guess the total
            of such classes.

        Returns
        -------
        labels, probabilities : arrays of shape (n_samples, k), the likeliest class first
            Ties go to the first class, as in `predict`.
        """
        composition = self._fitted()
        X = check_features(self, X)
        indices, proba = composition.top_classes(X, k, self.n_jobs, beam=beam)
        return composition.classes[indices], proba

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return a value for each class; `predict` returns the class with the largest value.

        The exception is `with_cost`, which changes `predict` only.

        For probabilities, the values are their logarithms minus the mean of each row; the scores of
        other solvers are returned unchanged. For two classes there is one value, positive for the
        second class: the log-odds, or the difference of the scores.

        Models read from LIBSVM's files break ties between votes as svm-predict does; for them,
        `predict` may return a different class among those with the largest value.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        return self._fitted().decision_values(check_features(self, X), self.n_jobs)

    def decisions(self, X: Any) -> NDArray[np.float64]:
        """Return the answers of the binaries, P(+1) − P(−1), in the order of the partitions.

        A partition with more than two sides has a column for each side, 2 P(side) − 1.

        Returns
        -------
        array of shape (n_samples, n_rows), in [−1, 1]
        """
        return self._fitted().decisions(check_features(self, X), self.n_jobs)

    # -- hierarchies -------------------------------------------------------------------------------

    @available_unless(why_no_probabilities)
    def node_probabilities(self, X: Any, *, hierarchy: Any = None) -> NDArray[np.float64]:
        """Return the probability of each node of the scheme: the sum over the classes below it.

        Parameters
        ----------
        X : samples
        hierarchy : Scheme, control text or nested dicts, optional
            A hierarchy of the classes to use instead of the scheme.

        Returns
        -------
        array of shape (n_samples, n_nodes), in the order of ``scheme_.nodes``; 1 for the root.
        ``scheme_.node_names`` has the names.
        """
        return sum_below_nodes(*self._hierarchy(hierarchy), self.predict_proba(X))

    @available_unless(why_no_probabilities)
    def predict_nodes(
        self,
        X: Any,
        *,
        max_depth: int | None = None,
        min_probability: float = 0.0,
        hierarchy: Any = None,
    ) -> NDArray[Any]:
        """Return the class, or the name of the node, where the walk down the scheme ends.

        Each step from the root goes to the branch with the largest probability, the sum over the
        classes below it.

        Parameters
        ----------
        X : samples
        max_depth : int, optional
            Maximum number of steps.
        min_probability : float, default=0
            Stop before a branch with a smaller probability.
        hierarchy : Scheme, control text or nested dicts, optional
            A hierarchy of the classes to use instead of the scheme.

        Returns
        -------
        array of objects of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return descend_nodes(*self._hierarchy(hierarchy), proba, max_depth, min_probability)

    def _hierarchy(self, hierarchy: Any) -> tuple[Scheme, NDArray[np.intp]]:
        """Return a hierarchy of the classes, by default the scheme, and their positions in it."""
        composition = self._fitted()
        if hierarchy is None:
            return find_hierarchy(composition.arrangements)
        scheme = scheme_from(hierarchy, composition.classes)
        (member,) = members_of(scheme)
        return member, bind_classes(member, composition.classes)

    # -- the same binaries, composed differently --------------------------------------------------

    def with_solver(self, solver: Solver) -> Self:
        """Return a copy with the same trained binaries and another solver, without refitting."""
        composition = self._fitted().with_solver(solver)
        return self._copy_with(composition, solver=solver)

    def with_scheme(self, scheme: SchemeArgument) -> Self:
        """Return a copy with the same trained binaries in another scheme, without refitting.

        Every partition of the new scheme must have been trained, with its sides in either order;
        SchemeError names one that was not.
        """
        new = scheme_from(
            scheme,
            self._fitted().classes,
            random_state=self.random_state,
            class_order=self.class_order,
        )
        return self._copy_with(self.composition_.with_scheme(new, self.solver), scheme=scheme)

    def _copy_with(self, composition: Composition, **parameters: Any) -> Self:
        other = copy.copy(self)
        for name, value in parameters.items():
            setattr(other, name, value)
        to_train = [each.estimator for each in composition.dichotomies if each.trained is None]
        if any(hasattr(estimator, "partial_fit") for estimator in to_train):
            # Otherwise training one of the two further would change the answers of the other.
            composition = composition.with_copied_binaries()
        other.composition_ = composition
        return other

    # -- what was fitted ---------------------------------------------------------------------------

    @property
    def scheme_(self) -> Scheme | SchemeEnsemble:
        """The scheme that was fitted."""
        return self._attribute("scheme_").scheme

    @property
    def binaries_(self) -> list[TrainedBinary]:
        """The trained binaries."""
        return list(self._attribute("binaries_").binaries)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted two-class estimators, in the order of the partitions."""
        return [each.fitted_estimator for each in self._attribute("estimators_").partition_binaries]

    @property
    def preprocessing_(self) -> Any:
        """The fitted transformers that all binaries share, a Pipeline; None if there are none."""
        return self._attribute("preprocessing_").preprocessing

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self._attribute("n_classes_").classes)

    @property
    def out_of_fold_score_(self) -> dict[str, float]:
        """Log-loss, Brier score, accuracy and uncertainty coefficient, out of fold."""
        return dict(self._final("out_of_fold_score_").score)

    @property
    def out_of_fold_proba_(self) -> NDArray[np.float64]:
        """Out-of-fold probabilities of the training samples.

        NaN for samples that no fold holds out, and for the only sample of a class.
        """
        kept = self._final("out_of_fold_proba_").probabilities
        scores = self.composition_.out_of_fold
        if scores is None:
            raise AttributeError(
                f"{type(self).__name__} has no out_of_fold_proba_: the model was saved without it. "
                "Fit it with keep_out_of_fold=True, and save it with out_of_fold=True."
            )
        if kept is None:
            raise AttributeError(
                f"{type(self).__name__} has no out_of_fold_proba_. Fit it with "
                "keep_out_of_fold=True."
            )
        proba = np.full((scores.n_rows, kept.shape[1]), np.nan)
        proba[scores.rows] = kept
        return proba

    def _final(self, name: str) -> FinalCalibration:
        final = self._attribute(name).final
        if final is None:
            raise AttributeError(
                f"{type(self).__name__} has no {name}: it has no final calibration. Fit it with "
                'final_calibration="bias", and a solver that gives probabilities.'
            )
        return final

    @property
    def pairwise_indices_(self) -> list[NDArray[np.intp]] | None:
        """The training samples of each partition if the kernel is precomputed, else None."""
        binaries = self._attribute("pairwise_indices_").partition_binaries
        return [each.columns for each in binaries if each.columns is not None] or None

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return diagram + self._scheme_as_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._scheme_as_html()
        return bundle

    def _scheme_as_html(self) -> str:
        fitted: Composition | None = getattr(self, "composition_", None)
        return "" if fitted is None else scheme_as_html(fitted.scheme)

    def _attribute(self, name: str) -> Composition:
        if not hasattr(self, "composition_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        composition: Composition = self.composition_
        return composition

    def _fitted(self) -> Composition:
        check_is_fitted(self, "composition_")
        composition: Composition = self.composition_
        return composition
