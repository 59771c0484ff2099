"""The group `shoal attack` with all its commands."""

from __future__ import annotations

from shoal.cli.attack import attack
from shoal.cli.attack_groups import background, homogeneity, inference, similarity, skewness
from shoal.cli.attack_people import linking, minimality
from shoal.cli.attack_public import refinement, singling_out
from shoal.cli.attack_release import attacks_release

__all__ = ["attack"]

for one in (linking, homogeneity, background, skewness, similarity, inference, minimality, refinement, singling_out):
    attack.add(attacks_release(one))

attack.aliases["downcoding"] = "refinement"
