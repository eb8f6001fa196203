"""Reports, each one self-contained HTML page: of trials, and of one model on some samples."""

from polytomy.report.model_report import ModelReport
from polytomy.report.page import report_html, write_report

__all__ = ["ModelReport", "report_html", "write_report"]
