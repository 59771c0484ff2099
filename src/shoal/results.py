"""Classes of what the verbs return: for annotations and `isinstance`."""

from importlib.util import find_spec

import lazy_loader

# Each name stands in `results.pyi`, once, for type checkers too.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub("shoal", __file__)

# Results of a series need the extra `ledger`, and are listed with it only.
if not all(map(find_spec, ("sqlalchemy", "cryptography"))):
    __all__ = [name for name in __all__ if name != "Publication"]

    def __dir__() -> list[str]:
        return list(__all__)
