"""Files that are broken, or made to do harm: a ModelFileError and nothing else."""

import copy
import hashlib
import io
import json
import pickle
import re
import struct
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier
from polytomy.errors import ModelFileError
from polytomy.persistence import load, read_info, save

X, Y = load_iris(return_X_y=True)
SCHEME = "a {0 b {1 2}}"


class _Trap:
    """An object that tells when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return _spring, ()


def _spring():
    _Trap.sprung = True


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return files with binaries of all plain kinds, as bytes."""
    folder = tmp_path_factory.mktemp("models")
    machine = SVC(gamma=0.5)
    scaled = make_pipeline(StandardScaler(), LinearSVC())
    contents = []
    for estimator, calibration in ((machine, "auto"), (scaled, "isotonic")):
        classifier = PolytomyClassifier(
            estimator, SCHEME, calibration=calibration, models={"b": SVC(kernel="poly")}
        )
        save(classifier.fit(X, Y), folder / "m.polytomy")
        contents.append((folder / "m.polytomy").read_bytes())
    return contents


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def _packed(description, members, compression=zipfile.ZIP_DEFLATED, *, sign=True):
    """Return a file whose checksums are right, as an enemy would make it."""
    if sign:
        description["members"] = {
            name: {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}
            for name, part in members.items()
        }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("model.json", json.dumps(description))
        for name, part in members.items():
            archive.writestr(name, part)
    return stream.getvalue()


def _error(content, tmp_path, name="m.polytomy"):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelFileError) as info:
        load(tmp_path / name)
    message = str(info.value)
    assert message.startswith(str(tmp_path / name))
    return message


def _npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_a_signed_copy_loads(models, tmp_path):
    for content in models:
        (tmp_path / "m.polytomy").write_bytes(_packed(*_members(content)))
        assert load(tmp_path / "m.polytomy").predict(X).shape == (150,)


@pytest.mark.parametrize("size", [0, 1, 2, 4, 22, 100, 1000, -1, -10, -22, -100])
def test_a_file_that_is_cut_short(models, size, tmp_path):
    _error(models[0][:size], tmp_path)


def test_a_pickle_is_not_unpickled(models, tmp_path):
    description, members = _members(models[0])
    trap = np.array([_Trap()], dtype=object)
    words = _error(_packed(description, {**members, "floats.npy": _npy(trap)}), tmp_path)
    assert "holds objects" in words
    _error(pickle.dumps(_Trap()), tmp_path)
    _error(pickle.dumps(_Trap(), 0), tmp_path)
    _error(_packed(description, {**members, "others.skops": pickle.dumps(_Trap())}), tmp_path)
    assert not _Trap.sprung
    pickle.loads(pickle.dumps(_Trap()))
    assert _Trap.sprung  # so it would have been noticed


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/b", "C:\\x", "model.json/x"])
def test_members_that_are_not_listed(models, name, tmp_path):
    description, members = _members(models[0])
    listed = dict(description["members"])
    content = _packed({**description, "members": listed}, {**members, name: b"x"}, sign=False)
    assert "the members are not those that the file lists" in _error(content, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["m.polytomy"]


def test_members_twice_missing_or_changed(models, tmp_path):
    description, members = _members(models[0])
    stream = io.BytesIO(models[0])
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("floats.npy", b"")
    assert "a member stands twice" in _error(stream.getvalue(), tmp_path)
    for name in members:
        rest = {key: part for key, part in members.items() if key != name}
        assert "not those that the file lists" in _error(
            _packed(dict(description), rest, sign=False), tmp_path
        )
        assert f"member {name!r} is missing" in _error(_packed(dict(description), rest), tmp_path)
        changed = {**members, name: members[name][:-1] + b"\0"}
        assert "checksum" in _error(_packed(dict(description), changed, sign=False), tmp_path)


def test_other_ways_of_packing_are_refused(models, tmp_path):
    for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        content = _packed(*_members(models[0]), compression)
        assert "is packed in an unknown way" in _error(content, tmp_path)


def test_a_bomb_is_not_unpacked(models, tmp_path):
    description, members = _members(models[0])
    bomb = _packed(description, {**members, "floats.npy": bytes(200_000_000)})
    assert len(bomb) < 1_000_000
    tracemalloc.start()
    words = _error(bomb, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "would unpack to" in words
    assert peak < 20_000_000


def test_a_member_that_lies_about_its_size(models, tmp_path):
    """The central directory declares little, the data unpack to much."""
    description, members = _members(models[0])
    content = bytearray(_packed(description, {**members, "floats.npy": bytes(200_000_000)}))
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"floats.npy"))
    content[entry + 24 : entry + 28] = struct.pack("<I", 1000)
    _error(bytes(content), tmp_path)


