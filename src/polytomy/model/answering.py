"""Answers of a fitted classifier: predictions, decisions based on them, and fitted attributes.

Everything is taken from the Composition in ``composition_``. The methods check their arguments and
the samples; the work is done by the composition and the other modules of this package.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.inputs.arguments import Parameter, available_unless
from polytomy.inputs.numbers import check_confidence_levels, check_weights
from polytomy.inputs.training_data import check_features
from polytomy.learners.bank import Bank
from polytomy.learners.trained import TrainedBinary
from polytomy.model.arrangement import Solver, bind_classes, gives_probabilities
from polytomy.model.changing import ClassChange, remove_classes
from polytomy.model.composition import Composition, Compression
from polytomy.model.decisions import (
    check_costs,
    descend_nodes,
    find_hierarchy,
    find_training_prior,
    maximise_likelihood,
    measure_novelty,
    shift_prior,
    sum_below_nodes,
)
from polytomy.model.explanations import Explanations, explain_samples
from polytomy.model.out_of_fold import FinalCalibration
from polytomy.model.scheme_argument import SchemeArgument, follows_labels, members_of, scheme_from
from polytomy.model.sets import INTERVAL, SCORES, choose_sets
from polytomy.scheme import Scheme, SchemeEnsemble

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


def index_class_order(classifier: Any) -> NDArray[np.intp] | None:
    """Return the indices of a classifier's classes from first to last, if their order is known."""
    if classifier.class_order_ is None:
        return None
    index = {label: number for number, label in enumerate(classifier.classes_.tolist())}
    return np.array([index[label] for label in classifier.class_order_])


def find_sets(
    composition: Composition,
    probabilities: Floats,
    levels: Floats,
    score: str,
    order: NDArray[np.intp] | None,
    per_class: bool = False,
    allow_empty: bool = False,
) -> NDArray[np.bool_]:
    """Return prediction sets, of shape (n_samples, n_classes, n_levels); see `predict_set`.

    Parameters
    ----------
    composition : Composition with conformity
    probabilities : array of shape (n_samples, n_classes), under the prior of training
    levels : array of shape (n_levels,)
    score : name of the score
    order : class indices from first to last, if the score uses them
    per_class, allow_empty : as in `predict_set`
    """
    if len(composition.classes) == 1:
        return np.ones((len(probabilities), 1, len(levels)), dtype=np.bool_)
    rows = None if composition.final is None else composition.final.conformity
    if rows is None:
        raise ArgumentError(
            "prediction sets need out-of-fold probabilities, and this model has none. Fit it with ",
            Argument("final_calibration", "bias"),
            PythonOnly(
                "; models that are given another solver or scheme after loading must be saved "
                "with out_of_fold=True"
            ),
            ".",
        )
    shift = composition.prior
    if shift is not None:
        frequencies = shift.prior
        # Classes that cannot occur are in no set, not even between others.
        order = None if order is None else order[frequencies[order] > 0]
    elif composition.frequencies is not None:
        frequencies = composition.frequencies.data
    else:
        totals = np.bincount(rows.class_indices, rows.weight, len(composition.classes))
        frequencies = np.asarray(totals / totals.sum())
    ratio = None if shift is None else shift.ratio
    p_values = rows.p_values(
        probabilities, score, frequencies, ratio, per_class=per_class, order=order
    )
    if shift is not None:
        probabilities = shift.apply(probabilities)
        p_values[:, shift.prior == 0] = 0.0
    winners = composition.choose(probabilities)
    return choose_sets(p_values, winners, levels, allow_empty=allow_empty, order=order)


