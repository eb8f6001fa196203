"""The zip archive of a saved model, whole and damaged."""

import io
import os
import pickle
import re
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needs import needs_posix
from persistence.round_trips import X
from persistence.saved_archives import (
    array_to_bytes,
    pack,
    peak_memory,
    unpack,
    with_lying_sizes,
)
from polytomy.errors import ModelFileError
from polytomy.persistence import load
from polytomy.persistence.archive import (
    FORMAT_VERSION,
    Archive,
    array_bytes,
    open_archive,
    open_model_file,
    size_of,
    write_archive,
)


class _Trap:
    """An object that sets a flag when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return _spring, ()


def _spring():
    _Trap.sprung = True


def test_what_is_written_is_read(tmp_path):
    array = np.arange(6.0).reshape(2, 3)
    members = {"a.npy": array_bytes(array), "others.skops": b"\xff"}
    write_archive(tmp_path / "a", {"n": [1, 2.5]}, members)
    archive = open_archive(tmp_path / "a")
    assert archive.description["n"] == [1, 2.5]
    assert archive.description["format_version"] == FORMAT_VERSION
    (name,) = arrays = archive.arrays()
    assert name == "a"
    np.testing.assert_array_equal(arrays["a"], array)
    assert "a.npy" not in archive
    assert archive.content("others.skops") == b"\xff"
    with pytest.raises(ModelFileError, match="member 'c' is missing"):
        archive.content("c")


def test_the_same_content_gives_the_same_file(tmp_path):
    for name in ("a", "b"):
        write_archive(tmp_path / name, {"n": 1}, {"m.npy": b"content"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_content_that_compresses_well_can_be_read_again(tmp_path):
    zeros = bytes(2**27)
    write_archive(tmp_path / "a", {}, {"zeros.npy": zeros})
    assert Archive(tmp_path / "a").content("zeros.npy") == zeros


def test_an_error_begins_with_the_name_of_the_file_once(tmp_path):
    write_archive(tmp_path / "a", {}, {})
    archive = Archive(tmp_path / "a")
    expected = f"{tmp_path / 'a'}: it is wrong"
    assert str(archive.locate(ModelFileError("it is ", "wrong"))) == expected
    assert str(archive.locate(archive.fault("it is wrong"))) == expected


def test_a_model_that_is_packed_again_loads(svm_model, scaled_model, tmp_path):
    for content in (svm_model, scaled_model):
        (tmp_path / "m.polytomy").write_bytes(pack(*unpack(content)))
        assert load(tmp_path / "m.polytomy").predict(X).shape == (150,)


@pytest.mark.parametrize("size", [0, 1, 2, 4, 22, 100, 1000, -1, -10, -22, -100])
def test_a_truncated_file_is_refused(svm_model, size, refusal):
    refusal(svm_model[:size])


def test_a_pickle_is_not_unpickled(svm_model, refusal):
    description, members = unpack(svm_model)
    trap = np.array([_Trap()], dtype=object)
    words = refusal(pack(description, {**members, "float64.npy": array_to_bytes(trap)}))
    assert "holds objects" in words
    refusal(pickle.dumps(_Trap()))
    refusal(pickle.dumps(_Trap(), 0))
    refusal(pack(description, {**members, "others.skops": pickle.dumps(_Trap())}))
    assert not _Trap.sprung
    pickle.loads(pickle.dumps(_Trap()))
    assert _Trap.sprung  # so it would have been noticed


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/b", "C:\\x", "model.json/x"])
def test_members_that_are_not_known_are_refused(svm_model, name, refusal, tmp_path):
    description, members = unpack(svm_model)
    content = pack(description, {**members, name: b"x"})
    assert refusal(content) == f"member {name!r} is not known"
    assert [file.name for file in tmp_path.iterdir()] == ["m.polytomy"]


def test_repeated_members_are_refused(svm_model, refusal):
    stream = io.BytesIO(svm_model)
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("float64.npy", b"")
    assert refusal(stream.getvalue()) == "two members have the same name"


@pytest.mark.parametrize("name", ["float64.npy", "float16.npy", "uint8.npy"])
def test_missing_and_changed_members_are_refused(svm_model, name, refusal):
    description, members = unpack(svm_model)
    rest = {key: part for key, part in members.items() if key != name}
    assert f"has more numbers of type {name[:-4]} than the file" in refusal(pack(description, rest))
    stored = pack(description, members, zipfile.ZIP_STORED)
    part = members[name]
    changed = stored.replace(part, part[:-1] + bytes([part[-1] ^ 1]))
    assert changed != stored
    words = f"the file is damaged: Bad CRC-32 for file {name!r}"
    assert refusal(changed) == words


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(svm_model, compression, refusal):
    content = pack(*unpack(svm_model), compression)
    assert refusal(content) == "member 'model.json' uses an unknown compression"


def test_a_zip_bomb_is_not_unpacked(svm_model, refusal):
    description, members = unpack(svm_model)
    bomb = pack(description, {**members, "float64.npy": bytes(200_000_000)})
    assert len(bomb) < 1_000_000
    peak, words = peak_memory(refusal, bomb)
    assert "would unpack to" in words
    assert peak < 20_000_000


def test_a_member_is_not_unpacked_beyond_the_size_it_declares(svm_model, refusal):
    description, members = unpack(svm_model)
    bomb = pack(description, {**members, "float64.npy": bytes(200_000_000)})
    peak, words = peak_memory(refusal, with_lying_sizes(bomb, b"float64.npy", unpacked=1000))
    assert words.startswith("the file is damaged: Bad CRC-32")
    assert peak < 20_000_000


def test_members_that_claim_more_packed_bytes_than_the_file_has_are_refused(svm_model, refusal):
    description, members = unpack(svm_model)
    bomb = pack(description, {**members, "float64.npy": bytes(60_000_000)})
    lying = with_lying_sizes(bomb, b"float64.npy", packed=2**31)
    peak, words = peak_memory(refusal, lying)
    assert re.fullmatch(
        f"the file of {len(bomb):,} bytes claims to hold [0-9,]+ bytes of packed members", words
    )
    assert peak < 20_000_000


def test_a_description_that_grows_when_it_is_parsed_is_refused(refusal):
    text = '{"format":"polytomy model","format_version":1,"x":[' + "[]," * 5_000_000 + "[]]}"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
    assert "too many for a description" in refusal(stream.getvalue())


@pytest.mark.parametrize("shape", ["(9999999999999,)", "(4000000, 4000000)", "(-1,)"])
def test_huge_shapes_are_not_allocated(svm_model, shape, refusal):
    description, members = unpack(svm_model)
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)
    words = refusal(pack(description, {**members, "float64.npy": array}))
    assert words.startswith("member 'float64.npy': an array of shape")


@pytest.mark.parametrize("array", [np.array(["text"]), np.full(5000, np.nan), np.array([True])])
def test_arrays_of_anything_but_finite_numbers_are_refused(svm_model, array, refusal):
    description, members = unpack(svm_model)
    content = pack(description, {**members, "float64.npy": array_to_bytes(array)})
    assert refusal(content) == "member 'float64.npy' does not hold finite numbers"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{", '{"format": "polytomy model"}', "[" * 100_000, '{"a": NaN}', "\udcff"],
)
def test_descriptions_that_are_not_json_objects_are_refused(svm_model, text, refusal):
    _, members = unpack(svm_model)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("model.json", text.encode("utf-8", "surrogateescape"))
        for name, part in members.items():
            archive.writestr(name, part)
    words = refusal(stream.getvalue())
    assert words.startswith("model.json is damaged: ") or words == "the format version is missing"


def test_numbers_that_are_not_json_are_refused(svm_model, refusal):
    description, members = unpack(svm_model)
    description["n_features"] = float("nan")
    assert refusal(pack(description, members)) == "model.json is damaged: NaN is not JSON"


def test_an_archive_without_a_description_is_refused(refusal):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.txt", "x")
    words = "model.json is missing, so this is not a saved model"
    assert refusal(stream.getvalue(), "a.zip") == words


@given(st.data())
def test_flipped_bits_are_detected_or_harmless(svm_model, tmp_path_factory, data):
    content = bytearray(svm_model)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    folder = tmp_path_factory.mktemp("f")
    (folder / "good.polytomy").write_bytes(svm_model)
    (folder / "m.polytomy").write_bytes(content)
    try:
        classifier = load(folder / "m.polytomy")
    except ModelFileError:
        return
    good = load(folder / "good.polytomy")
    np.testing.assert_array_equal(classifier.predict_proba(X), good.predict_proba(X))


@given(st.binary(max_size=200))
def test_bytes_that_are_not_an_archive_are_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("f") / "m.polytomy"
    for start in (b"", b"PK\x03\x04"):
        path.write_bytes(start + content)
        with pytest.raises(ModelFileError, match="the file is damaged"):
            load(path)


# -- opening files ---------------------------------------------------------------------------------


@needs_posix
def test_a_file_is_opened_and_its_size_is_known(tmp_path):
    (tmp_path / "m").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("m")
    for name in ("m", "link"):
        with open_model_file(tmp_path / name) as file:
            assert size_of(file) == 5
            assert file.read() == b"12345"


@needs_posix
def test_pipes_and_devices_are_refused_unopened(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name in ("pipe", "zeros"):
        with pytest.raises(ModelFileError, match=rf"{name}: a model cannot be read from a pipe"):
            open_model_file(tmp_path / name)


@needs_posix
def test_files_that_cannot_be_opened_raise_what_the_system_says(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_model_file(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        open_model_file(tmp_path)


def test_a_description_that_packs_too_well_is_stored_as_it_is(tmp_path):
    description = {"words": "word " * 2**20}
    write_archive(tmp_path / "m.polytomy", description, {})
    assert open_archive(tmp_path / "m.polytomy").description["words"] == description["words"]
