"""Matching the labels of a scheme with the classes of the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError, ControlWarning, SchemeError, warn_caller
from polytomy.inputs.arguments import did_you_mean
from polytomy.learners.problems import Dichotomy, WholePartition
from polytomy.learners.sides import adopt_sides
from polytomy.learners.specification import estimator_from
from polytomy.learners.trained import METHODS, Output, TrainedBinary, adopt_fitted, is_fitted
from polytomy.scheme import BinaryName, Label, Partition, Scheme
from polytomy.scheme.nodes import normalize_labels
from polytomy.scheme.partitions import iterate_sides, set_key
from polytomy.states import State

_MOST_NAMED = 10


def bind_classes(scheme: Scheme, classes: Iterable[Any]) -> NDArray[np.intp]:
    """Return the position in the scheme of each class of the data.

    A label of the scheme matches the class that equals it, or else the one that is written the
    same: ``3`` in a control text matches ``"3"`` in the data. A class of the data that the scheme
    does not name is an error. A class of the scheme without data causes a warning, and gets no
    probability.

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> bind_classes(parse("m {2 n {1 3}}"), ["1", "2", "3"])
    array([1, 0, 2])
    """
    positions = {_kind_and_value(label): i for i, label in enumerate(scheme.classes)}
    by_text: dict[str, list[int]] = {}
    for i, label in enumerate(scheme.classes):
        by_text.setdefault(str(label), []).append(i)
    labels = normalize_labels(classes)
    bound, missing = [], []
    for label in labels:
        same_text = by_text.get(str(label), [])
        position = positions.get(_kind_and_value(label))
        if position is None and len(same_text) == 1:
            position = same_text[0]
        if position is None:
            missing.append(label)
        else:
            bound.append(position)
    if missing:
        raise SchemeError(
            f"the scheme does not name {_list_classes(missing)}; it names "
            f"{_list_classes(scheme.classes)}. Add the missing classes, or use the labels of the "
            "data in the scheme."
        )
    if len(set(bound)) < len(bound):
        raise SchemeError(
            f"two classes of the data match the same class of the scheme; the data has "
            f"{_list_classes(labels)}"
        )
    if len(bound) < len(scheme.classes):
        absent = [scheme.classes[i] for i in sorted(set(range(len(scheme.classes))) - set(bound))]
        warn_caller(
            f"{_list_classes(absent)} of the scheme "
            + ("has no samples and gets" if len(absent) == 1 else "have no samples and get")
            + " no probability",
            ControlWarning,
        )
    return np.array(bound, dtype=np.intp)


def _kind_and_value(label: Label) -> tuple[bool, Label]:
    # Python treats 1, 1.0 and True as equal, and the data may too; "1" is different.
    return isinstance(label, str), label


def _list_classes(labels: Sequence[Label]) -> str:
    shown = [repr(label) for label in labels[:_MOST_NAMED]]
    more = len(labels) - len(shown)
    word = "class" if len(labels) == 1 else "classes"
    return f"{word} {', '.join(shown)}" + (f" and {more} more" if more else "")


# -- Which estimator or trained model each partition of a scheme gets --


def sides_key(dichotomy: Dichotomy) -> tuple[Hashable, Hashable]:
    """Return what a dichotomy separates, regardless of the order of its partition's sides."""
    positive = set_key(dichotomy.positive)
    if dichotomy.whole is None:
        return set_key(dichotomy.negative), positive
    return frozenset(map(set_key, dichotomy.whole.sides)), positive


def make_dichotomies(
    scheme: Scheme,
    default: Any,
    models: Mapping[str, Any] | None,
    estimators: dict[BinaryName, Any] | None = None,
) -> list[Dichotomy]:
    """Return the dichotomy of each partition of the scheme, or of each side if it has more than 2.

    A name refers to the fitted model or the estimator given under it, or else to the default
    estimator; a specification describes its own estimator. `estimators` stores the estimator of
    each name and specification, so that several schemes get the same objects. Models that the
    scheme does not name are ignored; `check_models` rejects them.
    """
    models = {} if models is None else models
    estimators = {} if estimators is None else estimators
    adopted: dict[str, Partition] = {}
    wanted = []
    binaries = [binary for node in scheme.nodes for binary in node.binaries]
    for number, (binary, sides) in enumerate(zip(binaries, iterate_sides(scheme), strict=True)):
        name = (
            _describe_partition(scheme.partitions[number])
            if binary.is_specification
            else binary.text
        )
        model = None if binary.is_specification else models.get(binary.text)
        if model is not None and is_fitted(model):
            partition = scheme.partitions[number]
            earlier = adopted.setdefault(binary.text, partition)
            if earlier.sides != partition.sides:
                raise SchemeError(
                    f'the trained model "{binary.text}" is used for different partitions, '
                    f"{_describe_sides(earlier)} and {_describe_sides(partition)}. Give each its "
                    "own name."
                )
            adopted_as = _adopt(model, partition, name)
            wanted += _of_sides(name, sides, binary, model, adopted_as, binary.text)
            continue
        if binary not in estimators:
            if binary.is_specification:
                estimators[binary] = estimator_from(binary.text, default)
            else:
                estimators[binary] = default if model is None else model
        given = None if model is None else binary.text
        wanted += _of_sides(name, sides, binary, estimators[binary], None, given)
    return wanted


def _adopt(model: Any, partition: Partition, name: str) -> list[TrainedBinary]:
    if partition.n_sides > 2:
        return adopt_sides(model, partition.side_classes, name=name)
    return [adopt_fitted(model, *partition.side_classes, name=name)]


