"""A real browser for tests: headless Chromium, driven by its DevTools protocol over a pipe.

The pipe needs neither a port nor a package. A message is JSON text that ends with a zero byte; the
browser reads commands from its file descriptor 3 and writes answers to 4.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["CHROMIUM", "QUIET", "Browser", "open_browser"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in _NAMES if (path := shutil.which(name))), None)
# Only the pages of the test: no other traffic, no first visit, no sandbox (root has none).
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
]
_SECONDS = 30.0


@contextlib.contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium with its profile in a folder, and end it afterwards."""
    command_read, command_write = _make_pipe()
    answer_read, answer_write = _make_pipe()
    chromium = [CHROMIUM, *QUIET, "--remote-debugging-pipe", f"--user-data-dir={folder}"]
    # The shell puts the ends of the pipes where Chromium looks for them.
    shell = f"exec {shlex.join(chromium)} about:blank 3<&{command_read} 4>&{answer_write}"
    process = subprocess.Popen(
        ["bash", "-c", shell],
        pass_fds=(command_read, answer_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(command_read)
    os.close(answer_write)
    try:
        yield Browser(command_write, answer_read)
    finally:
        process.terminate()
        process.wait(timeout=_SECONDS)
        os.close(command_write)
        os.close(answer_read)


def _make_pipe() -> list[int]:
    """Return the ends of a pipe, with numbers that are not those of Chromium's ends."""
    import fcntl  # Windows has none

    ends = os.pipe()
    copies = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return copies


class ProtocolError(Exception):
    """Chromium could not do what it was asked to."""


class Browser:
    """One tab of Chromium.

    Parameters
    ----------
    commands, answers : file descriptors of the pipes

    Attributes
    ----------
    problems : what the pages complained of: errors of scripts, and files that could not be loaded
    """

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._numbers = itertools.count(1)
        self._unread = b""
        self._session: str | None = None
        self._loaded = False
        self.problems: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        answer = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _SECONDS
        while True:
            answer = self._read(deadline, method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise ProtocolError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def visit(self, address: str, width: int = 1280, *, is_dark: bool = False) -> None:
        """Load a page in a window of this width, in the light or in the dark."""
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + _SECONDS
        while not self._loaded:
            self._read(deadline, address)

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Return the value of an expression as soon as it is true, on this page or the next."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            # While one page gives way to the next, there is none to ask.
            with contextlib.suppress(ProtocolError):
                if value := self.evaluate(script):
                    return value
            time.sleep(0.05)
        raise AssertionError(f"{script} was never true")

    def type_text(self, text: str) -> None:
        """Type a text where the cursor is, and press Enter."""
        self.call("Input.insertText", text=text)
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        self.call("Input.dispatchKeyEvent", type="keyDown", text="\r", **enter)
        self.call("Input.dispatchKeyEvent", type="keyUp", **enter)

    def _read(self, deadline: float, waiting_for: str) -> dict[str, Any]:
        while b"\0" not in self._unread:
            left = deadline - time.monotonic()
            assert select.select([self._answers], [], [], max(left, 0))[0], f"{waiting_for} hangs"
            read = os.read(self._answers, 1 << 16)
            assert read, f"the browser ended during {waiting_for}"
            self._unread += read
        first, self._unread = self._unread.split(b"\0", 1)
        message = json.loads(first)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event: str | None, details: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            self.problems.append(details["exceptionDetails"]["exception"]["description"])
        elif event == "Network.responseReceived" and details["response"]["status"] >= 400:
            self.problems.append(f"{details['response']['status']} {details['response']['url']}")
        elif event == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.problems.append(details["entry"]["text"])
