"""The privacy models in one table: a model is asked for by its leading parameter, the first that it declares."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from shoal.models.anonymity import AlphaKAnonymity, KAnonymity, KEAnonymity, MUniqueness
from shoal.models.average_risk import AverageRisk
from shoal.models.closeness import TCloseness
from shoal.models.disclosure import BetaLikeness, DeltaDisclosure
from shoal.models.diversity import LDiversity
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.uniqueness import PopulationUniqueness, SampleUniqueness

if TYPE_CHECKING:
    from shoal.models.base import PrivacyModel

__all__ = ["MODELS"]

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
        )
    }
)
"""Every privacy model by the field's name of it, in the order of help pages. What each takes, and the flags of the
command line for it, is declared with its fields; see `shoal._core.validation.parameters_of`."""
