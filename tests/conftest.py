"""How long Hypothesis looks, which routines run, and that no warning of polytomy goes unnoticed."""

import gc
import os
import signal

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from onnx_sessions import run_model
from untested import pytest_unconfigure  # noqa: F401, a hook of pytest

# The same examples every time in `make test`; new ones, and more, in `make test-all`.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly", parent=settings.get_profile("default"), derandomize=False, max_examples=1000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# Always the compiled routines, so that answers do not depend on what is in Numba's cache.
os.environ.setdefault("POLYTOMY_ROUTINES", "compiled")


def pytest_configure(config):
    # What is imported and collected stays; to look for garbage in it takes a second.
    gc.set_threshold(100_000, 50, 100)
    # Not in pyproject.toml: to name the class there would import polytomy before coverage starts.
    config.addinivalue_line("filterwarnings", "error::polytomy.errors.PolytomyWarning")
    # Many tests use trees of classes that are text; tests of the order look for the warning.
    config.addinivalue_line("filterwarnings", "ignore::polytomy.errors.ClassOrderWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    # Examples are in the docstrings of the package. To look for some in the tests takes a second.
    return [each for each in (yield) if not isinstance(each, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    # Of two processes, one reads the files from the last to the first. The bytecode of a new
    # checkout is then made by the one that comes first, and not by both.
    report = yield
    is_second = os.environ.get("PYTEST_XDIST_WORKER") == "gw1"
    if is_second and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    # With several processes, the first tests all go to the same one: the site is built once, and
    # one cluster and joblib's processes are started. The rest makes the order the same in all.
    def place(item):
        is_of_site = item.path.parent.name == "documentation"
        fixtures = getattr(item, "fixturenames", ())
        needs_cluster, needs_jobs = "cluster_client" in fixtures, "joblib_processes" in fixtures
        is_doctest = isinstance(item, pytest.DoctestItem)
        return not is_of_site, not needs_cluster, not needs_jobs, str(item.path), not is_doctest

    items.sort(key=place)


def pytest_collection_finish():
    # Modules and tests stay until the end; the garbage collector need not look at them again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 50)


@pytest.fixture(scope="session")
def cluster_client():
    """A client of a cluster of two processes, which takes seconds to start."""
    distributed = pytest.importorskip("distributed")
    import dask

    # A cluster that looks after itself 50 times a second takes time from the tests that follow.
    calm = {
        "distributed.worker.profile.enabled": False,
        "distributed.worker.memory.monitor-interval": "1s",
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "10s",
    }
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set(calm),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def joblib_processes():
    """Processes that joblib starts when they are first used, and that each import scikit-learn.

    Tests that use this run one after the other, so that they share them.
    """


@pytest.fixture
def hears_interrupts():
    """Let Ctrl-C interrupt this process and those that the test starts.

    A shell makes commands in its background ignore it, and the tests may be one.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def array_api(monkeypatch):
    """Without this variable, scikit-learn skips one of its checks."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.fixture(scope="session")
def run():
    """Return a function that runs a model on samples and returns its outputs by name."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    return run_model


@pytest.fixture(scope="session")
def compute(run):
    """Return a function that runs a formula as a graph on an array and returns the result."""
    from polytomy.onnx_graph import Graph

    def run_formula(formula, array):
        graph = Graph()
        result = formula(graph, graph.input("X", array.dtype, ["n", *array.shape[1:]]))
        # onnx infers the shape and checks it.
        graph.output("Y", result, "float64", ["n", None])
        return run(graph.to_model("formula", {}), array)["Y"]

    return run_formula
