"""The pages of a release, one for readers and one for the publisher: facts, plain sentences, one HTML file each."""

from shoal.report.about import DECISIONS, About
from shoal.report.again import attack_result, render_again
from shoal.report.attack_sentences import describe_attack
from shoal.report.distributions import Distribution, distributions, find_unchanged_groups
from shoal.report.facts import (
    AnalystMeasure,
    AttributeConfidence,
    AttributeLoss,
    PublicFacts,
    ReportFacts,
    SizeBin,
    TradeOffFacts,
    facts_in,
    public_facts,
    size_bins,
    size_shares,
)
from shoal.report.page import (
    list_column_rates,
    render,
    render_attack,
    render_audit,
    render_inspection,
    render_public,
    render_publication,
    render_risk,
    render_trade_off,
    risk_rows,
    size_rows,
    write_report,
)
from shoal.report.remarks import describe_audit, gap_sentence
from shoal.report.review import collect_review
from shoal.report.sentences import achieved_for, model_title, promise, protections, reservations

__all__ = [
    "DECISIONS",
    "About",
    "AnalystMeasure",
    "AttributeLoss",
    "Distribution",
    "PublicFacts",
    "ReportFacts",
    "SizeBin",
    "AttributeConfidence",
    "TradeOffFacts",
    "achieved_for",
    "attack_result",
    "collect_review",
    "describe_attack",
    "describe_audit",
    "distributions",
    "facts_in",
    "find_unchanged_groups",
    "gap_sentence",
    "list_column_rates",
    "model_title",
    "promise",
    "protections",
    "public_facts",
    "render",
    "render_again",
    "render_attack",
    "render_audit",
    "render_inspection",
    "render_public",
    "render_publication",
    "render_risk",
    "render_trade_off",
    "reservations",
    "risk_rows",
    "size_bins",
    "size_rows",
    "size_shares",
    "write_report",
]
