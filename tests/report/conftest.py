"""A page of results made by hand, as text and taken apart."""

import pytest

from pages import parse_page

# polytomy is imported in the fixtures, for this file is read before coverage starts.


@pytest.fixture(scope="session")
def html():
    from polytomy.report import report_html
    from report_cases import make_results

    return report_html(make_results())


@pytest.fixture(scope="session")
def page(html):
    return parse_page(html)
