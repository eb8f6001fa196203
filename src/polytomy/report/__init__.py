"""The report of trials: one page of tables and pictures that needs nothing but a browser."""

from polytomy.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
