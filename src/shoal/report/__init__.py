"""The page that goes with a release: facts as dataclasses, plain sentences, one self-contained HTML file."""

from shoal.report.facts import AttributeLoss, ReportFacts, SizeBin, TradeOff, size_bins
from shoal.report.page import render, render_publication, write_report
from shoal.report.sentences import achieved_for, gap_sentence, model_title, promise, reservations

__all__ = [
    "AttributeLoss",
    "ReportFacts",
    "SizeBin",
    "TradeOff",
    "achieved_for",
    "gap_sentence",
    "model_title",
    "promise",
    "render",
    "render_publication",
    "reservations",
    "size_bins",
    "write_report",
]
