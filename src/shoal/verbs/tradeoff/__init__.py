"""Trade-off between protection and loss: one measured release per level of protection, to choose from."""

from shoal.verbs.tradeoff.measuring import USUAL, tradeoff
from shoal.verbs.tradeoff.trade_off import TradeOff

__all__ = ["USUAL", "TradeOff", "tradeoff"]
