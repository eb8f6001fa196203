"""Check what is about to be released: `python tools/check_dist.py dist`.

The sdist has the files of the repository, and the wheel those of the package. Each is installed
into a fresh environment, with the versions of constraints.txt, and used from outside of the
repository. The tests in the sdist can be collected, and a part of them passes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path, PurePosixPath

__all__ = ["check_contents", "check_description", "main"]

ROOT = Path(__file__).parents[1]

SMOKE_TEST = """
import polytomy as pt
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
classifier = pt.PolytomyClassifier(random_state=0).fit(X[::2], y[::2])
accuracy = classifier.score(X[1::2], y[1::2])
assert accuracy > 0.9, accuracy
pt.save(classifier, "iris.polytomy")
assert (pt.load("iris.polytomy").predict(X) == classifier.predict(X)).all()
assert "site-packages" in pt.__file__, pt.__file__
"""

# Commands of the smoke test. Trials and their report use the data files of the package.
COMMANDS = (
    ["--version"],
    ["design", "one-vs-rest", "--labels", "a,b,c"],
    ["trials", "--datasets", "iris", "--repeats", "1", "--output", "results"],
    ["report", "results"],
    ["info", "iris.polytomy"],
)

# Tests of an unpacked sdist that are quick, and that read files besides those of the package.
SDIST_TESTS = ("tests/language", "tests/test_package.py", "tests/test_release.py")


def list_repository() -> set[str]:
    """Return the files that git knows, and new ones that it does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.splitlines() if (ROOT / name).exists()}


def list_archive(archive: Path) -> set[str]:
    """Return the files of a wheel, or those of an sdist without the folder that holds them."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as file:
        paths = [PurePosixPath(member.name) for member in file if member.isfile()]
    return {str(path.relative_to(path.parts[0])) for path in paths}


def check_contents(archive: Path, repository: set[str]) -> None:
    """Raise an error if a file is missing, or if one is there that should not be."""
    found = list_archive(archive)
    if archive.suffix == ".whl":
        wanted = {name[len("src/") :] for name in repository if name.startswith("src/polytomy/")}
        found = {name for name in found if not re.match(r"polytomy-[^/]+\.dist-info/", name)}
    else:
        wanted = repository | {"PKG-INFO"}
    missing, extra = sorted(wanted - found), sorted(found - wanted)
    if missing or extra:
        raise SystemExit(f"{archive.name}: missing {missing}, not wanted {extra}")


def check_description(archive: Path) -> None:
    """Raise an error if the description, which package indexes show, has relative links."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            text = wheel.read(name).decode()
    else:
        with tarfile.open(archive) as file:
            (name,) = [name for name in file.getnames() if name.count("/") == 1 and "PKG-" in name]
            text = file.extractfile(name).read().decode()  # type: ignore[union-attr]
    links = re.findall(r"\]\((?!https?://|#)([^)\s]+)\)|<img[^>]+src=\"(?!https?://)", text)
    if links:
        raise SystemExit(f"{archive.name}: links that lead nowhere from a package index: {links}")


def try_out(archive: Path) -> None:
    """Install an archive into a fresh environment, and use it from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "environment", with_pip=True)
        python = home / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install += ["--constraint", ROOT / "constraints.txt"]
        subprocess.run([*install, f"{archive}[plots]"], check=True)
        work = home / "work"
        work.mkdir()
        # Nothing of the repository can be imported by accident.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([python, "-c", SMOKE_TEST], check=True, cwd=work, env=environment)
        for command in COMMANDS:
            line = [python.with_name("polytomy"), *command]
            subprocess.run(line, check=True, cwd=work, env=environment, stdout=subprocess.PIPE)
        if archive.suffix != ".whl":
            _run_tests(archive, home, install, python, environment)


def _run_tests(
    archive: Path, home: Path, install: list, python: Path, environment: dict[str, str]
) -> None:
    with tarfile.open(archive) as file:
        file.extractall(home / "unpacked", filter="data")
    (source,) = (home / "unpacked").iterdir()
    subprocess.run([*install, "pip>=25.1"], check=True)
    subprocess.run([*install, "--group", "test"], check=True, cwd=source)
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    collect = [*pytest, "--collect-only", "tests"]
    subprocess.run(collect, check=True, cwd=source, env=environment, stdout=subprocess.PIPE)
    subprocess.run([*pytest, *SDIST_TESTS], check=True, cwd=source, env=environment)


def main(folder: Path) -> None:
    """Check the sdist and the wheel in a folder."""
    archives = sorted([*folder.glob("*.tar.gz"), *folder.glob("*.whl")])
    if len(archives) != 2:
        raise SystemExit(f"{folder} should have one sdist and one wheel; it has {archives}")
    repository = list_repository()
    for archive in archives:
        check_contents(archive, repository)
        check_description(archive)
        try_out(archive)
        print(f"{archive.name} works", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
