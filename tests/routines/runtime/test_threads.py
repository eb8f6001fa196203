"""Blocks of samples on several threads."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.routines.runtime.threads import run_in_blocks


@given(st.integers(0, 5000), st.integers(1, 300))
def test_the_blocks_make_up_all_samples_once(n_samples, least):
    blocks = []
    run_in_blocks(lambda first, last: blocks.append((first, last)), n_samples, least=least)
    samples = [sample for first, last in sorted(blocks) for sample in range(first, last)]
    assert samples == list(range(n_samples))
    assert all(last - first >= min(least, n_samples) // 2 for first, last in blocks)


def test_arguments_come_before_the_block():
    calls = []
    run_in_blocks(lambda *arguments: calls.append(arguments), 3, "a", "b", least=10)
    assert calls == [("a", "b", 0, 3)]


def test_an_error_in_any_block_is_raised_and_ends_the_work():
    def fail(first, last):
        raise ValueError("in a block")

    with pytest.raises(ValueError, match="in a block"):
        run_in_blocks(fail, 1000, least=1)


def test_a_block_may_itself_run_blocks():
    done = []
    lock = threading.Lock()

    def inner(first, last):
        with lock:
            done.extend(range(first, last))

    run_in_blocks(lambda first, last: run_in_blocks(inner, last - first, least=1), 40, least=10)
    assert len(done) == 40
