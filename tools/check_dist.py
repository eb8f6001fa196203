"""Check what is about to be released: `python tools/check_dist.py dist`.

The sdist and the wheel have the files they should have and no others. Each is installed into a
fresh environment, with the versions of constraints.txt, and used from outside the repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

WANTED = ("polytomy/__init__.py", "polytomy/py.typed", "polytomy/report/page.css", "LICENSE")
UNWANTED = ("__pycache__", ".nbi", ".nbc", ".venv", "results/trials", ".csv.gz")

SMOKE_TEST = """
import polytomy as pt
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
classifier = pt.PolytomyClassifier(random_state=0).fit(X[::2], y[::2])
accuracy = classifier.score(X[1::2], y[1::2])
assert accuracy > 0.9, accuracy
pt.save(classifier, "iris.polytomy")
assert (pt.load("iris.polytomy").predict(X) == classifier.predict(X)).all()
print(pt.__version__, pt.__file__)
"""


def names_in(archive: Path) -> list[str]:
    """Return the files of a wheel or of an sdist."""
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).namelist()
    with tarfile.open(archive) as file:
        return file.getnames()


def check_contents(archive: Path) -> None:
    """Raise an error if a file is missing, or if one is there that should not be."""
    names = names_in(archive)
    missing = [each for each in WANTED if not any(name.endswith(each) for name in names)]
    extra = [name for name in names if any(each in name for each in UNWANTED)]
    if missing or extra:
        raise SystemExit(f"{archive.name}: missing {missing}, not wanted {extra}")


def try_out(archive: Path) -> None:
    """Install an archive into a fresh environment, and use it from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "environment", with_pip=True)
        python = home / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        constraints = ROOT / "constraints.txt"
        subprocess.run([*install, "--constraint", constraints, archive], check=True)
        work = home / "work"
        work.mkdir()
        # Nothing of the repository can be imported by accident.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        for command in (
            ["-c", SMOKE_TEST],
            ["-m", "polytomy", "design", "one-vs-rest", "--labels", "a,b,c"],
        ):
            subprocess.run([python, *command], check=True, cwd=work, env=environment)


def main(folder: Path) -> None:
    """Check the sdist and the wheel in a folder."""
    archives = sorted([*folder.glob("*.tar.gz"), *folder.glob("*.whl")])
    if len(archives) != 2:
        raise SystemExit(f"{folder} should have one sdist and one wheel; it has {archives}")
    for archive in archives:
        check_contents(archive)
        try_out(archive)
        print(f"{archive.name} works", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
