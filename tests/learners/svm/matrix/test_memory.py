import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import SVC

import shared_kernel_cases
from polytomy.errors import ArgumentError
from polytomy.learners.svm.matrix import (
    bytes_of_matrix,
    bytes_of_rows,
    bytes_of_thread,
    check_budget,
    default_memory_budget,
    size_in_words,
)
from shared_kernel_cases import clouds, pair, rest, share, train_shared


def need(X, n_rows, n_runs):
    """Bytes that problems of this many rows take with one thread."""
    return bytes_of_matrix(n_rows) + bytes_of_rows(X, n_rows) + bytes_of_thread(n_rows, n_runs)


class TestMemory:
    def test_the_default_is_a_quarter_of_the_machines_memory(self):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert default_memory_budget([]) == memory // 4

    def test_the_default_is_a_quarter_of_the_containers_limit(self, tmp_path):
        free, limit = tmp_path / "free", tmp_path / "limit"
        free.write_text("max\n")
        limit.write_text("1000000\n")
        assert default_memory_budget([free, tmp_path / "none", limit]) == 250_000
        assert default_memory_budget([free]) == default_memory_budget([])

    def test_sparse_rows_count_with_their_mean_size(self):
        X = scipy.sparse.random_array((50, 200), density=0.1, format="csr", rng=0)
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        assert bytes_of_rows(X, 25) == 3 * size // 2
        assert bytes_of_rows(X.toarray(), 25) == 3 * 25 * 200 * 8

    @pytest.mark.parametrize(
        "svcs",
        [
            [SVC()] * 3,
            [SVC(kernel="poly")] * 3,
            [SVC(C=100)] * 3,
        ],
    )
    def test_rows_of_a_matrix_that_does_not_fit_are_computed_when_they_are_needed(self, svcs):
        X, codes = clouds(900, spread=2.5)
        problems = [rest(codes, 1), pair(codes, 0, 2), rest(codes, 2)]
        options = {"seeds": [1, 2, 3], "n_jobs": 1}
        needed = need(X, 900, n_runs=6)
        whole = train_shared(svcs, X, problems, memory_budget=needed, **options)
        row = bytes_of_matrix(900) // 900
        for n_kept in 899, 500:
            budget = needed - (900 - n_kept) * row
            training = train_shared(svcs, X, problems, memory_budget=budget, **options)
            assert training.notes == [
                "3 binaries are trained on one matrix of 900 rows, with up to "
                f"{n_kept} kept at a time."
            ]
            for one, other in zip(training.binaries, whole.binaries, strict=True):
                # The order of additions in a kernel value may differ, so that steps may.
                np.testing.assert_allclose(one.scores(X), other.scores(X), rtol=0, atol=1e-3)

    def test_a_budget_for_too_few_rows_is_refused(self):
        X, codes = clouds(900)
        problems = [rest(codes, 1), rest(codes, 2)]
        for_all = need(X, 900, n_runs=1)
        needed = for_all - bytes_of_matrix(900) + 500 * 4 * 900
        options = {"calibration": None}
        training = train_shared([SVC()] * 2, X, problems, memory_budget=needed, **options)
        assert all(training.binaries)
        training = train_shared([SVC()] * 2, X, problems, memory_budget=needed - 1, **options)
        assert training.binaries == [None, None]
        whole, given = size_in_words(for_all), size_in_words(needed)
        assert training.notes == [
            "The kernel matrix of all problems is too large; each problem has its own.",
            f"2 binaries are trained one by one: training on a matrix of 900 rows takes "
            f"{whole}, more than memory_budget, {given}.",
        ]

    def test_sparse_samples_need_the_whole_matrix(self):
        X, codes = clouds(600)
        X = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
        problems = [rest(codes, 1), rest(codes, 2)]
        budget = need(X, 600, n_runs=1) - 1
        training = train_shared([SVC()] * 2, X, problems, memory_budget=budget, calibration=None)
        assert training.binaries == [None, None]

    def test_each_problem_has_its_own_matrix_if_one_of_all_does_not_fit(self):
        X, codes = clouds(600)
        svc = SVC(gamma=0.1)
        problems = [pair(codes, 0, 1), rest(codes, 2), pair(codes, 1, 2)]
        options = {"seeds": [1, 2, 3], "n_jobs": 1}
        training = train_shared(
            [svc] * 3,
            X,
            problems,
            memory_budget=need(X, 400, 6),
            **options,
        )
        together = share(svc, X, problems, **options)
        assert training.binaries[1] is None
        for k in 0, 2:
            np.testing.assert_array_equal(training.binaries[k].scores(X), together[k].scores(X))
        assert training.notes[1].startswith(
            "1 binary is trained alone: training on a matrix of 600 rows"
        )

    def test_rows_that_no_problem_needs_take_no_memory(self):
        X, codes = clouds(600)
        training = train_shared(
            [SVC()],
            X,
            [pair(codes, 0, 1)],
            memory_budget=need(X, 400, n_runs=1),
            calibration=None,
        )
        assert training.notes == ["1 binary is trained on one matrix of 400 rows, 640 kB."]

    @pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for the peak")
    @pytest.mark.parametrize(
        ("gammas", "too_little"), [([0.05] * 3, 1.6e7), ([0.04, 0.05, 0.06], 1.6e7)]
    )
    def test_the_peak_of_memory_is_within_the_budget(self, gammas, too_little):
        """The peak of a separate process, above that of a small fit, is what was predicted."""
        program = f"""
from pathlib import Path
import numpy as np
from sklearn.svm import SVC
from polytomy.learners.problems import BinaryProblem
import shared_kernel_cases
from shared_kernel_cases import train_shared

def train(n, budget=None):
    X = np.random.default_rng(0).normal(size=(n, 20))
    halves = [BinaryProblem(str(k), np.arange(n), X[:, k] > 0) for k in range(3)]
    svcs = [SVC(gamma=gamma) for gamma in {gammas}]
    training = train_shared(svcs, X, halves, memory_budget=budget, n_jobs=2)
    assert all(training.binaries) or budget is not None
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])

train(300)  # what is compiled
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = train(300)
print(before, train(2500), train(3750, {too_little}))
"""
        answer = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(shared_kernel_cases.__file__).parent)},
        )
        before, large, refused = map(int, answer.stdout.split())
        X = np.empty((2500, 20))
        bound = need(X, 2500, 6) + bytes_of_thread(2500, n_runs=6)
        assert bytes_of_matrix(2500) < large - before < bound
        # Nothing larger was even tried.
        assert refused - large < 1e6  # a few pages; the matrix would take 56 MB

    @pytest.mark.parametrize("budget", ["2 GB", -1, float("nan"), True])
    def test_an_invalid_budget_is_refused(self, budget):
        with pytest.raises(
            ArgumentError,
            match=r"^memory_budget must be a non-negative number of bytes or None; got ",
        ):
            check_budget(budget)
