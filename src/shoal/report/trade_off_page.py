"""The page of a trade-off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.report.templating import template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.report.facts import TradeOffFacts

__all__ = ["render_trade_off"]


def render_trade_off(facts: Mapping[str, Any], told: TradeOffFacts) -> str:
    """Render a trade-off as one HTML page.

    Parameters
    ----------
    facts : mapping
        `TradeOff.to_dict()`. It holds no cell of the input, so the page shows none.
    told : TradeOffFacts
        Its sentences, its table and its figure.
    """
    able = [choice for choice in facts["choices"] if choice["error"] is None]
    return template("trade_off.html.j2").render(
        title="Protection and loss",
        facts=facts,
        told=told,
        able=able,
        failed=[choice for choice in facts["choices"] if choice["error"] is not None],
        columns=facts["quasi_identifiers"],
    )
