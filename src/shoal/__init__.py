"""shoal publishes microdata so that nobody in it can be found.

>>> import shoal
>>> table = shoal.datasets.census(2_000, quasi_identifiers=["age", "gender"], seed=1)
>>> release = shoal.anonymize(
...     table, quasi_identifiers=["age", "gender"], sensitive="income", privacy=shoal.LDiversity(4), seed=1
... )
>>> release.certificate.achieved["l"]["frequency"] >= 4
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets, errors, grouping
    from shoal.algorithms import (
        Cluster,
        Exact,
        FullDomain,
        GeneralizationVectors,
        Hilbert,
        MApproximation,
        Matching,
        Mondrian,
        PatternGuided,
        PatternRule,
        Patterns,
        Sabre,
        ThreePhase,
        TopDownSpecialization,
    )
    from shoal.auditing import Audit, audit
    from shoal.certificate import Certificate, PublicCertificate
    from shoal.comparison import Comparison, compare
    from shoal.grouping import Labels, Ordered, Points, Regions
    from shoal.hierarchy import Bins, BottomCode, DatePart, Hierarchy, Level, Prefix, Round, TopCode, safe_harbor
    from shoal.inspection import Inspection, inspect
    from shoal.models import (
        AlphaKAnonymity,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        KEAnonymity,
        LDiversity,
        MUniqueness,
        PrivacyModel,
        TCloseness,
    )
    from shoal.origin import provenance
    from shoal.publish import anonymize
    from shoal.release import Release
    from shoal.republication import Ledger, Publication, Series
    from shoal.tuning import Tuning, tune

__all__ = [
    # inspecting, publishing, auditing, comparing
    "inspect",
    "anonymize",
    "audit",
    "compare",
    "provenance",
    "tune",
    "Audit",
    "Certificate",
    "Comparison",
    "Inspection",
    "PublicCertificate",
    "Release",
    "Tuning",
    # publishing again and again
    "Ledger",
    "Publication",
    "Series",
    # privacy models
    "AlphaKAnonymity",
    "BetaLikeness",
    "DeltaDisclosure",
    "KAnonymity",
    "KEAnonymity",
    "LDiversity",
    "MUniqueness",
    "PrivacyModel",
    "TCloseness",
    # algorithms
    "Cluster",
    "Exact",
    "FullDomain",
    "GeneralizationVectors",
    "Hilbert",
    "MApproximation",
    "Matching",
    "Mondrian",
    "PatternGuided",
    "PatternRule",
    "Patterns",
    "Sabre",
    "ThreePhase",
    "TopDownSpecialization",
    # coarsenings and hierarchies
    "Bins",
    "BottomCode",
    "DatePart",
    "Hierarchy",
    "Labels",
    "Level",
    "Ordered",
    "Points",
    "Prefix",
    "Regions",
    "Round",
    "TopCode",
    "safe_harbor",
    # rooms
    "datasets",
    "errors",
    "grouping",
    "__version__",
]

_HOME = {
    "anonymize": "shoal.publish",
    "audit": "shoal.auditing",
    "Audit": "shoal.auditing",
    **dict.fromkeys(("Certificate", "PublicCertificate"), "shoal.certificate"),
    "compare": "shoal.comparison",
    "inspect": "shoal.inspection",
    "Inspection": "shoal.inspection",
    "Comparison": "shoal.comparison",
    **dict.fromkeys(("Labels", "Ordered", "Points", "Regions"), "shoal.grouping"),
    **dict.fromkeys(
        ("Bins", "BottomCode", "DatePart", "Hierarchy", "Level", "Prefix", "Round", "TopCode", "safe_harbor"),
        "shoal.hierarchy",
    ),
    "provenance": "shoal.origin",
    "Release": "shoal.release",
    **dict.fromkeys(("Tuning", "tune"), "shoal.tuning"),
    **dict.fromkeys(("Ledger", "Publication", "Series"), "shoal.republication"),
    **dict.fromkeys(
        (
            "AlphaKAnonymity",
            "BetaLikeness",
            "DeltaDisclosure",
            "KAnonymity",
            "KEAnonymity",
            "LDiversity",
            "MUniqueness",
            "PrivacyModel",
            "TCloseness",
        ),
        "shoal.models",
    ),
    **dict.fromkeys(
        (
            "Cluster",
            "Exact",
            "FullDomain",
            "GeneralizationVectors",
            "Hilbert",
            "MApproximation",
            "Matching",
            "Mondrian",
            "PatternGuided",
            "PatternRule",
            "Patterns",
            "Sabre",
            "ThreePhase",
            "TopDownSpecialization",
        ),
        "shoal.algorithms",
    ),
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and only that: `import shoal` and `shoal version` stay instant."""
    if name == "__version__":
        from importlib.metadata import version

        return version("shoal")
    if name in ("datasets", "errors", "grouping"):
        return importlib.import_module(f"shoal.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'shoal' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
