"""The trade-off between protection and loss: a release for each level of protection, measured, to choose from."""

from shoal.trade_off.choice import Choice
from shoal.trade_off.measuring import USUAL, tradeoff
from shoal.trade_off.result import TradeOff

__all__ = ["USUAL", "Choice", "TradeOff", "tradeoff"]
