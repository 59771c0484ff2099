"""Releases in the pipelines of scikit-learn: `Anonymizer`, a transformer.

It needs `pip install 'shoal-privacy[learn]'`.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from shoal.sklearn.transformer import Anonymizer

__all__ = ["Anonymizer"]

# The package is there for everybody, its names for those who have scikit-learn.
__getattr__, __dir__, _ = lazy_loader.attach(__name__, submod_attrs={"transformer": ["Anonymizer"]})
