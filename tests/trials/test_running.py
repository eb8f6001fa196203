"""Runs that are resumed, killed, out of disk space or concurrent end with the same results."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from needs import needs_posix
from polytomy.errors import ArgumentError, DataError, PolytomyWarning
from polytomy.report import report_html
from polytomy.trials import Dataset, Results, run, running, store
from polytomy.trials.running import Progress

TIMES = ("fit_seconds", "predict_seconds")
OPTIONS = {
    "schemes": ["one-vs-one", "tree"],
    "estimator": "gaussian-nb",
    "repeats": 3,
    "calibrated": False,
}


def made(seed, n_samples=60):
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 3
    return random.normal(size=(n_samples, 2)) + y[:, None], y


DATASETS = {"one": made(1), "two": made(2, 45)}

# The same run in another process, with its progress on standard output.
PROGRAM = """
    import sys, time
    import numpy as np
    from polytomy.trials import run

    def made(seed, n_samples=60):
        random = np.random.default_rng(seed)
        y = np.arange(n_samples) % 3
        return random.normal(size=(n_samples, 2)) + y[:, None], y

    def tell(progress):
        print(progress.stage, progress.dataset, progress.repeat, flush=True)
        if progress.stage == "begun":
            time.sleep(float(sys.argv[2]))

    run(
        {"one": made(1), "two": made(2, 45)}, schemes=["one-vs-one", "tree"],
        estimator="gaussian-nb", repeats=3, calibrated=False, folder=sys.argv[1], on_progress=tell,
    )
"""


def start(folder, seconds):
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(folder), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def scores(results):
    """Return everything that does not depend on the speed of the machine."""
    return [
        {name: value for name, value in row.items() if name not in TIMES} for row in results.rows()
    ]


def contents(folder):
    return {path.name: path.read_bytes() for path in (folder / "trials").glob("*.json")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the results of an uninterrupted run."""
    return run(DATASETS, **OPTIONS, folder=tmp_path_factory.mktemp("whole"))


def test_a_run_has_every_trial_and_its_tables(whole, tmp_path):
    assert len(whole.records) == 6
    assert len(whole.rows()) == 12
    assert whole.facts["one"]["counts"] == [20, 20, 20]
    assert np.shape(whole.facts["one"]["distances"]) == (3, 3)
    assert whole.facts["one"]["empirical_tree"].startswith("empirical {")
    assert whole.manifest["protocol"]["seed"] == 0
    assert "scikit-learn" in whole.manifest["versions"]
    assert whole.records[0]["versions"]["numpy"] == np.__version__


def test_a_finished_run_is_not_run_again(whole, tmp_path):
    first = run(DATASETS, **OPTIONS, folder=tmp_path)
    before = contents(tmp_path)
    stages = []
    again = run(DATASETS, **OPTIONS, folder=tmp_path, on_progress=lambda p: stages.append(p.stage))
    assert stages == ["found"]
    assert contents(tmp_path) == before
    assert again.rows() == first.rows()
    assert scores(again) == scores(whole)


def test_more_repeats_and_datasets_extend_a_folder(whole, tmp_path):
    run({"two": DATASETS["two"]}, **OPTIONS | {"repeats": 1}, folder=tmp_path)
    before = contents(tmp_path)
    grown = run(DATASETS, **OPTIONS, folder=tmp_path)
    assert contents(tmp_path).items() >= before.items()
    assert scores(grown) == scores(whole)
    # Fewer datasets and repeats return a subset; the tables still cover all trials.
    less = run({"two": DATASETS["two"]}, **OPTIONS | {"repeats": 1}, folder=tmp_path)
    assert scores(less) == [
        row for row in scores(whole) if (row["dataset"], row["repeat"]) == ("two", 0)
    ]
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 1 + 12


@needs_posix
def test_a_killed_run_continues_where_it_stopped(whole, tmp_path):
    with start(tmp_path, 0.3) as process:
        for line in process.stdout:
            if line.startswith("begun two"):
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    before = contents(tmp_path)
    assert list(before) == ["one-000.json"]
    begun = []

    def tell(progress):
        if progress.stage == "begun":
            begun.append((progress.dataset, progress.repeat))

    resumed = run(DATASETS, **OPTIONS, folder=tmp_path, on_progress=tell)
    assert len(begun) == 5
    assert ("one", 0) not in begun
    assert contents(tmp_path).items() >= before.items()
    assert scores(resumed) == scores(whole)


