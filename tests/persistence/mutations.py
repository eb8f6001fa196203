"""Damage to saved models that knows their structure."""

import copy
import io

import numpy as np

from persistence.saved_archives import array_to_bytes, pack, unpack

# Values that a field may be replaced by: other types, other kinds, extreme numbers.
VALUES = [
    *(None, True, False, 0, 1, 2, 3, -1, 5, 2**31, 2**53, 2**63, -(2**63), 2**70, 10**400),
    *(0.0, 0.5, -1.5, 1e300, -1e308, 1e-320, float("inf"), float("nan")),
    *("", "x", "1", "a__b", "steps", "\ud800", "a\0b", "inf", "nan", "none", "auto"),
    *([], {}, [[]], [None], [0], [-1], [1.5], ["a", "b"], [{}], [[1, 2], [3, 4]], [2**53, 2**53]),
    *({"kind": "linear"}, {"kind": "estimator/Pipeline", "names": [], "steps": []}, {"kind": []}),
    *({"kind": "estimator/SVC", "parameters": {"dict": []}}, {"kind": "calibrator/sigmoid"}),
    *({"kind": "estimator/StandardScaler", "parameters": {"dict": []}}, {"kind": "binary"}),
    *({"same": 0}, {"same": 1}, {"same": 2}, {"same": 7}, {"same": -1}, {"object": 0}),
    *({"array": ["float64", 0]}, {"array": ["float64", 1, 1]}, {"array": ["uint8", 0]}),
    *({"array": ["uint8", 2**60, 2**60]}, {"array": []}, {"array": ["float64"]}, {"sparse": []}),
    *({"labels": ["<i8", [0, 1]]}, {"labels": ["<U1", ["a", "b"]]}, {"labels": ["|O", [0, "a"]]}),
    *({"tuple": []}, {"tuple": [0, 0]}, {"dict": []}, {"dict": [["copy", 3]]}, {"float": "nan"}),
    *({"dict": [["feature_range", {"tuple": ["a", 1]}]]}, {"dict": [[None, 1]]}),
    *("estimator/machine", "estimator/borders", "estimator/LinearSVC", "calibrator/isotonic"),
    *("margin", "label", "probability", "log-odds", "constant", "side", "sided model"),
    *("estimator/MinMaxScaler", "estimator/MaxAbsScaler", "float32", "float64", "uint8"),
    *("|O", "<U9", "<i8", "<f8", "|b1", "|i1", ">f4", "<f2", "<c16", "<M8[s]", "i", "<U", "|V3"),
    *("svc", "svc C=-1", "svc kernel=precomputed", "svc kernel=poly degree=10000000000000"),
    *("svc probability=True", "nu-svc", "sgd loss=log_loss", "ridge", "linear-svc", "perceptron"),
    *("logistic-regression", "random-forest", "voting", "-s 2", "-t 4", "'", "svc C=[", "= ="),
    *("one-vs-one", "auto", "hamming", "libsvm", "greedy", "voting", "price", "divergence"),
    *("balanced", "balanced-per-partition", [[0, 1]], {"tuple": [0, 1]}),
]
TEXTS = [
    *("", "a {0 1}", "a {0 0}", "a {0 b {1 3}}", "c 0 / 1 2; {0 1 2}", "@tree {0 1 2}", "{", "0"),
    *("m {0 n {1 2}}", '"svc C=3" {0 "svc C=[" {1 2}}', "x 0 / 1; y 0 / 2; z 1 / 2; {0 1 2}"),
]


def mutate(content, random):
    """Return a saved model with one to three mistakes, as an archive that is not damaged.

    Parameters
    ----------
    content : bytes of a saved model
    random : random.Random
    """
    description, members = unpack(content)
    for _ in range(random.randint(1, 3)):
        changes = [_change_description, _change_array, _change_one_array, _change_scheme]
        random.choices(changes, [8, 1, 4, 1])[0](description, members, random)
    return pack(description, members)


def cut_or_flip(content, random):
    """Return a saved model that is cut short, or some of whose bytes are changed."""
    changed = bytearray(content)
    if random.random() < 0.2:
        return bytes(changed[: random.randrange(len(changed))])
    for _ in range(random.randint(1, 4)):
        # The directory at the end of the archive is small, and read first.
        first = random.choice([0, max(0, len(changed) - 600)])
        changed[random.randrange(first, len(changed))] = random.randrange(256)
    return bytes(changed)


