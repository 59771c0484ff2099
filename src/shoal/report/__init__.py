"""The pages of a release, one for readers and one for the publisher: facts, plain sentences, one HTML file each."""

from shoal.report.facts import AttributeLoss, PublicFacts, ReportFacts, SizeBin, TradeOffFacts, public_facts, size_bins
from shoal.report.inspection_page import render_inspection
from shoal.report.page import render, render_public, render_publication, render_risk, write_report
from shoal.report.sentences import achieved_for, gap_sentence, model_title, promise, reservations
from shoal.report.trade_off_page import render_trade_off

__all__ = [
    "AttributeLoss",
    "PublicFacts",
    "ReportFacts",
    "SizeBin",
    "TradeOffFacts",
    "achieved_for",
    "gap_sentence",
    "model_title",
    "promise",
    "public_facts",
    "render",
    "render_inspection",
    "render_public",
    "render_publication",
    "render_risk",
    "render_trade_off",
    "reservations",
    "size_bins",
    "write_report",
]