@needs_posix
def test_a_run_killed_while_writing_leaves_no_partial_trial(whole, tmp_path):
    program = """
        import os, signal, stat
        sync = os.fsync

        def die(descriptor):
            # The third trial is written, but has no name yet.
            is_third = os.path.exists(os.path.join(sys.argv[1], "trials", "two-000.json"))
            if is_third and stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.kill(os.getpid(), signal.SIGKILL)
            sync(descriptor)

        os.fsync = die
    """
    source = textwrap.dedent(program) + textwrap.dedent(PROGRAM)
    command = [sys.executable, "-c", f"import sys\n{source}", str(tmp_path), "0"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == -signal.SIGKILL
    before = contents(tmp_path)
    assert sorted(before) == ["one-000.json", "two-000.json"]
    assert len(list((tmp_path / "trials").iterdir())) == 3  # one is temporary
    assert scores(run(DATASETS, **OPTIONS, folder=tmp_path)) == scores(whole)
    assert contents(tmp_path).items() >= before.items()


def test_damaged_trials_are_run_again(whole, tmp_path):
    run(DATASETS, **OPTIONS, folder=tmp_path)
    before = contents(tmp_path)
    for name, n_bytes in (("one-001.json", 200), ("two-002.json", 0)):
        (tmp_path / "trials" / name).write_bytes(before[name][:n_bytes])
    begun = []

    def tell(progress):
        if progress.stage == "begun":
            begun.append((progress.dataset, progress.repeat))

    with pytest.warns(PolytomyWarning, match=r"is damaged: .*\. Running the trial again"):
        again = run(DATASETS, **OPTIONS, folder=tmp_path, on_progress=tell)
    assert begun == [("one", 1), ("two", 2)]
    assert scores(again) == scores(whole)


def test_a_full_disk_loses_only_the_trial_that_could_not_be_written(whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        writing = store.open_atomically

        def full(path):
            if path.name == "one-001.json":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return writing(path)

        patch.setattr(store, "open_atomically", full)
        with pytest.raises(OSError, match=r"No space left .*one-001\.json"):
            run(DATASETS, **OPTIONS, folder=tmp_path)
    assert sorted(contents(tmp_path)) == ["one-000.json", "two-000.json"]
    assert scores(run(DATASETS, **OPTIONS, folder=tmp_path)) == scores(whole)


def test_a_full_disk_keeps_the_old_tables_and_is_reported(tmp_path, monkeypatch):
    run(DATASETS, **OPTIONS, folder=tmp_path)
    summary = (tmp_path / "summary.csv").read_bytes()
    writing = store.open_atomically

    @contextmanager
    def full(path):
        with writing(path) as file:
            yield file
            if path.name == "summary.csv":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store, "open_atomically", full)
    with pytest.raises(OSError, match=r"No space left .*summary\.csv"):
        run(DATASETS, **OPTIONS, folder=tmp_path)
    assert (tmp_path / "summary.csv").read_bytes() == summary


def test_two_runs_in_one_folder_share_the_work(whole, tmp_path):
    processes = [start(tmp_path, 0.2) for _ in range(2)]
    told = [process.communicate(timeout=100)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    begun = [line for lines in told for line in lines if line.startswith("begun")]
    assert len(begun) == len(set(begun)) == 6
    assert scores(Results.read(tmp_path)) == scores(whole)


def test_a_trial_records_the_thread_limits(tmp_path, monkeypatch):
    for name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    results = run({"one": DATASETS["one"]}, **OPTIONS | {"repeats": 1}, folder=tmp_path)
    assert results.records[0]["threads"] == {"OMP_NUM_THREADS": "1"}


def test_results_of_a_folder_can_be_read_in_part(whole, tmp_path):
    run(DATASETS, **OPTIONS, folder=tmp_path)
    part = Results.read(tmp_path, ["two"], repeats=2)
    assert scores(part) == [
        row for row in scores(whole) if row["dataset"] == "two" and row["repeat"] < 2
    ]


def test_progress_counts_up(tmp_path):
    told: list[Progress] = []
    run(DATASETS, **OPTIONS | {"repeats": 1}, folder=tmp_path, on_progress=told.append)
    assert [(each.n_done, each.stage) for each in told] == [
        (0, "begun"),
        (0, "one-vs-one"),
        (0, "tree"),
        (1, "done"),
        (1, "begun"),
        (1, "one-vs-one"),
        (1, "tree"),
        (2, "done"),
    ]
    assert told[-1].seconds_left == 0


def test_the_time_left_is_not_estimated_from_other_datasets(tmp_path):
    told: list[Progress] = []
    options = OPTIONS | {"repeats": 2}
    run(DATASETS, **options, folder=tmp_path, on_progress=told.append)
    done = [each for each in told if each.stage == "done"]
    assert [each.seconds_left is None for each in done] == [True, False, False, False]
    took = {record["dataset"]: record["seconds"] for record in done[1].records}
    assert done[1].seconds_left == pytest.approx(took["one"] + took["two"])
    assert done[2].seconds_left == pytest.approx(took["two"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"repeats": 0}, "repeats=0 is too few. Use 1 or more."),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0 or None; got 0."),
        ({"repeats": 2.0}, "repeats=2.0 is not a whole number. Use 1 or more."),
        ({"test": 2}, "test must be between 0 and 1; got 2."),
        ({"seed": 5}, "seed was 0 and is now 5"),
        (
            {"schemes": ["tree"]},
            "were run with other settings: other pairs of schemes and solvers",
        ),
        ({"calibrated": True}, "other pairs of schemes and solvers"),
        (
            {"estimator": GaussianNB(var_smoothing=0.5)},
            "estimator on one was gaussian-nb and is now",
        ),
    ],
)
def test_invalid_or_changed_settings_are_errors_before_anything_is_run(tmp_path, options, words):
    run({"one": DATASETS["one"]}, **OPTIONS | {"repeats": 1}, folder=tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ArgumentError) as caught:
        run(DATASETS, **OPTIONS | options, folder=tmp_path)
    assert words in str(caught.value)
    assert contents(tmp_path) == before