def _change_description(description, members, random):
    paths = list(_paths(description))
    parent, key = _parent(description, random.choice(paths))
    action = random.choice(["replace", "replace", "nudge", "remove", "copy", "swap", "grow"])
    if action == "replace":
        parent[key] = copy.deepcopy(random.choice(VALUES))
    elif action == "nudge" and type(parent[key]) is int:
        value = parent[key]
        parent[key] = random.choice([value + 1, value - 1, -value, 2 * value])
    elif action == "remove":
        del parent[key]
    elif action == "grow" and isinstance(parent[key], list) and parent[key]:
        parent[key].append(copy.deepcopy(random.choice(parent[key])))
    else:
        # Something else of the same name goes here, or anything else.
        same = [path for path in paths if path[-1] == key]
        other, other_key = _parent(description, random.choice(same if len(same) > 1 else paths))
        value = copy.deepcopy(other[other_key])
        if action == "swap":
            other[other_key] = copy.deepcopy(parent[key])
        parent[key] = value


def _change_array(description, members, random):
    """Change a whole member, whichever arrays it has."""
    names = sorted(name for name in members if name.endswith(".npy"))
    if not names:
        return
    name = random.choice(names)
    array = np.load(io.BytesIO(members[name]), allow_pickle=True)
    if array.dtype.kind not in "iuf" or array.ndim != 1 or not len(array):
        return  # changed before
    values = [-1, 2**62, 10**6, 0, 1] if array.dtype.kind in "iu" else [np.nan, np.inf, 1e300, 0.0]
    changed = [
        lambda: array[: len(array) // 2],
        lambda: array[::-1].copy(),
        lambda: array.astype(np.float32),
        lambda: array.astype(np.int8),
        lambda: array.astype(">f8"),
        lambda: array.astype(object),
        lambda: array.astype(str),
        lambda: array.reshape(1, -1),
        lambda: np.full(len(array), random.choice(values)),
        lambda: np.concatenate([array, array]),
        lambda: _one_changed(array, random, values),
        lambda: _one_changed(array, random, values),
        lambda: array[np.array(random.choices(range(len(array)), k=len(array)), dtype=int)],
    ]
    with np.errstate(all="ignore"):
        members[name] = array_to_bytes(random.choice(changed)())


def _change_one_array(description, members, random):
    """Change one array of the model; all others keep their numbers."""
    places = [path for path in _paths(description) if path[-1] == "array"]
    references = [_parent(description, path)[0] for path in places]
    arrays = _read_arrays(references, members)
    if not arrays:
        return  # changed before
    number = random.randrange(len(arrays))
    array = arrays[number]
    flat = array.ravel()
    values = [-1, 2**40, 1, 0] if array.dtype.kind in "iu" else [1e300, -1.0, 1e-300, 0.0, 1.0]
    changed = [
        lambda: flat[:-1],
        lambda: flat[:0],
        lambda: np.append(flat, flat[:1]),
        lambda: flat[::-1].reshape(array.shape),
        lambda: array.T,
        lambda: array.reshape(-1, 1),
        lambda: flat,
        lambda: array.astype(random.choice(["float64", "float32", "float16", "int64", "uint8"])),
        lambda: np.full(array.shape, random.choice(values)),
        lambda: _one_changed(flat, random, values).reshape(array.shape),
        lambda: _one_changed(flat, random, values).reshape(array.shape),
        lambda: _one_changed(flat, random, values).reshape(array.shape),
    ]
    with np.errstate(all="ignore"):
        arrays[number] = random.choice(changed)()
    _write_arrays(references, arrays, members)


def _read_arrays(references, members):
    """Return the arrays that references stand for; none if they do not fit together any more."""
    arrays, used = [], {}
    for reference in references:
        try:
            name, *shape = reference["array"]
            stored = np.load(io.BytesIO(members[f"{name}.npy"]))
            start, size = used.get(name, 0), int(np.prod(shape))
            arrays.append(stored[start : start + size].reshape(shape[::-1]).T)
            used[name] = start + size
        except (KeyError, ValueError, TypeError, OverflowError, MemoryError):
            return []
    return arrays


def _write_arrays(references, arrays, members):
    stored = {}
    for reference, array in zip(references, arrays, strict=True):
        reference["array"] = [array.dtype.name, *array.shape]
        stored.setdefault(array.dtype.name, []).append(array.ravel("F"))
    for name in [name for name in members if name.endswith(".npy")]:
        del members[name]
    for name, parts in stored.items():
        members[f"{name}.npy"] = array_to_bytes(np.concatenate(parts))


def _one_changed(array, random, values):
    wider = array.astype(np.result_type(array.dtype, type(values[0])))
    if len(wider):
        wider[random.randrange(len(wider))] = random.choice([*values, random.choice(wider)])
    return wider


def _change_scheme(description, members, random):
    found = [path for path in _paths(description) if path[-2:] == ("schemes", 0)]
    if found:  # not if it was removed before
        parent, key = _parent(description, found[0])
        parent[key] = random.choice(TEXTS)


def _parent(description, path):
    for key in path[:-1]:
        description = description[key]
    return description, path[-1]


def _paths(value, path=()):
    """Yield the path of every field, and of every item of a list, at any depth."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from _paths(inner, (*path, key))
