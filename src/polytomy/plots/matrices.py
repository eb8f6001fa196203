"""Plots of matrices: confusion, distances and codes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.base import is_classifier
from sklearn.metrics import ConfusionMatrixDisplay as SklearnConfusionMatrixDisplay

from polytomy.distances import ClassDistances
from polytomy.errors import Argument, ArgumentError, ControlWarning
from polytomy.inputs.arguments import Parameter
from polytomy.metrics.metric import check_predicted_labels
from polytomy.model.arrangement import bind_classes
from polytomy.model.scheme_argument import members_of, scheme_from
from polytomy.plots import canvas
from polytomy.plots.fitted import find_fitted, scheme_of
from polytomy.plots.layout import shade_confusion, shares_of_rows
from polytomy.scheme import CodingMatrix, Scheme

_CONFUSION_CELL, _SIDES = 0.42, (2.2, 7.5)  # inches: a cell, and the smallest and largest side
_MOST_NUMBERS = 20
_NUMBER_SIZE = 8.0  # points, at most
_MOST_BLOCKS = 40
_NORMALIZED: dict[str, Callable[[NDArray[Any]], NDArray[np.float64]]] = {
    "true": shares_of_rows,
    "pred": lambda counts: shares_of_rows(counts.T).T,
    "all": lambda counts: np.asarray(counts / counts.sum()),
}
_NORMALIZE = Parameter("normalize", choices=tuple(_NORMALIZED), allows_none=True)
Linkage = Literal["single", "complete", "average"]
_LINKAGE = Parameter("linkage", choices=get_args(Linkage))
_MOST_DISTANCES = 12
_DISTANCE_CELL, _LEAST_SIDE = 0.32, 1.6  # inches
_CODE_CELL = 0.3  # inches
_MOST_EDGES = 60


class ConfusionMatrixDisplay(SklearnConfusionMatrixDisplay):  # type: ignore[misc]
    """Confusion matrix with the classes in the order of a tree: which classes are confused?

    Classes that are close in the tree are close in the matrix, and a frame shows the classes below
    each node. Errors inside a small frame are made at the end of a path, errors outside all frames
    at the root. Rows are the true classes. Cells are shaded by their share of the row: correct
    predictions in blue, and errors in orange, on a logarithmic scale that also shows rare ones. Use
    `from_estimator` or `from_predictions` to create one.

    Parameters
    ----------
    confusion_matrix : array of shape (n_classes, n_classes)
    display_labels : list of labels, in the order of the rows
    blocks : list of pairs, optional
        Start and end of each frame, as positions of classes; the end is exclusive.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    im_ : the image
    text_ : array of the texts in the cells, or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = pt.PolytomyClassifier(scheme="first {2 second {0 1}}", random_state=0)
    >>> classifier = classifier.fit(X[::2], y[::2])
    >>> display = pt.plots.ConfusionMatrixDisplay.from_estimator(classifier, X[1::2], y[1::2])
    >>> display.display_labels
    [2, 0, 1]
    >>> display.confusion_matrix
    array([[25,  0,  0],
           [ 0, 25,  0],
           [ 2,  0, 23]])
    """

    def __init__(
        self,
        confusion_matrix: NDArray[Any],
        *,
        display_labels: Sequence[Any] | None = None,
        blocks: Sequence[tuple[int, int]] = (),
    ) -> None:
        super().__init__(confusion_matrix, display_labels=display_labels)
        self.blocks = list(blocks)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        hierarchy: Any = None,
        sample_weight: ArrayLike | None = None,
        normalize: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the confusion matrix of a fitted classifier on labelled samples.

        Parameters
        ----------
        estimator : any fitted classifier
        X, y : samples that the classifier was not trained on, and their labels
        hierarchy : Scheme, control text or nested dicts, optional
            A hierarchy of the classes; by default the scheme of the classifier, if it has one. A
            code has no tree, and keeps its own order.
        sample_weight, normalize, **options : as in `from_predictions`
        """
        if not is_classifier(estimator):
            raise ArgumentError(
                Argument("estimator"), f" must be a classifier; got {type(estimator).__name__}."
            )
        predicted = np.asarray(estimator.predict(X))
        if hierarchy is None:
            order, blocks = _order_of_estimator(estimator)
        else:
            order, blocks = _order_of(hierarchy, estimator.classes_, ())
        return cls._of(y, predicted, order, blocks, sample_weight, normalize, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        hierarchy: Any = None,
        sample_weight: ArrayLike | None = None,
        normalize: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw the confusion matrix of predicted labels.

        Parameters
        ----------
        y_true : array of shape (n_samples,), true labels
        y_pred : array of shape (n_samples,), predicted labels
        hierarchy : Scheme, control text or nested dicts, optional
            A hierarchy of the classes; rows and columns are in its order.
        sample_weight : array of shape (n_samples,), optional
        normalize : {"true", "pred", "all"}, optional
            Show shares of the true classes, of the predicted classes or of all samples instead of
            numbers of samples. The shades stay the same.
        **options : arguments of `plot`
        """
        order, blocks = _order_of(hierarchy, np.unique(y_true), np.unique(y_pred))
        return cls._of(y_true, y_pred, order, blocks, sample_weight, normalize, **options)

    @classmethod
    def _of(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        order: list[Any],
        blocks: list[tuple[int, int]],
        sample_weight: ArrayLike | None,
        normalize: str | None,
        **options: Any,
    ) -> Self:
        _NORMALIZE.check(normalize)
        truth, predicted, weight = check_predicted_labels(
            np.asarray(y_true), np.asarray(y_pred), sample_weight
        )
        # A classifier with costs may predict its reject label, which is not a class.
        places = {label: place for place, label in enumerate(dict.fromkeys([*order, *predicted]))}
        unknown = [label for label in truth if label not in places]
        if unknown:
            raise ArgumentError(
                f"Label {unknown[0]!r} of y is not one of the classes "
                f"({', '.join(map(repr, order))})."
            )
        rows, columns = ([places[label] for label in each] for each in (truth, predicted))
        counts = np.zeros((len(places), len(places)))
        np.add.at(counts, (rows, columns), weight)
        if sample_weight is None:
            counts = counts.astype(np.intp)
        matrix = counts if normalize is None else _NORMALIZED[normalize](counts)
        display = cls(matrix, display_labels=list(places), blocks=blocks)
        display._shares = shares_of_rows(counts)
        return display.plot(**options)

    def plot(
        self,
        *,
        include_values: bool | None = None,
        ax: Any = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw the matrix.

        ``im_``, ``text_`` and ``ax_`` are matplotlib's, to change colours, texts and ticks.

        Parameters
        ----------
        include_values : bool, optional
            Whether to write the values; by default for up to 20 classes.
        ax : matplotlib axes, optional
        colorbar : bool, default=True
        """
        matrix = np.asarray(self.confusion_matrix)
        n_classes = len(matrix)
        labels = range(n_classes) if self.display_labels is None else self.display_labels
        texts = [str(label) for label in labels]
        side = min(max(_CONFUSION_CELL * n_classes, _SIDES[0]), _SIDES[1])
        margin = 0.6 + canvas.estimate_length(texts)
        ax = canvas.axes_or_new(ax, side + margin + 1.0 * colorbar, side + margin, is_square=True)
        shares = getattr(self, "_shares", None)
        shades = shade_confusion(shares_of_rows(matrix) if shares is None else shares)
        self.im_ = ax.imshow(
            shades, interpolation="nearest", cmap=_error_colours(), vmin=-1, vmax=1
        )
        width, height = canvas.size_in_inches(ax)
        self.text_: NDArray[Any] | None = None
        if include_values or (include_values is None and n_classes <= _MOST_NUMBERS):
            room = min(width, height) / n_classes
            self._write_values(matrix, room)
        self._draw_blocks(ax)
        ax.set(xlabel="predicted class", ylabel="true class", ylim=(n_classes - 0.5, -0.5))
        canvas.label_classes(ax.xaxis, texts, width)
        canvas.label_classes(ax.yaxis, texts, height)
        canvas.style_axes(ax, is_matrix=True)
        if colorbar:
            title = "wrong  ←  share of row  →  right"
            bar = canvas.add_colorbar(self.im_, title, shrink=0.8)
            bar.ax.tick_params(length=2)
            labels = ["100 %", "10 %", "1 %", "0", "50 %", "100 %"]
            bar.set_ticks([-1, -2 / 3, -1 / 3, 0, 0.5, 1], labels=labels)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_values(self, matrix: Any, room: float) -> None:
        is_counts = matrix.dtype.kind in "iu"
        style = "d" if is_counts else ".2f" if matrix.max() <= 1 else ".3g"
        written = [[f"{value:{style}}" for value in row] for row in matrix.tolist()]
        longest = max(len(text) for row in written for text in row)
        size = max(4.0, min(_NUMBER_SIZE, 72 * room * 0.9 / (0.62 * longest)))
        # Without zeros the errors are easier to see.
        shown = np.where(matrix == 0, "", written).tolist()
        self.text_ = canvas.write_in_cells(self.im_, shown, fontsize=size)

    def _draw_blocks(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        for start, end in sorted(self.blocks, key=lambda block: block[0] - block[1])[:_MOST_BLOCKS]:
            corner, size = start - 0.5, end - start
            ax.add_patch(
                Rectangle((corner, corner), size, size, fill=False, edgecolor="#666666",
                          linewidth=0.8, clip_on=False)
            )  # fmt: skip


def _order_of_estimator(estimator: Any) -> tuple[list[Any], list[tuple[int, int]]]:
    """Return the classes in the order of the classifier's scheme, and the classes of its nodes."""
    known = estimator.classes_.tolist()
    try:
        composition = find_fitted(estimator).composition
    except ArgumentError:  # another classifier
        return known, []
    if len(composition.arrangements) > 1:
        return known, []
    (arrangement,) = composition.arrangements
    return _order_by(arrangement.scheme, known, arrangement.positions)


def _order_of(
    hierarchy: Any, known: ArrayLike, predicted: ArrayLike
) -> tuple[list[Any], list[tuple[int, int]]]:
    """Return classes in the order of a hierarchy, and the classes of its nodes.

    Predicted labels that are not known to be classes are included if the hierarchy has them.
    """
    labels = np.asarray(known).tolist()
    others = [label for label in np.asarray(predicted).tolist() if label not in labels]
    if hierarchy is None:
        return sorted([*labels, *others]), []
    with warnings.catch_warnings():
        # Not all classes of the hierarchy have to be in the matrix.
        warnings.simplefilter("ignore", ControlWarning)
        (scheme,) = members_of(scheme_from(hierarchy, np.asarray(labels)))
        texts = set(map(str, scheme.classes))
        labels += [label for label in others if str(label) in texts]
        return _order_by(scheme, labels, bind_classes(scheme, labels))


def _order_by(
    scheme: Scheme, labels: Sequence[Any], positions: NDArray[np.intp]
) -> tuple[list[Any], list[tuple[int, int]]]:
    """Return labels in the order of their positions in a scheme, and the labels below each node."""
    order = np.argsort(positions)
    ordered = positions[order]
    blocks = []
    for starts in scheme.branch_starts[1:]:
        # Classes of the scheme that the data does not have are not in the matrix.
        start, end = np.searchsorted(ordered, [starts[0], starts[-1]]).tolist()
        if end - start > 1 and (start, end) not in blocks:
            blocks.append((start, end))
    return [labels[k] for k in order.tolist()], blocks


def _error_colours() -> Any:
    canvas.import_pyplot()  # raises a helpful error if it is missing
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "errors", [canvas.POSITIVE, canvas.PAPER, canvas.NEGATIVE]
    )


def distances(
    between: ClassDistances,
    *,
    linkage: Linkage = "single",
    ax: Any = None,
) -> Any:
    """Draw distances between classes as a heat map, in the order of the dendrogram next to it.

    Parameters
    ----------
    between : ClassDistances, as returned by the functions of `polytomy.distances`
    linkage : {"single", "complete", "average"}
    ax : pair of matplotlib axes, optional
        For the dendrogram and the heat map, side by side.

    Returns
    -------
    axes of the dendrogram, axes of the heat map

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> dendrogram, heat_map = pt.plots.distances(pt.distances.separability(X, y))
    >>> [label.get_text() for label in heat_map.get_yticklabels()]
    ['0', '1', '2']
    """
    if not isinstance(between, ClassDistances):
        raise ArgumentError(
            Argument("between"),
            f" must be ClassDistances; got {type(between).__name__}. Compute them with "
            "polytomy.distances.",
        )
    _LINKAGE.check(linkage)
    n_classes = len(between)
    if n_classes < 2:
        raise ArgumentError("A single class has no distances to draw.")
    if ax is None:
        side = max(_LEAST_SIDE, _DISTANCE_CELL * min(n_classes, 40))
        margin = canvas.estimate_length(map(str, between.classes))
        _, ax = canvas.import_pyplot().subplots(
            1, 2, figsize=(1.5 * side + margin + 1.6, side + margin + 1.4), layout="constrained",
            width_ratios=(1, 2.2),
        )  # fmt: skip
    left, right = ax
    joined = hierarchy.linkage(squareform(between.matrix, checks=False), linkage)
    with warnings.catch_warnings():
        # If all distances are zero, its axis has no length until it is set below.
        warnings.filterwarnings("ignore", "Attempting to set identical", UserWarning)
        drawn = hierarchy.dendrogram(
            joined, ax=left, orientation="left", no_labels=True, color_threshold=0,
            above_threshold_color=canvas.ink(),
        )  # fmt: skip
    order = np.array(drawn["leaves"], dtype=np.intp)
    labels = [str(between.classes[k]) for k in order]
    # The dendrogram numbers its leaves from the bottom, ten units apart.
    shown = between.matrix[np.ix_(order, order)]
    # The zeros on the diagonal are masked, so that the colours span the other distances.
    off_diagonal = np.ma.masked_array(shown, np.eye(n_classes, dtype=bool))
    image = right.imshow(off_diagonal, cmap=canvas.MAGNITUDES, origin="lower", aspect="auto")
    width, height = canvas.size_in_inches(right)
    canvas.label_classes(right.xaxis, labels, width)
    canvas.label_classes(right.yaxis, labels, height)
    right.yaxis.tick_right()
    canvas.style_axes(right, is_matrix=True)
    if n_classes <= _MOST_DISTANCES:
        written = [[None if i == j else f"{value:.2g}" for j, value in enumerate(row)]
                   for i, row in enumerate(shown.tolist())]  # fmt: skip
        canvas.write_in_cells(image, written, fontsize=canvas.SMALL - 1)
    canvas.add_colorbar(image, between.name, location="top", shrink=0.8)
    left.set_ylim(0, 10 * n_classes)
    lowest, highest = joined[0, 2], joined[-1, 2]
    margin = 0.15 * (highest - lowest) or 0.15 * highest or 1.0
    left.set_xlim(highest + margin / 3, max(0.0, lowest - margin))
    left.spines[["top", "left", "right"]].set_visible(False)
    left.set_xlabel(f"{between.name},\n{linkage} linkage", fontsize=canvas.SMALL)
    left.tick_params(labelsize=canvas.SMALL)
    return left, right


def code(scheme: Scheme | CodingMatrix | Any, *, ax: Any = None) -> Any:
    """Draw a coding matrix, one row per partition: blue for −1, orange for +1, empty for 0.

    Parameters
    ----------
    scheme : Scheme, CodingMatrix or array, or a fitted classifier, or a pipeline or search of one
        A scheme that is not flat is flattened.
    ax : matplotlib axes, optional

    Returns
    -------
    axes

    Examples
    --------
    >>> import polytomy as pt
    >>> axes = pt.plots.code(pt.parse("m {a n {b c}}"))
    >>> axes.images[0].get_array().tolist()
    [[-1, 1, 1], [0, -1, 1]]
    """
    canvas.import_pyplot()  # raises a helpful error if it is missing
    if hasattr(scheme, "fit"):
        scheme = scheme_of(scheme)
    if isinstance(scheme, Scheme):
        flat = scheme if scheme.is_flat else scheme.flatten()
        matrix, classes = flat.code.matrix, [str(label) for label in flat.classes]
        names = [name for partition in flat.partitions for name in partition.row_names]
    else:
        matrix = (scheme if isinstance(scheme, CodingMatrix) else CodingMatrix(scheme)).matrix
        classes = [str(k) for k in range(matrix.shape[1])]
        names = [str(i) for i in range(len(matrix))]
    n_rows, n_columns = matrix.shape
    if not n_rows:
        raise ArgumentError("A scheme with a single class has no partitions to draw.")
    size = [0.9 + _CODE_CELL * max(3, min(n, 40)) for n in matrix.shape]
    ax = canvas.axes_or_new(
        ax, size[1] + canvas.estimate_length(names), size[0] + canvas.estimate_length(classes)
    )
    draw_cells(ax, matrix)
    ax.set_xlabel("class")
    ax.set_ylabel("partition")
    width, height = canvas.size_in_inches(ax)
    canvas.label_classes(ax.xaxis, classes, width)
    canvas.label_classes(ax.yaxis, names, height)
    for n, draw in ((n_rows, ax.axhline), (n_columns, ax.axvline)):
        for edge in np.arange(n - 1 if n <= _MOST_EDGES else 0) + 0.5:
            draw(edge, color="white", linewidth=1)
    canvas.style_axes(ax, is_matrix=True)
    _explain_colours(ax, matrix)
    return ax


def draw_cells(
    ax: Any, matrix: NDArray[np.int8], extent: tuple[float, float, float, float] | None = None
) -> Any:
    """Draw a matrix of −1, 0 and +1; return the image."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([canvas.NEGATIVE, canvas.PAPER, canvas.POSITIVE])
    # If cells are smaller than pixels, their colours are averaged, not their numbers.
    return ax.imshow(
        matrix, cmap=colours, vmin=-1, vmax=1, aspect="auto",
        interpolation="antialiased", interpolation_stage="rgba", extent=extent,
    )  # fmt: skip


def _explain_colours(ax: Any, matrix: NDArray[np.int8]) -> None:
    """Draw a legend above the matrix."""
    from matplotlib.patches import Patch

    patches = [Patch(color=canvas.NEGATIVE, label="−1"), Patch(color=canvas.POSITIVE, label="+1")]
    if (matrix == 0).any():
        patches.append(Patch(facecolor=canvas.PAPER, edgecolor="#cccccc", label="not used"))
    ax.legend(
        handles=patches, fontsize=canvas.SMALL, frameon=False, ncols=3, loc="lower right",
        bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handlelength=1.0, columnspacing=1.2,
    )  # fmt: skip