def test_a_dataset_that_cannot_be_split_is_an_error_before_anything_is_run(tmp_path):
    small = np.eye(6), [0, 0, 1, 1, 2, 2]
    with pytest.raises(DataError, match="dataset small: no class has enough samples to hold out"):
        run(DATASETS | {"small": small}, **OPTIONS, test=0.1, folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_changed_data_is_an_error(tmp_path):
    run({"one": DATASETS["one"]}, **OPTIONS | {"repeats": 1}, folder=tmp_path)
    with pytest.raises(ArgumentError, match="Dataset one has changed since the trials"):
        run({"one": DATASETS["two"]}, **OPTIONS, folder=tmp_path)


def test_a_function_as_a_scheme_sees_only_the_training_samples(tmp_path):
    seen = []

    def own_tree(X, y):
        seen.append(len(y))
        return "tree"

    options = OPTIONS | {"schemes": [own_tree], "repeats": 1}
    results = run({"one": DATASETS["one"]}, **options, folder=tmp_path)
    assert seen == [42]  # the training samples, and no made-up data
    assert results.pairs == [("own_tree", "auto")]


CALIBRATED = [
    ("one-vs-one", "auto"),
    ("one-vs-one", "auto + calibrated"),
    ("tree", "auto"),
    ("tree", "auto + calibrated"),
]
SMALL = {"one": DATASETS["one"]}


def test_pairs_with_a_final_calibration_run_too_unless_the_paper_is_repeated(tmp_path, monkeypatch):
    options = OPTIONS | {"repeats": 1, "calibrated": None}
    told: list[Progress] = []
    results = run(SMALL, **options, folder=tmp_path / "own", on_progress=told.append)
    assert results.pairs == CALIBRATED
    stages = ["one-vs-one", "one-vs-one, calibrated", "tree", "tree, calibrated"]
    assert [each.stage for each in told] == ["begun", *stages, "done"]
    monkeypatch.setattr(running, "load_datasets", lambda *_, **__: [Dataset("one", *made(1))])
    results = run("one", **options, paper=True, folder=tmp_path / "paper")
    assert results.pairs == CALIBRATED[::2]
    results = run("one", **options | {"calibrated": True}, paper=True, folder=tmp_path / "both")
    assert results.pairs == CALIBRATED


def test_pairs_without_a_final_calibration_score_as_if_there_were_no_others(whole, tmp_path):
    both = run(DATASETS, **OPTIONS | {"calibrated": True}, folder=tmp_path)
    plain = [row for row in scores(both) if "+" not in row["method"]]
    assert len(plain) == len(whole.rows())
    assert plain == scores(whole)


def test_run_shows_the_progress_and_writes_the_report_of_the_command(tmp_path, capsys):
    told = []
    options = OPTIONS | {"repeats": 1}
    run(DATASETS, **options, folder=tmp_path, verbose=1, report=True, on_progress=told.append)
    lines = [line.split(";")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == [f"{k}/{len(DATASETS)} {name}, trial 1" for k, name in enumerate(DATASETS, 1)]
    assert told[-1].n_done == len(DATASETS)
    assert (tmp_path / "report.html").read_text() == report_html(Results.read(tmp_path))


def test_run_is_silent_and_writes_no_report_by_default(tmp_path, capsys):
    run(DATASETS, **OPTIONS | {"repeats": 1}, folder=tmp_path)
    assert capsys.readouterr() == ("", "")
    assert not (tmp_path / "report.html").exists()
