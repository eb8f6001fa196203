"""The extension that links public names and indexes parameters."""

import importlib.util
from pathlib import Path

import pytest

import polytomy as pt
from needs import needs_site_packages

pytestmark = needs_site_packages

NAMES = {
    "polytomy.PolytomyClassifier",
    "polytomy.save",
    "polytomy.metrics.log_loss",
    "polytomy.plots.TreeDisplay",
}


@pytest.fixture(scope="module")
def extension():
    path = Path(__file__).parents[2] / "docs" / "_extensions" / "public_names.py"
    spec = importlib.util.spec_from_file_location("public_names", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("PolytomyClassifier", "polytomy.PolytomyClassifier"),
        ("TreeDisplay", "polytomy.plots.TreeDisplay"),
        ("pt.save", "polytomy.save"),
        ('pt.save(model, "a.polytomy")', "polytomy.save"),
        ("metrics.log_loss", "polytomy.metrics.log_loss"),
        ("polytomy.metrics.log_loss", "polytomy.metrics.log_loss"),
        ("LogisticRegression", None),
        ("save", None),  # a word, which may mean anything
        ("model.save", None),
    ],
)
def test_code_that_names_something_public_has_a_target(extension, text, target):
    assert extension.find_target(text, NAMES) == target


def test_a_name_of_two_things_has_no_target(extension):
    assert extension.find_target("TreeDisplay", {*NAMES, "polytomy.other.TreeDisplay"}) is None


def test_every_parameter_of_an_estimator_is_indexed(extension):
    lines = extension.index_parameters(
        "class", "polytomy.PolytomyClassifier", pt.PolytomyClassifier
    )
    text = "\n".join(lines)
    for parameter in pt.PolytomyClassifier().get_params(deep=False):
        assert f"single: {parameter}; parameter of PolytomyClassifier" in text


def test_other_classes_and_functions_are_not_indexed(extension):
    assert extension.index_parameters("class", "polytomy.Scheme", pt.Scheme) == []
    assert extension.index_parameters("function", "polytomy.save", pt.save) == []
