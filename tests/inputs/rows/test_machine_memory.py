import os

from polytomy.inputs.rows import machine_memory


def test_it_is_all_the_memory_of_the_machine():
    assert machine_memory(()) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_the_limit_of_a_container_comes_first(tmp_path):
    free, limit = tmp_path / "free", tmp_path / "limit"
    free.write_text("max\n")
    limit.write_text("1000000\n")
    assert machine_memory((free, tmp_path / "none", limit)) == 1_000_000
    assert machine_memory((free,)) == machine_memory(())
