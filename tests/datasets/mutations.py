"""Damaged copies of data files, the same for the same seed."""

import gzip
import io

import numpy as np
from scipy.sparse import random as random_sparse

from polytomy.datasets import Data, write_data

TOKENS = [
    *(b"nan", b"inf", b"-1", b"0", b"1e999", b"9" * 30, b"9" * 5000, b"1000000000", b"0x10"),
    *(b'"', b"'", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n\r\n"),
    *(b",", b";", b"\t", b" ", b":", b"#", b"qid:3", b"1:1", b"-5:1", b"\xc2\xa0", b"NA", b"1,5"),
    *(b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\xff" * 8, b"\x00" * 8, b"x" * 2000),
]


def mutate(content, random):
    """Return the content with one to four random changes."""
    content = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        place = int(random.integers(0, len(content) + 1))
        length = int(random.integers(1, 9))
        kind = int(random.integers(0, 7))
        if kind == 0 and content:
            content[place % len(content)] ^= 1 << int(random.integers(0, 8))
        elif kind == 1:
            content[place : place + length] = random.bytes(length)
        elif kind == 2:
            del content[place : place + length]
        elif kind == 3:
            del content[place:]
        elif kind == 4:
            start = int(random.integers(0, len(content) + 1))
            content[place:place] = content[start : start + 4 * length]
        else:
            content[place:place] = TOKENS[int(random.integers(0, len(TOKENS)))]
    return bytes(content)


def valid_files(folder):
    """Write a small file of each format and return the names of all files."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3)).round(3)
    words, numbers = np.array(["oak", "elm"])[np.arange(30) % 2], np.arange(30) % 3
    rows, names = np.arange(30), ("height", "width", "age")
    table = Data(X, words, names, rows)
    for name in ("d.csv", "d.tsv", "d.csv.gz", "d.parquet", "d.npz"):
        write_data(folder / name, table)
    for name in ("d.svm", "d.vec"):
        write_data(folder / name, Data(X, numbers, None, rows))
    sparse = random_sparse(30, 9, 0.3, "csr", random_state=random)
    write_data(folder / "s.npz", Data(sparse, numbers, None, rows))
    content = io.BytesIO()
    np.savez(content, X=np.asfortranarray(X), y=words)
    (folder / "f.npz").write_bytes(content.getvalue())
    (folder / "d.svm.gz").write_bytes(gzip.compress((folder / "d.svm").read_bytes()))
    return sorted(path.name for path in folder.iterdir())
