"""Releases in pipelines of scikit-learn: the transformer `Anonymizer`.

Requires `pip install 'shoal-privacy[learn]'`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from shoal.sklearn.transformer import Anonymizer

__all__ = ["Anonymizer"]

# The package can always be imported; its names require scikit-learn.
__getattr__, __dir__, _ = lazy_loader.attach(__name__, submod_attrs={"transformer": ["Anonymizer"]})

# Without it they are not listed, so that `help(shoal.sklearn)` and `from shoal.sklearn import *` work.
if find_spec("sklearn") is None:
    __all__ = []

    def __dir__() -> list[str]:
        return list(__all__)
