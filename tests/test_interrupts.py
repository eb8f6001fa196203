"""Ctrl-C at any moment ends training and prediction, and leaves everything as it was."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from needs import needs_posix

pytestmark = needs_posix

PROGRAM = """
    import os, signal, threading, time, warnings
    import numpy as np
    from sklearn.svm import SVC
    import polytomy as pt
    from polytomy.errors import PolytomyWarning
    from polytomy.routines.dispatch import prefers_compiled

    warnings.simplefilter("error", PolytomyWarning)
    rng = np.random.default_rng(14)
    # Labels without any pattern make training long: to the end, each fit would take minutes.
    X, y = rng.normal(size=(4000, 20)), rng.integers(0, 3, 4000)

    def new(C=1.0, **parameters):
        return pt.PolytomyClassifier(SVC(C=C), scheme="one-vs-rest", random_state=0, **parameters)

    def fit_small():
        return new().fit(X[:300], y[:300])

    fitted = fit_small()
    expected = fitted.predict_proba(X)
    scheme = pt.designs.one_vs_rest(20)
    answers = np.tanh(rng.normal(size=(5000, 20)))
    pt.solve(scheme, answers[:2000], method="divergence")

    def for_ever(work):
        while True:
            work()

    tasks = [
        lambda: fitted.set_params(estimator__C=1e6).fit(X, y),
        lambda: fitted.set_params(estimator__C=1e6, n_jobs=2).fit(X, y),
        lambda: for_ever(fit_small),
        lambda: for_ever(lambda: fitted.predict_proba(X)),
        lambda: for_ever(lambda: pt.solve(scheme, answers, method="divergence")),
    ]
    for number in range(15):
        fitted.set_params(estimator__C=1.0, n_jobs=None)
        delay = rng.uniform(0.0, 0.3)
        timer = threading.Timer(delay, os.kill, [os.getpid(), signal.SIGINT])
        try:
            timer.start()
            tasks[number % len(tasks)]()
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted")
        timer.join()
        assert np.array_equal(fitted.predict_proba(X), expected)
    assert np.array_equal(fit_small().predict_proba(X), expected)
    print("compiled" if prefers_compiled() else "reference")
"""


@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_at_any_moment_is_heard_and_changes_nothing():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        # Far more than is needed: only if an interrupt is lost does it take longer.
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n") == ["interrupted"] * 15 + ["compiled", ""]
