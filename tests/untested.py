"""A plugin of pytest: the last lines of a run say what was not tested, and what that would need.

They come after everything else, the report of coverage included, with one process or several.
"""

from __future__ import annotations

import pytest

from needs import describe_untested

__all__ = ["pytest_unconfigure"]


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Print what was skipped, once the run is over."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:  # one of several processes; the first one has all reports
        return
    # A skipped report has the place and the reason.
    reports = terminal.stats.get("skipped", [])
    lines = describe_untested([(report.nodeid, report.longrepr[2]) for report in reports])
    if lines:
        terminal.write_line("Not tested:", yellow=True)
        for line in lines:
            terminal.write_line(f"  {line}")
