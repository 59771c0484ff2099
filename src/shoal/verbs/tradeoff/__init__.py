"""The trade-off between protection and loss: a release for each level of protection, measured, to choose from."""

from shoal.verbs.tradeoff.measuring import USUAL, tradeoff
from shoal.verbs.tradeoff.trade_off import TradeOff

__all__ = ["USUAL", "TradeOff", "tradeoff"]
