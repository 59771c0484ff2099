"""shoal publishes microdata so that no person in it can be identified.

>>> import shoal
>>> table = shoal.datasets.census(2_000, quasi_identifiers=["age", "gender"], seed=1)
>>> release = shoal.anonymize(
...     table, quasi_identifiers=["age", "gender"], sensitive="income", privacy=shoal.LDiversity(4), seed=1
... )
>>> release.certificate.achieved["l"]["frequency"] >= 4
True
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import lazy_loader

# What is public stands in `__init__.pyi`, once, for type checkers too. Nothing is imported before it is asked for:
# `import shoal` and `shoal --version` stay instant.
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _public(name)
    except AttributeError:
        for home in ("algorithms", "grouping", "models", "results"):
            if not name.startswith("_") and name in import_module(f"shoal.{home}").__all__:
                raise AttributeError(f"shoal.{name} is now shoal.{home}.{name}.") from None
        raise


# Names that need the extra `ledger` are not listed without it, so that `help(shoal)` and `from shoal import *` work.
if not all(map(find_spec, ("sqlalchemy", "cryptography"))):
    __all__ = [name for name in __all__ if name not in {"Ledger", "Series"}]

    def __dir__() -> list[str]:
        return list(__all__)
