"""A page of made-up results, as text and parsed."""

import pytest

from report.pages import parse_page

# polytomy is imported in the fixtures, because this file is read before coverage starts.


@pytest.fixture(scope="session")
def html():
    from polytomy.report import report_html
    from report.cases import make_results

    return report_html(make_results())


@pytest.fixture(scope="session")
def page(html):
    return parse_page(html)
