import os
import signal
import threading
import time
from importlib.machinery import ExtensionFileLoader
from types import ModuleType

import pytest

from polytomy.cli.interrupts import interrupt_after_imports

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals"),
    pytest.mark.usefixtures("hears_interrupts"),
]

HANDLER = signal.default_int_handler


class InterruptedLoader(ExtensionFileLoader):
    """Loads an extension module, which is interrupted while it is made."""

    def exec_module(self, module):
        signal.raise_signal(signal.SIGINT)
        module.is_complete = True


@pytest.fixture
def module():
    return ModuleType("interrupted")


def load(module):
    InterruptedLoader("interrupted", "interrupted.so").exec_module(module)


def test_ctrl_c_waits_until_an_extension_module_is_complete(module):
    def command():
        load(module)
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        interrupt_after_imports(command)
    assert module.is_complete


def test_ctrl_c_waits_until_a_callback_of_the_import_system_has_ended():
    names = {"__name__": "importlib._bootstrap", "signal": signal, "done": []}
    exec("def callback():\n    signal.raise_signal(signal.SIGINT)\n    done.append(1)", names)

    def command():
        names["callback"]()
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        interrupt_after_imports(command)
    assert names["done"] == [1]


def test_ctrl_c_ends_the_import_of_a_module_in_python(tmp_path, monkeypatch):
    text = "import signal\n\nsignal.raise_signal(signal.SIGINT)\nraise AssertionError\n"
    (tmp_path / "interrupted_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        interrupt_after_imports(lambda: __import__("interrupted_module"))


def test_ctrl_c_outside_imports_is_not_delayed():
    with pytest.raises(KeyboardInterrupt):
        interrupt_after_imports(lambda: signal.raise_signal(signal.SIGINT))


def test_a_command_that_an_extension_module_runs_can_be_interrupted(module):
    class Loader(ExtensionFileLoader):
        def exec_module(self, module):
            interrupt_after_imports(lambda: signal.raise_signal(signal.SIGINT))

    with pytest.raises(KeyboardInterrupt):
        Loader("interrupted", "interrupted.so").exec_module(module)


def test_the_handlers_of_before_are_put_back(module):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    interrupt_after_imports(lambda: load(module))
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