def _of_sides(
    name: str,
    sides: tuple[Sequence[int], ...],
    binary: BinaryName,
    estimator: Any,
    trained: list[TrainedBinary] | None,
    model: str | None,
) -> list[Dichotomy]:
    """Return one dichotomy for two sides, or one for each side if there are more."""
    if len(sides) == 2:
        own = None if trained is None else trained[0]
        return [Dichotomy(name, sides[0], sides[1], binary, estimator, own, model)]
    whole = WholePartition(name, sides)
    return [
        Dichotomy(
            f"{name}/{number}",
            tuple(k for other in (*sides[:number], *sides[number + 1 :]) for k in other),
            side,
            binary,
            estimator,
            None if trained is None else trained[number],
            model,
            whole,
            number,
        )
        for number, side in enumerate(sides)
    ]


def check_models(schemes: Sequence[Scheme], models: Mapping[str, Any] | None) -> None:
    """Raise an ArgumentError unless `models` is a dict of names that occur in the schemes."""
    if models is None:
        return
    if not isinstance(models, Mapping):
        raise ArgumentError(
            Argument("models"),
            f" must be a dict of names and estimators; got {type(models).__name__}.",
        )
    nothing = [name for name, model in models.items() if model is None]
    if nothing:
        raise ArgumentError(
            Argument("models"),
            f" has no estimator for {nothing[0]!r}. Provide one, or remove the name.",
        )
    known = set[str]().union(*map(names_in, schemes))
    unknown = set(models).difference(known)
    if unknown:
        name = min(unknown, key=str)
        raise ArgumentError(
            Argument("models"),
            f" has {name!r}, which the scheme does not name.{did_you_mean(name, sorted(known))} "
            "Use the names in the scheme's text.",
        )


def names_in(scheme: Scheme) -> set[str]:
    """Return the names of a scheme's binaries, without specifications."""
    binaries = [binary for node in scheme.nodes for binary in node.binaries]
    return {binary.text for binary in binaries if not binary.is_specification}


def _describe_partition(partition: Partition) -> str:
    return f"{partition.binary} {_describe_sides(partition)}"


def _describe_sides(partition: Partition) -> str:
    return " / ".join(
        " ".join(map(str, side[:5])) + " …" * (len(side) > 5) for side in partition.side_classes
    )


# -- states --------------------------------------------------------------------------------------


def dichotomies_state(dichotomies: Sequence[Dichotomy]) -> dict[str, Any]:
    """Return the state of dichotomies: their names and estimators, without their sides."""
    estimators = {id(each.estimator): each.estimator for each in dichotomies}
    numbers = {key: number for number, key in enumerate(estimators)}
    return {
        "names": [each.binary.text for each in dichotomies],
        "specifications": _positions([each.binary.is_specification for each in dichotomies]),
        "models": {k: each.model for k, each in enumerate(dichotomies) if each.model is not None},
        "estimators": list(estimators.values()),
        "estimator_of": np.array([numbers[id(each.estimator)] for each in dichotomies], np.int64),
        "given": _positions([each.trained is not None for each in dichotomies]),
    }


def _positions(mask: Sequence[bool]) -> NDArray[np.int64]:
    return np.flatnonzero(np.array(mask, dtype=bool))


def read_dichotomies(
    state: State, binaries: Sequence[TrainedBinary], sides: Sequence[Sequence[int]]
) -> list[Dichotomy]:
    """Return the dichotomies of a state.

    Parameters
    ----------
    state : State with the values of `dichotomies_state`
    binaries : the trained binaries
    sides : class indices of the −1 and the +1 side of each binary, one after the other
    """
    n_binaries, names = len(binaries), state.texts("names")
    if len(names) != n_binaries:
        raise state.fault("names", f"a name for each of {n_binaries} binaries")
    specifications = set(state.indices("specifications", n_binaries).tolist())
    given = set(state.indices("given", n_binaries).tolist())
    estimators = state.items("estimators")
    estimator_of = state.indices("estimator_of", len(estimators), n_binaries).tolist()
    models, wholes = state.value("models"), _find_wholes(state, binaries, sides)
    if not isinstance(models, dict) or not all(isinstance(name, str) for name in models.values()):
        raise state.fault("models", "a dict of names")
    for each in estimators:
        if not any(hasattr(each, method) for method in ("fit", *METHODS.values())):
            raise state.fault("estimators", "a list of estimators")
    return [
        Dichotomy(
            binary.name,
            sides[2 * k],
            sides[2 * k + 1],
            BinaryName(names[k], k in specifications),
            estimators[estimator_of[k]],
            binary if k in given else None,
            models.get(k),
            *wholes.get(k, (None, 0)),
        )
        for k, binary in enumerate(binaries)
    ]


def _find_wholes(
    state: State, binaries: Sequence[TrainedBinary], sides: Sequence[Sequence[int]]
) -> dict[int, tuple[WholePartition, int]]:
    """Return, for the binaries that are one of several sides, their partition and their side.

    The sides of a partition have a common model. Each is the +1 side of its binary.
    """
    groups: dict[int, dict[int, int]] = {}
    for k, binary in enumerate(binaries):
        if binary.output is Output.SIDE:
            groups.setdefault(id(binary.estimator), {})[binary.positive_index] = k
    found: dict[int, tuple[WholePartition, int]] = {}
    for places in groups.values():
        model = binaries[next(iter(places.values()))].estimator
        if len(places) != model.n_sides:
            raise state.fault("binaries", f"a binary for each of the {model.n_sides} sides")
        own = tuple([sides[2 * places[side] + 1] for side in range(model.n_sides)])
        whole = WholePartition(model.name, own)
        found |= {k: (whole, side) for side, k in places.items()}
    return found
