"""What the shell offers, asked as the shell asks: through environment variables."""

import pytest

from polytomy.cli.completing import complete_datasets, complete_schemes


@pytest.fixture
def complete(polytomy, monkeypatch):
    """Return a function that completes a line in bash."""

    def run(line):
        words = line.split(" ")
        monkeypatch.setenv("_POLYTOMY_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        outcome = polytomy()
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.out.split()

    return run


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("polytomy tr", ["train", "tree", "trials"]),
        ("polytomy datasets ", ["list", "get"]),
        ("polytomy design one", ["one-vs-one", "one-vs-rest"]),
        ("polytomy train a.csv --solver lib", ["libsvm"]),
        ("polytomy train a.csv --scheme au", ["auto"]),
        ("polytomy train a.csv --scale m", ["minmax"]),
        ("polytomy train a.csv --final-calibration b", ["bias"]),
        ("polytomy train a.csv --class-w", ["--class-weight"]),
        ("polytomy search a.csv --score acc", ["accuracy"]),
        ("polytomy distances a.csv --distance cen", ["centroid"]),
        ("polytomy predict m a.csv --set-score r", ["raps"]),
        ("polytomy trials --datasets iris,wi", ["iris,wine"]),
        ("polytomy trials --solvers voting,gre", ["voting,greedy"]),
        ("polytomy datasets get pend", ["pendigits"]),
        # Nothing fits, so the shell offers files.
        ("polytomy train ir", []),
        ("polytomy train a.csv --class-order lab", []),
    ],
)
def test_names_are_completed(complete, line, offered):
    assert complete(line) == offered


def test_control_files_are_offered_as_schemes(here):
    assert complete_schemes()("land") == ["land.control"]
    assert {"tree", "land.control"} <= set(complete_schemes()(""))


def test_datasets_are_those_of_scikit_learn_and_of_the_paper():
    assert {"iris", "letter"} <= set(complete_datasets(""))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_shown(polytomy, monkeypatch, shell):
    monkeypatch.setenv("_POLYTOMY_COMPLETE", f"source_{shell}")
    outcome = polytomy()
    assert outcome.code == 0
    assert "_POLYTOMY_COMPLETE=complete_" in outcome.out.replace(" ", "").replace("\\", "")


def test_the_help_offers_to_install_completion(polytomy):
    outcome = polytomy("--help")
    assert "--install-completion" in outcome.out
    assert "--show-completion" in outcome.out
