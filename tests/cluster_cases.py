"""Estimators and parts of data that end the process they are in, for tests on a cluster.

They are in a module of their own, which worker processes can import.
"""

import os
import signal
from pathlib import Path

from sklearn.naive_bayes import GaussianNB

__all__ = ["DyingOnceNB", "ProcessNB", "die_once", "fail_to_read", "pass_on_after_dying"]


def die_once(marker):
    """End this process as kill -9 does, unless a process has already died here."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def pass_on_after_dying(value, marker):
    die_once(marker)
    return value


def fail_to_read(path):
    """Note in a file that the data was read, and find an error in it."""
    with Path(path).open("a") as file:
        file.write("read\n")
    raise ValueError("line 3 has 5 fields")


class DyingOnceNB(GaussianNB):
    """A classifier whose first fit ends the process."""

    def __init__(self, marker=None):
        super().__init__()
        self.marker = marker

    def fit(self, X, y):
        die_once(self.marker)
        return super().fit(X, y)


class ProcessNB(GaussianNB):
    """A classifier that knows which process fitted it."""

    def fit(self, X, y):
        self.process_ = os.getpid()
        return super().fit(X, y)
