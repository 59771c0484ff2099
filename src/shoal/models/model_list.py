"""The table of privacy models. The leading parameter of a model, which it declares first, is required."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shoal.models.anonymity import AlphaKAnonymity, KAnonymity, KEAnonymity, MUniqueness
from shoal.models.average_risk import AverageRisk
from shoal.models.base import PrivacyModel
from shoal.models.closeness import TCloseness
from shoal.models.differential_privacy import DifferentialPrivacy
from shoal.models.disclosure import BetaLikeness, DeltaDisclosure
from shoal.models.diversity import LDiversity
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.uniqueness import PopulationUniqueness, SampleUniqueness

MODELS: Mapping[str, type[PrivacyModel]] = MappingProxyType(
    {
        model.name: model
        for model in (
            KAnonymity,
            LDiversity,
            AlphaKAnonymity,
            KEAnonymity,
            BetaLikeness,
            DeltaDisclosure,
            TCloseness,
            MUniqueness,
            AverageRisk,
            SampleUniqueness,
            PopulationUniqueness,
            KMap,
            DeltaPresence,
            DifferentialPrivacy,
        )
    }
)
"""All privacy models by name, in the order of the help pages. Parameters and command-line flags are declared with the
fields of each model; see `shoal._core.validation.parameters_of`."""
