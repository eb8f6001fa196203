"""Blocks that are read ahead come as if they were read one after the other."""

import threading

import pytest

from polytomy.datasets.sources import read_ahead


@pytest.mark.parametrize("n_threads", [0, 1, 3])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 7])
def test_all_blocks_come_in_their_order(n_threads, n_blocks):
    found = list(read_ahead(lambda block: -block, iter(range(n_blocks)), n_threads))
    assert found == [(block, -block) for block in range(n_blocks)]


@pytest.mark.parametrize("n_threads", [0, 1, 3])
def test_an_error_in_reading_comes_after_the_blocks_before_it(n_threads):
    def blocks():
        yield from range(5)
        raise OSError("the disk is gone")

    found = []
    with pytest.raises(OSError, match="the disk is gone"):
        # A list that is extended by a generator that fails keeps what came before.
        found.extend(read_ahead(str, blocks(), n_threads))
    assert found == [(k, str(k)) for k in range(5)]


@pytest.mark.parametrize("n_threads", [0, 2])
def test_an_error_in_the_work_comes_in_the_place_of_its_block(n_threads):
    found = []
    with pytest.raises(ZeroDivisionError):
        found.extend(read_ahead(lambda block: 1 / block, [2, 1, 0, 3], n_threads))
    assert found == [(2, 0.5), (1, 1.0)]


def test_no_more_blocks_are_read_than_there_are_threads():
    read = []

    def blocks():
        for block in range(10):
            read.append(block)
            yield block

    ahead = read_ahead(str, blocks(), 2)
    next(ahead)
    assert read == [0, 1, 2]
    ahead.close()


def test_work_is_done_at_the_same_time():
    meeting = threading.Barrier(2, timeout=60)
    assert [block for block, _ in read_ahead(lambda block: meeting.wait(), "ab", 2)] == ["a", "b"]


def test_without_threads_nothing_is_read_ahead():
    read = []

    def blocks():
        for block in range(3):
            read.append(block)
            yield block

    for block, _ in read_ahead(str, blocks(), 0):
        assert read[-1] == block
    assert read == [0, 1, 2]