class AnsweringMixin:
    """Predictions, decisions and fitted attributes, taken from the Composition in ``composition_``.

    For classifiers with the parameters ``scheme``, ``solver``, ``n_jobs``, ``random_state`` and
    ``class_order``. Methods whose names begin with ``with_`` return fitted copies; `fit` resets
    what they have changed.
    """

    scheme: SchemeArgument
    solver: Solver
    n_jobs: int | None
    random_state: Any
    class_order: Any
    classes_: NDArray[Any]
    class_order_: list[Any] | None
    class_change_: ClassChange

    @property
    def composition_(self) -> Composition:
        """The fitted composition. After `partial_fit`, it is calibrated when it is first needed."""
        if "_pending" in self.__dict__:
            self._calibrate_pending()
        if "composition_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no composition_ before it is fitted")
        found: Composition = self.__dict__["composition_"]
        return found

    @composition_.setter
    def composition_(self, composition: Composition) -> None:
        self.__dict__.pop("_pending", None)
        self.__dict__["composition_"] = composition

    def _calibrate_pending(self) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        """Remove the results of earlier calls."""
        for name in ("_pending", "composition_", "reservoir_", "class_change_"):
            self.__dict__.pop(name, None)

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
    def predict_top_k(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the k likeliest classes of each sample, without an array of all probabilities.

        Samples are processed in blocks, so memory stays bounded for any number of samples and
        classes.

        Parameters
        ----------
        X : samples
        k : int, from 1 to the number of classes

        Returns
        -------
        labels, probabilities : arrays of shape (n_samples, k), the likeliest class first
            Ties go to the first class, as in `predict`.
        """
        composition = self._fitted()
        X = check_features(self, X)
        indices, proba = composition.top_classes(X, k, self.n_jobs)
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

    # -- prediction sets ---------------------------------------------------------------------------

    @available_unless(why_no_probabilities)
    def predict_set(
        self,
        X: Any,
        confidence_level: float | ArrayLike = 0.9,
        score: str = "auto",
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
        score : {"auto", "lac", "aps", "raps", "interval"}, default="auto"
            "lac" takes the classes with large probabilities, which gives the smallest sets. "aps"
            takes the likeliest classes until the sum of their probabilities is large enough, so
            hard samples get larger sets. "raps" does the same, but avoids large sets. "interval" is
            "lac" for ordered classes: sets have no gaps. "auto" is "interval" if the order of the
            classes is known (``class_order_``), and "lac" otherwise. All are deterministic.
        per_class : bool, default=False
            Whether the level must hold for each class separately. A class with few training samples
            is then in most sets.
        allow_empty : bool, default=False
            Whether a set may be empty, or lack the class that `predict` returns. Otherwise it
            always has that class; where `predict` makes no prediction, the class of least cost.

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
        levels = check_confidence_levels("confidence_level", confidence_level)
        is_single, levels = levels.ndim == 0, np.atleast_1d(levels)
        Parameter("score", choices=("auto", *SCORES)).check(score)
        # Kept, because the out-of-fold probabilities may have been computed only now.
        composition = self.composition_ = self._fitted().with_conformity()
        samples = check_features(self, X)
        probabilities = composition.with_prior(None).scores(samples, self.n_jobs)
        order = self._order_for_sets(score)
        if score == "auto":
            score = "lac" if order is None else INTERVAL
        sets = find_sets(composition, probabilities, levels, score, order, per_class, allow_empty)
        return sets[:, :, 0] if is_single else sets

    def _order_for_sets(self, score: str) -> NDArray[np.intp] | None:
        """Return the class indices from first to last, if the score of sets uses their order."""
        if score not in ("auto", INTERVAL):
            return None
        order = index_class_order(self)
        if order is None and score == INTERVAL:
            raise ArgumentError(
                Argument("score", score),
                " needs the order of the classes, which this model does not know. Fit it with ",
                Argument("class_order"),
                ", or use ",
                Argument("score", "lac"),
                ".",
            )
        return order

    # -- compression -------------------------------------------------------------------------------

    @available_unless(why_no_probabilities)
    def compress(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        method: str = "auto",
        max_accuracy_loss: float = 0.005,
        n_borders: int | None = None,
    ) -> Self:
        """Return a copy that approximates its support vector machines, for faster answers.

        ``compression_`` of the copy says what it lost, on samples that neither the machines nor
        their approximations had seen. If X is the training data, some machines are therefore
        trained again, which may take as long as `fit`.

        Parameters
        ----------
        X : the training data, or other samples
        y : labels of X, optional for other samples
            Without them, classes are drawn from the classifier's own probabilities.
        method : {"auto", "fourier", "cascade", "borders"}, default="auto"
            "fourier" replaces each decision function by a linear function of random features of the
            kernel, and needs 400 samples or more. "cascade" asks a small model first, and then only
            the machines that separate its likeliest classes. "borders" compares samples with the
            nearest of some points on each border, as libAGF does. "auto" tries all but "borders",
            and takes the fastest.
        max_accuracy_loss : float, default=0.005
            The smallest approximation that loses no more accuracy is taken. If there is none, an
            ArgumentError says what was tried.
        n_borders : int, optional
            Number of border samples of each machine; 100, or 300 if those lose too much.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from polytomy import PolytomyClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> exact = PolytomyClassifier("svc C=10", random_state=0).fit(X[::2], y[::2])
        >>> fast = exact.compress(X[::2], y[::2], method="fourier", max_accuracy_loss=0.02)
        >>> fast.compression_.size  # random features in place of 10 SVMs of hundreds of vectors
        200
        """
        from polytomy.model.compression import compress_classifier  # seldom needed

        return self._copy_with(
            compress_classifier(self, self._fitted(), X, y, method, max_accuracy_loss, n_borders)
        )

    @property
    def compression_(self) -> Compression:
        """How the classifier was compressed, and what that changed; see `compress`."""
        compression = self._attribute("compression_").compression
        if compression is None:
            raise AttributeError(f"{type(self).__name__} has no compression_: it is exact")
        return compression

    # -- priors and costs --------------------------------------------------------------------------

    @property
    def prior_(self) -> Floats:
        """The prior that the probabilities assume: that of training, or of `with_prior`."""
        composition = self._attribute("prior_")
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
        composition = self._fitted()
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
        composition = self._fitted()
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

    @available_unless(why_no_probabilities)
    def with_cost(
        self,
        matrix: Any = None,
        reject_cost: float | None = None,
        reject_label: Any = None,
        *,
        reject_novelty: float | None = None,
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
        reject_novelty : float from 0 to 1, optional
            `predict` returns `reject_label` for samples whose `novelty` is larger, whatever they
            cost.

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
        composition = self._fitted()
        costs = None
        given = (reject_cost, reject_label, reject_novelty)
        if matrix is not None or any(each is not None for each in given):
            costs = check_costs(matrix, composition.classes, *given)
        return self._copy_with(replace(composition, costs=costs))

    @available_unless(why_no_probabilities)
    def novelty(self, X: Any) -> Floats:
        """Return how little each sample looks like any of the classes, from 0 to 1.

        It is the entropy of the class probabilities, divided by the largest possible entropy. On
        average over eight datasets, this finds samples of unknown classes better than the largest
        probability, the disagreement of the binaries, kernel values or a one-class support vector
        machine: see "Add and remove classes" in the documentation. It says nothing about samples
        that are far away from all others but on one side of every border.

        Returns
        -------
        array of shape (n_samples,), larger for stranger samples; see `reject_novelty` of
        `with_cost`

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from polytomy import PolytomyClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> known = np.flatnonzero(y < 9)[::2]
        >>> classifier = PolytomyClassifier(random_state=0).fit(X[known], y[known])
        >>> X, y = np.delete(X, known, axis=0), np.delete(y, known)
        >>> novelty = classifier.novelty(X)
        >>> [round(float(np.median(novelty[each])), 2) for each in (y < 9, y == 9)]
        [0.0, 0.14]
        """
        return measure_novelty(self._fitted().scores(check_features(self, X), self.n_jobs))

    @available_unless(why_no_probabilities)
    def predict_cost(self, X: Any) -> Floats:
        """Return the expected cost of predicting each class; `predict` minimises it.

        Without `with_cost`, every error costs one.

        Returns
        -------
        array of shape (n_samples, n_classes), in the order of ``classes_``; with a `reject_cost`,
        the last of n_classes + 1 columns is the cost of making no prediction
        """
        composition = self._fitted()
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
        >>> classifier = PolytomyClassifier(final_calibration="bias", random_state=0).fit(X, y)
        >>> print(classifier.explain(X[[77]]))
        sample 0: 2 (P = 0.727) over 1 (P = 0.273), log-odds 0.98
             adds  partition
           +0.705  one-vs-one-01  0: 0.02 / 2: 0.98
           +0.587  one-vs-one-02  1: 0.37 / 2: 0.63
           -0.437  one-vs-one-00  0: 0.01 / 1: 0.99
           +0.024  interaction
           +0.101  final calibration
        """
        return explain_samples(self._fitted(), check_features(self, X), self.n_jobs)

    # -- the same binaries, composed differently ---------------------------------------------------

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
            class_order=self.class_order_,
        )
        return self._copy_with(self.composition_.with_scheme(new, self.solver), scheme=scheme)

    # -- other classes -----------------------------------------------------------------------------

    def without_classes(self, labels: Any) -> Self:
        """Return a copy that does not know some of the classes, without refitting.

        Binaries that only separate these classes from others are dropped, trees are pruned, and
        codes lose columns, and partitions with one side left. All other binaries stay as they are.
        The final calibration is learnt again from the stored out-of-fold scores of the remaining
        classes. A model that was saved without them keeps what its final calibration knows of the
        remaining classes and binaries, which is less accurate.

        Parameters
        ----------
        labels : label or list of labels; two classes or more must remain

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from polytomy import PolytomyClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> classifier = PolytomyClassifier(random_state=0).fit(X[::4], y[::4])
        >>> smaller = classifier.without_classes([8, 9])
        >>> print(smaller.class_change_)
        28 binaries are kept, 0 are trained
        >>> smaller.predict(X[[8, 9]])  # an eight and a nine
        array([3, 5])
        """
        order = self.class_order_
        composition, change = remove_classes(self._fitted(), labels)
        if order is not None:
            order = [label for label in order if label not in change.removed]
        return self._with_other_classes(composition, order, change, self.scheme)

    def _with_other_classes(
        self, composition: Composition, order: list[Any] | None, change: ClassChange, scheme: Any
    ) -> Self:
        given_order = None if self.class_order is None else order
        own = scheme if follows_labels(scheme) else composition.scheme
        other = self._copy_with(composition, scheme=own, class_order=given_order)
        other.__dict__.pop("reservoir_", None)
        other.classes_, other.class_order_ = composition.classes, order
        other.class_change_ = change
        return other

    def _copy_with(self, composition: Composition, **parameters: Any) -> Self:
        other = copy.copy(self)
        for name, value in parameters.items():
            setattr(other, name, value)
        to_train = [each.estimator for each in composition.dichotomies if each.trained is None]
        if any(hasattr(estimator, "partial_fit") for estimator in to_train):
            # Otherwise training one of the two further would change the answers of the other.
            bank = Bank(copy.deepcopy(composition.binaries), composition.bank.dtype)
            composition = replace(composition, bank=bank)
        other.composition_ = composition
        return other

    # -- fitted attributes -------------------------------------------------------------------------

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
    def pool_weights_(self) -> Floats:
        """The weight of each member of a pool; equal weights without a final calibration."""
        composition = self._attribute("pool_weights_")
        n_members = len(composition.arrangements)
        if n_members == 1:
            raise AttributeError(
                f"{type(self).__name__} has no pool_weights_: it has one scheme. Fit it with a "
                'list of schemes, or with scheme="pool".'
            )
        final: Any = composition.final
        return np.full(n_members, 1 / n_members) if final is None else final.map.weights.copy()

    @property
    def out_of_fold_proba_(self) -> NDArray[np.float64]:
        """Out-of-fold probabilities of the training samples.

        NaN for samples that no fold holds out, and for the only sample of a class.
        """
        kept = self._final("out_of_fold_proba_").probabilities
        scores = self.composition_.out_of_fold
        if scores is None or kept is None:
            raise AttributeError(
                f"{type(self).__name__} has no out_of_fold_proba_. Fit it with "
                "keep_out_of_fold=True; it is not saved."
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

    def _attribute(self, name: str) -> Composition:
        if not hasattr(self, "composition_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        composition: Composition = self.composition_
        return composition

    def _fitted(self) -> Composition:
        if "composition_" not in self.__dict__:  # a tenth of the time that check_is_fitted takes
            check_is_fitted(self, "composition_")
        composition: Composition = self.composition_
        return composition

    # -- notebooks ---------------------------------------------------------------------------------

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
        return "" if fitted is None else fitted.scheme._repr_html_()
