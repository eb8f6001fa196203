"""The report of trials: one self-contained HTML page of tables and figures."""

from polytomy.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
