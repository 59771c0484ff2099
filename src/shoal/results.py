"""Classes of what the verbs return: for annotations and `isinstance`."""

from __future__ import annotations

from importlib.util import find_spec

import lazy_loader

# Results of a series need the extra `ledger`, and are listed with it only.
_RESULTS = {
    "release.certificate": ["Certificate", "PublicCertificate"],
    "release.plan": ["ReleasePlan"],
    "verbs.audit": ["Audit"],
    "verbs.explore": ["Exploration"],
    "verbs.inspect": ["Inspection"],
    "verbs.risk_result": ["Risk"],
    **({"republication": ["Publication"]} if all(map(find_spec, ("sqlalchemy", "cryptography"))) else {}),
}
__getattr__, __dir__, __all__ = lazy_loader.attach("shoal", submod_attrs=_RESULTS)
