"""Releases in pipelines of scikit-learn: the transformer `Anonymizer`.

Requires `pip install 'shoal-privacy[learn]'`.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from shoal.sklearn.transformer import Anonymizer

__all__ = ["Anonymizer"]

# The package can always be imported; its names require scikit-learn.
__getattr__, __dir__, _ = lazy_loader.attach(__name__, submod_attrs={"transformer": ["Anonymizer"]})
