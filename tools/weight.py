"""Print how heavy the package is: its lines and files, and the modules that a fit passes through.

A line counts if it is neither blank, a comment nor part of a docstring. A module is passed through
if one of its functions runs during the second call in a process, in any thread; the first call also
imports and compiles. Run it with the Python of `.venv`.
"""

import ast
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = Path(__file__).parents[1] / "src" / "polytomy"
SMALL_FILE = 100
LARGE_SIGNATURE = 13


def count_code_lines(source: str) -> int:
    """Count the lines that are neither blank, comment nor docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in docstrings
        for number, line in lines
    )


def find_large_signatures(path: Path) -> list[str]:
    """Find the functions of a file that take 13 arguments or more, without ``self``."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            names = [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]
            if len(names) >= LARGE_SIGNATURE:
                found.append(f"{path.relative_to(PACKAGE)}: {node.name} ({len(names)})")
    return found


def trace_modules(call: Callable[[], object]) -> tuple[set[str], int]:
    """Return the package's modules whose functions run during a call, and the deepest stack."""
    modules: set[str] = set()
    deepest = 0
    inside = f"{PACKAGE}/"

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal deepest
        if event != "call" or not frame.f_code.co_filename.startswith(inside):
            return
        modules.add(frame.f_code.co_filename)
        depth, caller = 0, frame
        while caller is not None:
            depth += caller.f_code.co_filename.startswith(inside)
            caller = caller.f_back
        deepest = max(deepest, depth)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return modules, deepest


def print_size() -> None:
    """Print lines, files, the largest rooms and the functions with many arguments."""
    lines = {
        path: count_code_lines(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    rooms = Counter(str(path.parent.relative_to(PACKAGE)) for path in lines)
    small = sum(count < SMALL_FILE for count in lines.values())
    print(f"{sum(lines.values())} lines of code in {len(lines)} files, {small} under {SMALL_FILE}")
    largest = ", ".join(f"{room} ({count})" for room, count in rooms.most_common(5))
    print(f"files in the largest rooms: {largest}")
    signatures = [line for path in lines for line in find_large_signatures(path)]
    print(f"{len(signatures)} functions of {LARGE_SIGNATURE} or more arguments")
    for line in signatures:
        print(f"  {line}")


def print_path() -> None:
    """Print the modules that a default fit of digits, and its predict_proba, pass through."""
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC

    from polytomy import PolytomyClassifier

    X, y = load_digits(return_X_y=True)
    classifier = PolytomyClassifier(SVC())
    calls: dict[str, Callable[[], object]] = {
        "fit": lambda: classifier.fit(X, y),
        "predict_proba": lambda: classifier.predict_proba(X),
    }
    for name, call in calls.items():
        call()
        modules, deepest = trace_modules(call)
        print(f"{name} passes through {len(modules)} modules, {deepest} calls deep")
        if "--list" in sys.argv[1:]:
            for module in sorted(modules):
                print(f"  {Path(module).relative_to(PACKAGE)}")


if __name__ == "__main__":
    print_size()
    print_path()
