"""Tree diagram of a scheme, with a score or the separability of each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import precision_recall_fscore_support

from polytomy.distances import ClassDistances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter
from polytomy.metrics import node_scores
from polytomy.metrics.metric import check_judged_samples
from polytomy.plots import canvas
from polytomy.plots.fitted import ask_probabilities, find_class_indices, find_fitted, scheme_of
from polytomy.plots.layout import distances_at_nodes
from polytomy.plots.matrices import draw_cells
from polytomy.scheme import Node, Scheme
from polytomy.scheme.pictures import COLUMN, TreeLayout, place_nodes

Floats = NDArray[np.float64]

_ROW = 0.32  # inches per class
_LOW_ROW, _NARROW_COLUMN = 0.16, 0.12  # for classes and levels beyond these numbers
_MANY_CLASSES, _MANY_LEVELS = 40, 16
_LABEL_HEIGHT = 0.14  # inches
_MOST_EDGES = 60


SCORES = {
    "error_rate": "error rate",
    "precision": "precision",
    "recall": "recall",
    "f_score": "F score",
}
"""What can be shown at the nodes of a tree, and its title."""

_SCORE = Parameter("score", choices=tuple(SCORES))


class TreeDisplay:
    """A scheme as a tree from left to right, with scores at its nodes: where are the mistakes made?

    A node of one model is a dot. If it has two branches, the −1 branch is blue and the +1 branch
    orange. A node of several models is drawn as its coding matrix: a column for each partition,
    with the classes in their rows, blue for −1 and orange for +1. Use `from_estimator`,
    `from_predictions` or the function `tree` to create one.

    Parameters
    ----------
    scheme : Scheme
    node_values : list of numbers, optional
        A number at each node, in the order of ``scheme.nodes``; None for no number. They are also
        shown by the size of the dots.
    class_values : array of numbers, optional
        A number at each class, in the order of ``scheme.classes``; NaN for no number.
    values_format : str, default=".3f"
    title : str, optional

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure

    See Also
    --------
    polytomy.plots.tree : the same for a scheme without scores, or with distances.
    polytomy.metrics.node_scores : the scores as arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = pt.PolytomyClassifier(scheme="first {0 second {1 2}}", random_state=0)
    >>> classifier = classifier.fit(X[::2], y[::2])
    >>> display = pt.plots.TreeDisplay.from_estimator(classifier, X[1::2], y[1::2])
    >>> [f"{value:.2f}" for value in display.node_values]
    ['0.00', '0.04']
    """

    def __init__(
        self,
        scheme: Scheme,
        *,
        node_values: Sequence[float | None] | None = None,
        class_values: Sequence[float] | NDArray[np.float64] | None = None,
        values_format: str = ".3f",
        title: str | None = None,
    ) -> None:
        self.scheme = scheme
        self.node_values = [None] * len(scheme.nodes) if node_values is None else list(node_values)
        self.class_values = class_values
        self.values_format = values_format
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        score: str = "error_rate",
        sample_weight: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw the scheme of a fitted classifier, with its scores on labelled samples.

        Parameters
        ----------
        estimator : fitted PolytomyClassifier, or a pipeline or search of one
        X, y : samples that the classifier was not trained on, and their labels
        score, sample_weight, **options : as in `from_predictions`
        """
        of_nodes, of_classes = score_classifier(estimator, X, y, score, sample_weight)
        return cls._of(scheme_of(estimator), of_nodes, of_classes, score).plot(**options)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        proba: ArrayLike,
        scheme: Scheme,
        *,
        classes: ArrayLike | None = None,
        score: str = "error_rate",
        sample_weight: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw a scheme with the scores of predicted probabilities.

        Parameters
        ----------
        y : array of shape (n_samples,), true labels
        proba : array of shape (n_samples, n_classes), probabilities of any classifier
        scheme : Scheme whose classes are these labels
        classes : array of shape (n_classes,), optional
            The label of each column of `proba`; by default the labels in `y`, sorted.
        score : {"error_rate", "precision", "recall", "f_score"}, default="error_rate"
            What to show. The error rate of a node is the share of the samples below it whose most
            probable branch is not their own; that of a class is the share of its samples that are
            predicted as another class. The other scores are those of "is below this node"; see
            `metrics.node_scores`.
        sample_weight : array of shape (n_samples,), optional
        **options : arguments of `plot`
        """
        scheme = _check_scheme(scheme)
        of_nodes, of_classes = score_predictions(
            y, proba, scheme, score, classes=classes, sample_weight=sample_weight
        )
        return cls._of(scheme, of_nodes, of_classes, score).plot(**options)

    @classmethod
    def _of(cls, scheme: Scheme, of_nodes: Floats, of_classes: Floats, score: str) -> Self:
        values = [value if np.isfinite(value) else None for value in of_nodes.tolist()]
        return cls(scheme, node_values=values, class_values=of_classes, title=SCORES[score])

    def plot(
        self, *, labels: Mapping[Any, str] | None = None, names: bool = False, ax: Any = None
    ) -> Self:
        """Draw the tree.

        Parameters
        ----------
        labels : dict, optional
            Text to show for classes instead of their labels.
        names : bool, default=False
            Whether to write the names of the nodes.
        ax : matplotlib axes, optional
        """
        scheme, texts = self.scheme, self._class_texts(labels)
        n_classes = len(scheme.classes)
        places = place_nodes(scheme)
        column = max(COLUMN, 0.7 + canvas.estimate_length(scheme.node_names) if names else 0.0)
        ax = canvas.axes_or_new(
            ax,
            max(1.5, 0.7 + canvas.estimate_length(texts))
            + column * min(places.n_levels, _MANY_LEVELS)
            + _NARROW_COLUMN * max(0, places.n_levels - _MANY_LEVELS)
            + COLUMN * (places.right - places.n_levels),
            0.6
            + _ROW * min(n_classes, _MANY_CLASSES)
            + _LOW_ROW * max(0, n_classes - _MANY_CLASSES),
        )
        # In small axes, dots do not reach further than their classes.
        largest_dot = max(4.0, (72 * canvas.size_in_inches(ax)[1] / n_classes) ** 2)
        shown = [abs(value) for value in self.node_values if value is not None]
        largest = max(shown, default=0.0) or 1.0
        for position, node in enumerate(scheme.nodes):
            _draw_branches(ax, node, position, places)
            value = self.node_values[position]
            place = places.lefts[position], -places.rows[position]
            words = [scheme.node_names[position]] if names else []
            words += [] if value is None else [f"{value:{self.values_format}}"]
            if node.code.n_partitions > 1:
                _draw_code(ax, scheme, position, places)
            else:
                size = 30 if value is None else 15 + 85 * abs(value) / largest
                ax.scatter(*place, s=min(size, largest_dot), color=canvas.ink(), zorder=2)
            _write_at_node(ax, place, " ".join(words))
        self._write_classes(ax, texts, places.right)
        if self.title is not None:
            ax.set_title(self.title, fontsize=canvas.TITLE, **canvas.PLAIN_TEXT)
        ax.set_xlim(-0.3, places.right + 0.6)
        ax.set_ylim(-n_classes + 0.4, 0.6)
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _class_texts(self, labels: Mapping[Any, str] | None) -> list[str]:
        """Return the texts at the classes: their labels, and their values if they have any."""
        texts = [
            str(label) if labels is None else labels.get(label, str(label))
            for label in self.scheme.classes
        ]
        if self.class_values is None:
            return texts
        return [
            f"{text} ({value:{self.values_format}})" if np.isfinite(value) else text
            for text, value in zip(texts, self.class_values, strict=True)
        ]

    def _write_classes(self, ax: Any, texts: Sequence[str], right: float) -> None:
        """Write the labels, or every second, third, … if there is no room for all of them."""
        room = canvas.size_in_inches(ax)[1] / max(1, len(texts))
        step = max(1, int(np.ceil(_LABEL_HEIGHT / room)))
        for index in range(0, len(texts), step):
            ax.annotate(
                texts[index], (right, -index), (6, 0), textcoords="offset points",
                va="center", fontsize=canvas.NORMAL, **canvas.PLAIN_TEXT,
            )  # fmt: skip


def tree(
    scheme: Scheme | Any,
    *,
    X: Any = None,
    y: Any = None,
    score: str = "error_rate",
    separability: ClassDistances | Sequence[float] | None = None,
    labels: Mapping[Any, str] | None = None,
    names: bool = False,
    ax: Any = None,
) -> Any:
    """Draw a scheme as a tree from left to right, with the classes on the right.

    A node of one model is a dot; if it has two branches, the −1 branch is blue and the +1 branch
    orange. A node of several models is drawn as its coding matrix, a column for each partition.

    Parameters
    ----------
    scheme : Scheme, or a fitted PolytomyClassifier, or a pipeline or search of one
    X, y : labelled samples, optional
        If they are given, `scheme` is a fitted classifier, and the nodes and classes show its
        score on these samples, as in `TreeDisplay.from_estimator`.
    score : {"error_rate", "precision", "recall", "f_score"}, default="error_rate"
        What to show, if there are samples; see `TreeDisplay.from_predictions`.
    separability : ClassDistances, or one number per node in the order of ``scheme.nodes``, optional
        Written at the nodes instead of a score, and shown by the size of the dots. From distances,
        a node gets the mean distance between classes in different branches.
    labels : dict, optional
        Text to show for classes instead of their labels.
    names : bool, default=False
        Whether to write the names of the nodes.
    ax : matplotlib axes, optional

    Returns
    -------
    axes

    Examples
    --------
    >>> import polytomy as pt
    >>> axes = pt.plots.tree(pt.parse("m {a n {b c}}"), separability=[0.5, 1.0])
    >>> [text.get_text() for text in axes.texts]
    ['0.5', '1', 'a', 'b', 'c']
    """
    if X is not None or y is not None:
        if X is None or y is None or separability is not None:
            raise ArgumentError("Pass both X and y, or neither; with them, leave out separability.")
        return TreeDisplay.from_estimator(
            scheme, X, y, score=score, labels=labels, names=names, ax=ax
        ).ax_
    own = _check_scheme(scheme_of(scheme) if hasattr(scheme, "fit") else scheme)
    display = TreeDisplay(own, node_values=_node_values(own, separability), values_format=".3g")
    return display.plot(labels=labels, names=names, ax=ax).ax_


def _check_scheme(scheme: Any) -> Scheme:
    if not isinstance(scheme, Scheme):
        raise ArgumentError(Argument("scheme"), f" must be a Scheme; got {type(scheme).__name__}.")
    return scheme


def _draw_branches(ax: Any, node: Node, position: int, places: TreeLayout) -> None:
    """Draw lines from a node to its branches, in two colours if it decides between two."""
    is_code = node.code.n_partitions > 1
    is_two_way = not is_code and len(node.branches) == 2
    x = places.lefts[position] + places.widths[position]
    for number, branch in enumerate(node.branches):
        end, row = places.end_of(branch)
        start = row if is_code else places.rows[position]  # a matrix has a row for each branch
        colour = (canvas.NEGATIVE, canvas.POSITIVE)[number] if is_two_way else canvas.FAINT
        ax.plot([x, x, end], [-start, -row, -row], color=colour, linewidth=1.4, zorder=1)


def _draw_code(ax: Any, scheme: Scheme, position: int, places: TreeLayout) -> None:
    """Draw the coding matrix of a node: a column for each of its rows, next to its classes."""
    starts = scheme.branch_starts[position]
    sizes = np.diff(starts)
    matrix = np.repeat(scheme.nodes[position].code.matrix.T, sizes, axis=0)
    left, right = places.lefts[position], places.lefts[position] + places.widths[position]
    top, bottom = 0.5 - starts[0], 0.5 - starts[-1]
    draw_cells(ax, matrix, (left, right, bottom, top)).set_zorder(2)
    n_columns = matrix.shape[1]
    edges = [0.5 - start for start in starts[1:-1]]
    if len(edges) <= _MOST_EDGES:
        ax.hlines(edges, left, right, color="white", linewidth=1, zorder=2.5)
    if n_columns <= _MOST_EDGES:
        between = np.linspace(left, right, n_columns + 1)[1:-1]
        ax.vlines(between, bottom, top, color="white", linewidth=0.6, zorder=2.5)


def _write_at_node(ax: Any, place: tuple[float, float], text: str) -> None:
    """Write a text to the left of a node, above the line that leads to it."""
    if not text:
        return
    # Lines behind the text must not cross it.
    box = {"boxstyle": "square,pad=0", "facecolor": canvas.paper_behind(ax), "edgecolor": "none"}
    ax.annotate(
        text, place, (-5, 3), textcoords="offset points", fontsize=canvas.SMALL, bbox=box, zorder=3,
        ha="right", va="bottom", **canvas.PLAIN_TEXT,
    )  # fmt: skip


def _node_values(
    scheme: Scheme, separability: ClassDistances | Sequence[float] | None
) -> Sequence[float | None]:
    n_nodes = len(scheme.nodes)
    if separability is None:
        return [None] * n_nodes
    if isinstance(separability, ClassDistances):
        distances = separability.reordered(scheme.classes).matrix
        return [float(each.mean()) for each in distances_at_nodes(scheme, distances)]
    if len(separability) != n_nodes:
        raise ArgumentError(
            Argument("separability"),
            f" has {len(separability)} numbers for {n_nodes} nodes. Pass one per node.",
        )
    return [float(value) for value in separability]


def score_classifier(
    estimator: Any, X: Any, y: ArrayLike, score: str, sample_weight: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Return one of SCORES for the nodes and classes of a fitted classifier's scheme.

    It is NaN where there are no samples.
    """
    _SCORE.check(score)
    scheme_of(estimator)  # raises an error for ensembles
    composition = find_fitted(estimator).composition
    (arrangement,) = composition.arrangements
    proba = ask_probabilities(estimator, X)
    # The scheme may spell the labels differently, so its labels are used for all.
    known = [arrangement.scheme.classes[place] for place in arrangement.positions.tolist()]
    indices = find_class_indices(y, composition.classes, len(proba))
    labels = [known[index] for index in indices.tolist()]
    return score_predictions(
        labels, proba, arrangement.scheme, score, classes=known, sample_weight=sample_weight
    )


def score_predictions(
    y: Any,
    proba: ArrayLike,
    scheme: Scheme,
    score: str,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Return one of SCORES for the nodes and classes of a scheme, from probabilities.

    The error rate of a class is the share of its samples that are predicted as another class.
    """
    _SCORE.check(score)
    scores = node_scores(y, proba, scheme, classes=classes, sample_weight=sample_weight)
    judged = check_judged_samples(y, proba, classes, sample_weight)
    places = np.array([scheme.classes.index(label) for label in judged.classes])
    precision, recall, f_score, _ = precision_recall_fscore_support(
        places[judged.truth],
        places[judged.predicted],
        labels=range(len(scheme.classes)),
        sample_weight=judged.weight,
        zero_division=np.nan,
    )
    of_classes = {
        "error_rate": 1 - recall,
        "precision": precision,
        "recall": recall,
        "f_score": f_score,
    }
    return getattr(scores, score), np.asarray(of_classes[score])
