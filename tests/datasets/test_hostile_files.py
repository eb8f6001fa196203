"""Damaged files of every format: a correct table or one clear error, nothing else."""

import contextlib

import numpy as np
import pytest

from datasets.mutations import mutate, valid_files
from polytomy.datasets import open_blocks, read_data
from polytomy.errors import ArgumentError, DataError

NAMES = [
    *("d.cls", "d.csv", "d.csv.gz", "d.npz", "d.parquet", "d.svm", "d.svm.gz", "d.tsv"),
    *("d.vec", "f.npz", "s.npz"),
]
N_MUTATIONS = 40


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("files")
    assert valid_files(folder) == sorted(NAMES)
    return {name: (folder / name).read_bytes() for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_gives_a_correct_table_or_one_error(name, files, tmp_path):
    for other in ("d.vec", "d.cls"):
        (tmp_path / other).write_bytes(files[other])
    path = tmp_path / name
    messages = []
    for seed in range(N_MUTATIONS):
        path.write_bytes(mutate(files[name], np.random.default_rng(seed)))
        try:
            data = read_data(path)
        except (ArgumentError, DataError) as error:
            messages.append(str(error))
        else:
            values = data.X if isinstance(data.X, np.ndarray) else data.X.data
            assert np.isfinite(values).all()
            assert len(data.y) == len(data.row_numbers) == data.n_samples > 0
        with contextlib.suppress(ArgumentError, DataError):
            list(open_blocks(path, n_rows=7))
    assert messages
    assert all(tmp_path.name in message for message in messages)


@pytest.mark.parametrize("name", NAMES)
def test_the_files_before_the_damage_are_read(name, files, tmp_path):
    for each, content in files.items():
        (tmp_path / each).write_bytes(content)
    assert read_data(tmp_path / name).n_samples == 30
