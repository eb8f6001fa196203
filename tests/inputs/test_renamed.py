"""Old names still work and warn, and point to the line that uses them."""

import pytest

from polytomy.inputs.renamed import find_renamed, renamed_arguments


@renamed_arguments(name="design", base="name")
def make(design, classes=None, *, name="default"):
    return design, classes, name


def test_new_names_are_passed_on_without_a_warning(recwarn):
    assert make("tree", 3, name="land") == make(design="tree", classes=3, name="land")
    assert make("tree", 3, name="land") == ("tree", 3, "land")
    assert len(recwarn) == 0


def test_an_old_name_works_and_warns_of_the_new_one():
    with pytest.warns(
        DeprecationWarning, match=r"make\(base=\.\.\.\) .* Use name=\.\.\. instead"
    ) as found:
        assert make("tree", base="land") == ("tree", None, "land")
    assert found[0].filename == __file__


def test_a_name_that_changed_its_meaning_keeps_the_old_one_where_the_new_is_missing():
    with pytest.warns(DeprecationWarning, match=r"Use design=\.\.\. instead"):
        assert make(name="tree", classes=3) == ("tree", 3, "default")
    with pytest.warns(DeprecationWarning, match="is deprecated") as found:
        assert make(name="tree", base="land") == ("tree", None, "land")
    assert len(found) == 2


def test_the_old_and_the_new_name_cannot_both_be_given():
    with pytest.raises(TypeError, match=r"make\(base=\.\.\.\) is the old name of name, which is"):
        make("tree", base="land", name="sea")


def test_a_renamed_attribute_is_found_under_its_old_name():
    with pytest.warns(DeprecationWarning, match=r"shapes\.Old is deprecated\. Use shapes\.int"):
        assert find_renamed("shapes", "Old", {"Old": int}) is int


def test_an_attribute_that_never_existed_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'shapes' has no attribute 'Older'"):
        find_renamed("shapes", "Older", {"Old": int})