@pytest.mark.parametrize("shape", ["(9999999999999,)", "(4000000, 4000000)", "(-1,)"])
def test_huge_shapes_are_not_allocated(models, shape, tmp_path):
    description, members = _members(models[0])
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)
    words = _error(_packed(description, {**members, "floats.npy": array}), tmp_path)
    assert "member 'floats.npy': an array of shape" in words


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array(["text"]), "does not hold finite numbers"),
        (np.array([np.nan] * 5000), "does not hold finite numbers"),
        (np.ones((5000, 2)), "no array of double precision"),
        (np.ones(5000, dtype=np.float32), "no array of double precision"),
        (np.ones(0), "lies beyond the numbers of the model"),
    ],
)
def test_numbers_of_another_kind(models, array, words, tmp_path):
    description, members = _members(models[0])
    assert words in _error(_packed(description, {**members, "floats.npy": _npy(array)}), tmp_path)


def test_rows_out_of_range(models, tmp_path):
    description, members = _members(models[0])
    integers = np.load(io.BytesIO(members["integers.npy"])).astype(np.int64)
    for bad in (-1, 10**6, 2**62):
        wrong = np.full_like(integers, bad)
        content = _packed(dict(description), {**members, "integers.npy": _npy(wrong)})
        assert "out of range" in _error(content, tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{", '{"format": "polytomy model"}', "[" * 100_000, '{"a": NaN}', "\udcff"],
)
def test_descriptions_that_describe_nothing(models, text, tmp_path):
    _, members = _members(models[0])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("model.json", text.encode("utf-8", "surrogateescape"))
        for name, part in members.items():
            archive.writestr(name, part)
    _error(stream.getvalue(), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a {0 1}",
        b"a {0 0}",
        b"\xff",
        b"a {0 b {1 3}}",
        b"c 0 / 1 2; {0 1 2}",
        b"@tree {0 1 2}",
    ],
)
def test_schemes_that_do_not_fit(models, text, tmp_path):
    description, members = _members(models[0])
    _error(_packed(description, {**members, "scheme.control": text}), tmp_path)


def test_an_archive_that_is_no_model(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.txt", "x")
    words = "there is no model.json in the file; it is no saved model"
    assert words in _error(stream.getvalue(), tmp_path, "a.zip")


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip", b"cbuiltins\neval\n(S'1'\ntR."])
def test_what_skops_should_read_is_not_trusted(models, content, tmp_path):
    pytest.importorskip("skops")
    description, members = _members(models[0])
    words = _error(_packed(description, {**members, "others.skops": content}), tmp_path)
    assert "skops cannot read its part of the file" in words


@pytest.fixture(scope="module")
def bayes(tmp_path_factory):
    """Return a file with binaries that skops writes."""
    pytest.importorskip("skops")
    path = tmp_path_factory.mktemp("bayes") / "m.polytomy"
    save(PolytomyClassifier(GaussianNB()).fit(X, Y), path)
    return path.read_bytes()


def test_a_bomb_in_what_skops_should_read(bayes, tmp_path):
    description, members = _members(bayes)
    inner = io.BytesIO(members["others.skops"])
    with zipfile.ZipFile(inner, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", bytes(200_000_000))
    content = _packed(description, {**members, "others.skops": inner.getvalue()})
    assert "it would unpack to far more than it is" in _error(content, tmp_path)


_MACHINE = ("binaries", 0, "estimator")
_WRONG = [
    (("classes", "type"), "<c16", "values of classes of the model is not a list of labels"),
    (("classes", "values"), [0, 0, 1], "is not a list of different labels"),
    (("classes", "values"), [0, 1], "out of range"),
    (("classes", "values"), [0, 1, 10**30], "is not a list of labels of type <i8"),
    (("n_features",), -1, "n_features of the model is not a whole number from 1"),
    (("n_features",), 0, "n_features of the model is not a whole number from 1 to 2147483647"),
    (("n_features",), 2**52, "n_features of the model is not a whole number from 1 to 2147483647"),
    (("n_features",), 5, "n_features of the model is not that of the binary a"),
    (("feature_names",), ["a"], "there are 1 names for 4 features"),
    (("feature_names",), [1], "feature_names of the model is not a list of texts"),
    (("pools", 0, "shape"), [2**60, 2**60], "has no shape"),
    (("pools", 0, "shape"), [10**6, 10**6], "lies beyond the numbers of the model"),
    (("pools", 0, "shape"), [8], "has 1 dimensions"),
    (("pools", 0, "start"), -1, "is not a whole number from 0"),
    (("parameters", "solver"), "magic", "the model is not consistent"),
    (("parameters", "calibration"), "magic", 'calibration="magic" is not known'),
    (("parameters", "cv"), "x", "cv of parameters of the model is not of its kind"),
    (("parameters", "cv"), {"list": []}, "is of an unknown kind"),
    (
        ("parameters", "estimator"),
        {"specification": "os.system"},
        "another version of scikit-learn",
    ),
    (("parameters", "estimator"), {"scaler": "Pickle"}, "is not one of StandardScaler"),
    (("parameters", "estimator"), {"pipeline": []}, "is not a list of steps"),
    (("parameters", "models", 0, "binary"), 9, "is not a whole number from 0 to 1"),
    (("binaries", 0, "output"), "pickle", "is not one of probability, log-odds"),
    (("binaries", 0, "output"), "probability", "estimator of .* is not one with predict_proba"),
    (("binaries", 0, "classes", "values"), [1], "is not two labels"),
    (("binaries", 0, "positive_index"), 2, "is not a whole number from 0 to 1"),
    (("binaries", 0, "calibrator", "kind"), "magic", "is not one of none, sigmoid"),
    (("binaries", 0, "calibrator", "slope"), "1", "slope of .* is not a finite number"),
    (("binaries", 0), {"name": "a", "output": "constant", "constant": 2}, "is not from -1 to 1"),
    ((*_MACHINE, "kind"), "code", "is not one of machine, borders, linear"),
    ((*_MACHINE, "kernel"), ["rbf", "1", 0, 0], "kernel of .* is not a kernel"),
    ((*_MACHINE, "kernel"), ["cosine", 1.0, 0, 0.0], 'kind="cosine" is not known'),
    ((*_MACHINE, "pool"), 7, "pool of .* is not a whole number from 0 to"),
    ((*_MACHINE, "rows", "shape"), [1], "is not as long as its rows"),
    ((*_MACHINE, "rows", "shape"), [1, 1], "is not of one dimension"),
    ((*_MACHINE, "intercept"), None, "intercept of .* is not a finite number"),
    ((*_MACHINE, "specification"), "linear-svc", "is not one of SVC, NuSVC"),
    ((*_MACHINE, "classes", "values"), [0, 1, 2], "is not two labels"),
    (("composition", "names"), ["a"], "is not a name for each of 2 binaries"),
    (
        ("composition", "places", 0, "columns", "shape"),
        [1],
        "is not a binary for each of 2 partitions",
    ),
    (("composition", "places"), [], "there are 0 places for 1 schemes"),
    (("binaries",), [], "is not a name for each of 0 binaries"),
    (("metadata",), None, None),
]


@pytest.mark.parametrize(("path", "value", "words"), _WRONG)
def test_each_field_is_checked(models, path, value, words, tmp_path):
    description, members = _members(models[0])
    parent = description
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    content = _packed(description, members)
    if words is None:  # nothing that the classifier needs
        (tmp_path / "m.polytomy").write_bytes(content)
        load(tmp_path / "m.polytomy")
    else:
        assert re.search(words, _error(content, tmp_path))


_SCALED = ("binaries", 0, "estimator", "steps")
_WRONG_SCALED = [
    ((*_SCALED, 0, "step", "type"), "Pickle", "is not one of StandardScaler"),
    ((*_SCALED, 0, "step", "parameters"), {"dict": [["a", 1]]}, "parameters of StandardScaler"),
    ((*_SCALED, 0, "step", "n_features"), 3, "mean_ of .* is not of 3 features"),
    ((*_SCALED, 0, "step", "arrays"), {}, "mean_ of .* is not there"),
    ((*_SCALED, 0, "step", "arrays", "scale_"), None, "scale_ of .* is not there"),
    ((*_SCALED, 0, "step", "n_samples"), "many", "n_samples of .* is not a finite number"),
    ((*_SCALED, 1, "step", "coefficients", "shape"), [1, 3], "for one number of features"),
    ((*_SCALED, 1, "step", "coefficients", "shape"), [4, 1], "coefficients of .* is not a row"),
    ((*_SCALED, 1, "step", "intercept", "shape"), [0], "intercept of .* is not one number"),
    ((*_SCALED, 1, "step", "specification"), "svc", "is not one of LogisticRegression"),
    ((*_SCALED, 1, "name"), "standardscaler", "is not a list of steps with different names"),
    ((*_SCALED, 0, "step"), {"kind": "pipeline", "steps": [{"name": "a"}]}, "is not one estimator"),
    (_SCALED, [], "is not a list of steps"),
    (("binaries", 0, "calibrator", "knots", "shape"), [1], "is not a map to probabilities"),
]


@pytest.mark.parametrize(("path", "value", "words"), _WRONG_SCALED)
def test_each_field_of_a_pipeline_is_checked(models, path, value, words, tmp_path):
    description, members = _members(models[1])
    parent = description
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    assert re.search(words, _error(_packed(description, members), tmp_path))


def test_a_scaler_for_other_features_than_the_classifiers(tmp_path):
    path = tmp_path / "m.polytomy"
    save(make_pipeline(StandardScaler(), PolytomyClassifier()).fit(X, Y), path)
    description, members = _members(path.read_bytes())
    scaler = description["pipeline"]["steps"][0]
    scaler["n_features"] = 3
    for array in scaler["arrays"].values():
        array["shape"] = [3]
    words = _error(_packed(description, members), tmp_path)
    assert "steps of pipeline of the model is not made for the features of the classifier" in words


def test_a_scaler_that_divides_by_zero_is_refused(tmp_path):
    path = tmp_path / "m.polytomy"
    save(make_pipeline(StandardScaler(), PolytomyClassifier()).fit(X, Y), path)
    description, members = _members(path.read_bytes())
    start = description["pipeline"]["steps"][0]["arrays"]["scale_"]["start"]
    floats = np.load(io.BytesIO(members["floats.npy"]))
    floats[start] = 0.0
    words = _error(_packed(description, {**members, "floats.npy": _npy(floats)}), tmp_path)
    assert "scale_ of arrays of a step of the pipeline is not made of numbers other than" in words


_HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from(
        [-1, 0, 1, 2, 2**31, 2**53, 0.5, -1e308, "", "x", "margin", "other", "|O", "<U9"]
    ),
    st.sampled_from([[], {}, [[]], [None], ["a", "b"], {"kind": "linear"}, {"tuple": []}]),
    st.sampled_from(["svc", "svc C=-1", "svc kernel=precomputed", "sgd", "random-forest", "-s 2"]),
)


def _places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, key))
        else:
            yield (*path, key)


def _changed(description, data):
    """Replace, remove or repeat something somewhere in the description."""
    path = data.draw(st.sampled_from([path for path in _places(description) if path]))
    parent = description
    for key in path[:-1]:
        parent = parent[key]
    action = data.draw(st.sampled_from(["replace", "replace", "replace", "remove", "repeat"]))
    if action == "replace":
        parent[path[-1]] = copy.deepcopy(data.draw(_HOSTILE))
    elif action == "remove":
        del parent[path[-1]]
    elif isinstance(parent, list):
        parent.append(copy.deepcopy(parent[path[-1]]))


@given(st.data())
def test_a_description_that_was_changed_loads_or_is_refused(models, tmp_path_factory, data):
    description, members = _members(data.draw(st.sampled_from(models)))
    description.pop("members")
    for _ in range(data.draw(st.integers(1, 3))):
        _changed(description, data)
    path = tmp_path_factory.mktemp("f") / "m.polytomy"
    path.write_bytes(_packed(description, members))
    with suppress(ModelFileError):
        read_info(path)
    with suppress(ModelFileError):
        classifier = load(path)
        # What loads can be asked: it answers, or says in an ordinary way why not.
        with suppress(ValueError):
            classifier.decisions(X[:3])


@given(st.data())
def test_bits_that_flip_are_found_or_harmless(models, tmp_path_factory, data):
    content = bytearray(models[0])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    folder = tmp_path_factory.mktemp("f")
    (folder / "good.polytomy").write_bytes(models[0])
    (folder / "m.polytomy").write_bytes(content)
    try:
        classifier = load(folder / "m.polytomy")
    except ModelFileError:
        return
    good = load(folder / "good.polytomy")
    np.testing.assert_array_equal(classifier.predict_proba(X), good.predict_proba(X))


@given(st.data())
def test_what_skops_wrote_may_be_changed(bayes, tmp_path_factory, data):
    description, members = _members(bayes)
    content = bytearray(members["others.skops"])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("f") / "m.polytomy"
    path.write_bytes(_packed(description, {**members, "others.skops": bytes(content)}))
    with suppress(ModelFileError):
        load(path)


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_else(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("f") / "m.polytomy"
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        load(path)
    path.write_bytes(b"PK\x03\x04" + content)
    with pytest.raises(ModelFileError):
        load(path)


def test_text_that_grows_when_it_is_read_is_refused(tmp_path):
    path = tmp_path / "bomb.polytomy"
    text = '{"format":"polytomy model","format_version":1,"x":[' + "[]," * 5_000_000 + "[]]}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
    with pytest.raises(ModelFileError, match="would unpack to"):
        load(path)
