"""Kinds of model files, detected from their content."""

import os

import pytest

from needs import needs_posix
from persistence.libsvm.libsvm_files import FOLDER
from polytomy.errors import ModelFileError
from polytomy.persistence import (
    FileKind,
    find_kind,
    load,
    open_model,
    read_info,
    read_libsvm,
)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("m.polytomy", b"", FileKind.OWN),
        ("m", b"PK\x03\x04", FileKind.OWN),
        ("m", b"svm_type c_svc\n", FileKind.LIBSVM),
        ("m.model", b"anything", FileKind.LIBSVM),
        ("m.control", b"a {0 1}", FileKind.CONTROL),
        ("m.txt", b"a {0 1}", FileKind.CONTROL),
        ("m.txt", b"ADJ\n{0 1}", FileKind.CONTROL),
    ],
)
def test_the_kind_is_found_by_first_bytes_and_suffix(name, content, kind, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert find_kind(tmp_path / name) is kind


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m", b"", "m: the file is empty"),
        ("m", b"\x80\x04\x95pickle", "m: this is neither a model nor a control file"),
        ("m.csv", b"a,b\n1,2\n", r"m\.csv: the name says that this is data, not a model"),
        ("m.tsv", b"a\tb\n1\t2\n", r"m\.tsv: the name says that this is data, not a model"),
    ],
)
def test_other_files_are_refused(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelFileError, match=words):
        find_kind(tmp_path / name)


def test_a_file_can_be_opened_before_the_number_of_features_is_known():
    opened = open_model(FOLDER / "rbf.model")
    assert opened.kind is FileKind.LIBSVM
    assert opened.make(None).n_features_in_ == 4
    assert opened.make(6).n_features_in_ == 6


@pytest.mark.parametrize("read", [load, read_info])
def test_a_libsvm_file_without_a_model_is_refused(read, tmp_path):
    (tmp_path / "m.model").write_text("")
    with pytest.raises(ModelFileError, match=r"m\.model: the file is empty"):
        read(tmp_path / "m.model")
    (tmp_path / "m.model").write_text("a {0 1}\n")
    with pytest.raises(ModelFileError, match=r"m\.model: this is not a LIBSVM model"):
        read(tmp_path / "m.model")


@needs_posix
def test_pipes_devices_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("pipe", "link"):
        for read in (load, read_info, read_libsvm):
            with pytest.raises(ModelFileError, match="cannot be read from a pipe or a device"):
                read(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
