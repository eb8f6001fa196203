"""The site, built once without running the examples, and served as `make docs-serve` does."""

import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browser import open_browser

ROOT = Path(__file__).parents[2]
# What `make docs` leaves in the folder of the sources.
GENERATED = shutil.ignore_patterns("_build", "gallery", "generated", "command_line.md")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built pages. `tests/test_examples.py` runs the examples themselves."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=GENERATED)
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "changelog.d", folder / "changelog.d")
    for file in (*ROOT.glob("*.md"), ROOT / "pyproject.toml"):
        shutil.copy(file, folder)
    options = ["--fail-on-warning", "--keep-going", "-q", "-D", "plot_gallery=0"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "-b", "html", "docs", "html"],
        capture_output=True,
        cwd=folder,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return folder / "html"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def address(site):
    """The address of the served site, with a slash at its end."""
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
