"""From probabilities to decisions: prediction sets, priors, costs and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.composition.composition import Composition
from polytomy.composition.conformal import check_levels, check_score, choose_sets
from polytomy.composition.costs import check_costs
from polytomy.composition.explaining import explain_samples
from polytomy.composition.explanation import Explanations
from polytomy.composition.priors import find_training_prior, maximise_likelihood, shift_prior
from polytomy.composition.solver_option import Solver, gives_probabilities
from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.inputs.availability import available_unless
from polytomy.inputs.training_data import check_features
from polytomy.inputs.weights import check_weights

__all__ = ["DecidingMixin", "why_no_probabilities"]

Floats = NDArray[np.float64]


def why_no_probabilities(classifier: Any) -> str:
    """Return why a classifier gives no probabilities, or "" if it does."""
    fitted: Composition | None = getattr(classifier, "composition_", None)
    solver = classifier.solver if fitted is None else fitted.solver
    if gives_probabilities(solver):
        return ""
    return (
        f'solver="{solver}" gives scores, not probabilities. Use decision_function, or '
        'with_solver("least-squares").'
    )


class DecidingMixin:
    """Decisions based on the probabilities of the Composition in ``composition_``.

    `with_prior` and `with_cost` return fitted copies, as `with_solver` does. `fit` resets both, to
    the prior of its data and no costs.
    """

    composition_: Composition
    solver: Solver
    n_jobs: int | None

    # -- prediction sets ---------------------------------------------------------------------------

    @available_unless(why_no_probabilities)
    def predict_set(
        self,
        X: Any,
        confidence_level: float | ArrayLike = 0.9,
        score: str = "lac",
        *,
        per_class: bool = False,
        allow_empty: bool = False,
    ) -> NDArray[np.bool_]:
        """Return a set of classes for each sample that rarely misses the true class.

        The sets are based on the out-of-fold probabilities of training (cross-conformal
        prediction), so they need no further data. For samples like those of training, the set
        contains the true class with a probability of at least `confidence_level`. After
        `with_prior`, this holds for samples with the new class frequencies.

        Parameters
        ----------
        X : samples
        confidence_level : float or list of floats in (0, 1), default=0.9
        score : {"lac", "aps", "raps"}, default="lac"
            "lac" takes the classes with large probabilities, which gives the smallest sets. "aps"
            takes the likeliest classes until the sum of their probabilities is large enough, so
            hard samples get larger sets. "raps" does the same, but avoids large sets. All three are
            deterministic.
        per_class : bool, default=False
            Whether the level must hold for each class separately. A class with few training samples
            is then in most sets.
        allow_empty : bool, default=False
            Whether a set may be empty. Otherwise it has at least the most plausible class.

        Returns
        -------
        bool array of shape (n_samples, n_classes), in the order of ``classes_``; a list of levels
        adds a last axis of shape (n_levels,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polytomy import PolytomyClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = PolytomyClassifier(random_state=0).fit(X, y)
        >>> classifier.predict_set(X[[0, 70, 77]], 0.97).astype(int)
        array([[1, 0, 0],
               [0, 1, 1],
               [0, 0, 1]])
        """
        levels, is_single = check_levels(confidence_level)
        score = check_score(score)
        composition = self._fitted_composition()
        plain = composition.with_prior(None)
        samples = check_features(self, X)
        probabilities = plain.scores(samples, self.n_jobs)
        if len(composition.classes) == 1:
            sets = np.ones((len(probabilities), 1, len(levels)), dtype=np.bool_)
            return sets[:, :, 0] if is_single else sets
        rows = composition.find_conformity()
        if rows is None:
            raise ArgumentError(
                "prediction sets need out-of-fold probabilities, and this model has none. Fit it "
                "with ",
                Argument("final_calibration", "bias"),
                "; models saved by an earlier version have to be fitted again",
                PythonOnly(
                    ", and models that are given another solver or scheme after loading must be "
                    "saved with out_of_fold=True"
                ),
                ".",
            )
        shift = composition.prior
        if shift is not None:
            frequencies = shift.prior
        elif composition.frequencies is not None:
            frequencies = composition.frequencies.data
        else:
            totals = np.bincount(rows.class_indices, rows.weight, len(composition.classes))
            frequencies = np.asarray(totals / totals.sum())
        p_values = rows.p_values(
            probabilities,
            score,
            frequencies,
            None if shift is None else shift.ratio,
            per_class=per_class,
        )
        if shift is not None:
            probabilities = shift.apply(probabilities)
            p_values[:, shift.prior == 0] = 0.0
        sets = choose_sets(p_values, probabilities, levels, allow_empty=allow_empty)
        return sets[:, :, 0] if is_single else sets

    # -- priors ------------------------------------------------------------------------------------

    @property
    def prior_(self) -> Floats:
        """The prior that the probabilities assume: that of training, or of `with_prior`."""
        if not hasattr(self, "composition_"):
            raise AttributeError(f"{type(self).__name__} has no prior_ before it is fitted")
        composition = self.composition_
        if composition.prior is not None:
            return composition.prior.prior.copy()
        if composition.frequencies is None:
            raise AttributeError(
                f"{type(self).__name__} has no prior_: the class frequencies of its training data "
                "are not known"
            )
        return composition.frequencies.model.copy()

    @available_unless(why_no_probabilities)
    def with_prior(self, prior: Any, *, training_prior: Any = None) -> Self:
        """Return a copy for data with other class frequencies, without refitting.

        Each probability is multiplied by the ratio of the new prior to that of training, and each
        row is divided by its sum. A second call replaces the prior of the first.

        Parameters
        ----------
        prior : dict or series of labels and probabilities, array in the order of ``classes_``, None
            It sums to one. A class with probability zero is never predicted. None restores the
            prior of training.
        training_prior : as `prior`, optional
            The prior that the probabilities assume, for models whose training data is not known. By
            default the frequencies of the classes in training, with sample weights and class
            weights.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polytomy import PolytomyClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = PolytomyClassifier(random_state=0).fit(X, y)
        >>> rare = classifier.with_prior({0: 0.5, 1: 0.45, 2: 0.05})
        >>> classifier.predict_proba(X[[77]]).round(2), rare.predict_proba(X[[77]]).round(2)
        (array([[0.  , 0.27, 0.73]]), array([[0.  , 0.77, 0.23]]))
        """
        composition = self._fitted_composition()
        shift = None
        if prior is not None:
            frequencies = composition.frequencies
            shift = shift_prior(prior, composition.classes, frequencies, training_prior)
        elif training_prior is not None:
            raise ArgumentError(
                Argument("training_prior"), " has no effect without ", Argument("prior"), "."
            )
        return self._copy_with(composition.with_prior(shift))

    @available_unless(why_no_probabilities)
    def estimate_prior(
        self, X: Any, *, sample_weight: ArrayLike | None = None, training_prior: Any = None
    ) -> Floats:
        """Return an estimate of the class frequencies in unlabelled data.

        The estimate is the prior under which the samples are likeliest (Saerens, Latinne and
        Decaestecker 2002). It assumes that only the class frequencies have changed since training,
        and not the classes themselves. It does not depend on an earlier `with_prior`.

        Parameters
        ----------
        X : samples
        sample_weight : array of shape (n_samples,), optional
        training_prior : as in `with_prior`

        Returns
        -------
        array of shape (n_classes,), in the order of ``classes_``, for `with_prior`
        """
        composition = self._fitted_composition()
        if training_prior is None and composition.prior is not None:
            training = composition.prior.training
        else:
            training = find_training_prior(
                composition.classes, composition.frequencies, training_prior
            )
        samples = check_features(self, X)
        probabilities = composition.with_prior(None).scores(samples, self.n_jobs)
        weight = check_weights(sample_weight, len(probabilities))
        return maximise_likelihood(probabilities, training, weight)

    # -- costs -------------------------------------------------------------------------------------

    @available_unless(why_no_probabilities)
    def with_cost(
        self, matrix: Any = None, reject_cost: float | None = None, reject_label: Any = None
    ) -> Self:
        """Return a copy whose `predict` minimises the expected cost, without refitting.

        `predict_proba` and `decision_function` do not change. A second call replaces the costs of
        the first, and ``with_cost()`` removes them.

        Parameters
        ----------
        matrix : array of shape (n_classes, n_classes), dict of dicts or frame, optional
            Rows are true classes, columns predicted ones, both in the order of ``classes_``; a dict
            is ``{true: {predicted: cost}}``. Without it, every error costs one.
        reject_cost : float, optional
            The cost of making no prediction. `predict` returns `reject_label` where that is cheaper
            than any class.
        reject_label : label, optional
            It must not be a class. The default is −1 if the labels are numbers, and "unknown" if
            they are text. If its type differs from that of the labels, `predict` returns an object
            array.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polytomy import PolytomyClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = PolytomyClassifier(random_state=0).fit(X, y)
        >>> careful = classifier.with_cost(reject_cost=0.1)
        >>> classifier.predict(X[[0, 77, 133]]), careful.predict(X[[0, 77, 133]])
        (array([0, 2, 2]), array([ 0, -1, -1]))
        """
        composition = self._fitted_composition()
        costs = None
        if matrix is not None or reject_cost is not None or reject_label is not None:
            costs = check_costs(matrix, composition.classes, reject_cost, reject_label)
        return self._copy_with(composition.with_costs(costs))

    @available_unless(why_no_probabilities)
    def predict_cost(self, X: Any) -> Floats:
        """Return the expected cost of predicting each class; `predict` minimises it.

        Without `with_cost`, every error costs one.

        Returns
        -------
        array of shape (n_samples, n_classes), in the order of ``classes_``; with a `reject_cost`,
        the last of n_classes + 1 columns is the cost of making no prediction
        """
        composition = self._fitted_composition()
        costs = composition.costs or check_costs(None, composition.classes)
        return costs.expected(composition.scores(check_features(self, X), self.n_jobs))

    # -- explanations ------------------------------------------------------------------------------

    def explain(self, X: Any) -> Explanations:
        """Explain why each sample's likeliest class beats the second.

        The contributions of the partitions and of everything else sum to the difference between the
        winner and the runner-up. They are exact for least squares, where they are its linear terms,
        and for trees, where they follow the paths to the two classes. For other solvers and
        ensembles, a partition contributes what is lost if it is left out, and the remainder is
        listed as well.

        Returns
        -------
        Explanations, one for each sample; ``print`` shows them as text, `records` and `to_frame`
        are for programs, and `polytomy.plots.explanation` draws one

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polytomy import PolytomyClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = PolytomyClassifier(random_state=0).fit(X, y)
        >>> print(classifier.explain(X[[77]]))
        sample 0: 2 (P = 0.727) over 1 (P = 0.273), log-odds 0.98
             adds  partition
           +0.705  one-vs-one-01  0: 0.02 / 2: 0.98
           +0.587  one-vs-one-02  1: 0.37 / 2: 0.63
           -0.437  one-vs-one-00  0: 0.01 / 1: 0.99
           +0.024  interaction
           +0.101  final calibration
        """
        return explain_samples(self._fitted_composition(), check_features(self, X), self.n_jobs)

    # -- parts of the above ------------------------------------------------------------------------

    def _fitted_composition(self) -> Composition:
        return self._fitted()  # type: ignore[attr-defined,no-any-return]

    if TYPE_CHECKING:

        def _copy_with(self, composition: Composition, **parameters: Any) -> Self: ...
