import os
import signal
import sys
import threading
import time

import pytest

from polytomy.cli.interrupts import interrupt_after_imports

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

HANDLER = signal.default_int_handler


@pytest.fixture
def interrupted_module(tmp_path, monkeypatch):
    """Make a module that is interrupted while it is imported; return its name."""
    text = "import signal\n\nsignal.raise_signal(signal.SIGINT)\nis_complete = True\n"
    (tmp_path / "interrupted_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield "interrupted_module"
    sys.modules.pop("interrupted_module", None)


def test_ctrl_c_waits_until_an_import_has_ended(interrupted_module):
    def command():
        __import__(interrupted_module)
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        interrupt_after_imports(command)
    assert sys.modules[interrupted_module].is_complete


def test_ctrl_c_outside_imports_is_not_delayed():
    with pytest.raises(KeyboardInterrupt):
        interrupt_after_imports(lambda: signal.raise_signal(signal.SIGINT))


def test_a_command_that_is_run_while_its_module_is_imported_can_be_interrupted(
    tmp_path, monkeypatch
):
    text = (
        "import signal\n"
        "from polytomy.cli.interrupts import interrupt_after_imports\n\n"
        "interrupt_after_imports(lambda: signal.raise_signal(signal.SIGINT))\n"
    )
    (tmp_path / "running_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        __import__("running_module")


def test_the_handlers_of_before_are_put_back(interrupted_module):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    interrupt_after_imports(lambda: __import__(interrupted_module))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_ctrl_c_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interrupt_after_imports(lambda: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, HANDLER)


def test_a_command_may_run_in_any_thread():
    done = []
    thread = threading.Thread(target=interrupt_after_imports, args=[lambda: done.append(1)])
    thread.start()
    thread.join()
    assert done == [1]
