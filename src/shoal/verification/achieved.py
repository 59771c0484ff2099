"""The privacy that counted groups achieve: the figures of certificates and audits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.errors import DataError
from shoal.models.base import GroupCounts, GroupModel, PrivacyModel, TableModel
from shoal.models.diversity import LDiversity, largest_entropy_l
from shoal.models.ground_distance import EqualDistance, largest_distance
from shoal.models.rationals import STATED_DIGITS, largest_ratio, round_down, round_up
from shoal.models.release_counts import ReleaseCounts
from shoal.verification.linked_rows import Bundles


@dataclass(frozen=True, kw_only=True)
class Achieved:
    """The privacy that the groups of a table achieve, every number rounded against the publisher.

    If there are several sensitive attributes, the worst of them counts; only `t` is given for each of them. If there is
    no sensitive attribute, only `k` and `groups` are set.
    """

    k: int
    """Number of rows of the smallest group."""
    groups: int
    """Number of groups: distinct combinations of published quasi-identifiers."""
    l_frequency: float | None = None
    """Smallest ratio of a group's rows to its most frequent sensitive value."""
    l_distinct: int | None = None
    """Smallest number of distinct sensitive values in a group."""
    l_entropy: float | None = None
    """Smallest exponential of the entropy of a group's sensitive values."""
    alpha: float | None = None
    """Largest share that a sensitive value takes of a group."""
    t: dict[str, float] = field(default_factory=dict)
    """Largest distance between the distribution of a group and that of the table, for each sensitive attribute. The
    distance is half the L1 norm, which is the earth mover's distance if all values are equally far apart."""
    closeness: tuple[dict[str, Any], ...] = ()
    """Closeness under every other requested distance, in the order of the models: the description of the distance in
    certificates, with a `t` of its own."""
    without_harmless: tuple[dict[str, Any], ...] = ()
    """For each request with harmless values: these `values`, and the `l` of the others by frequency."""
    models: tuple[TableModel, ...] = ()
    """The requested models of the whole release; the quantities that they bound are measured as well."""
    release: ReleaseCounts = field(default_factory=lambda: ReleaseCounts(sizes={}), repr=False)
    """The groups in the form that models of the whole release take."""
    bundles: Bundles | None = None
    """The bundles of persons of linked rows, or the groups of rows with lists of values."""
    sets: dict[str, Any] | None = None
    """The figures of sets of quasi-identifiers, each by itself, if any were requested."""

    def to_dict(self) -> dict[str, Any]:
        """Convert the measurements to the "achieved" entry of a certificate."""
        bundles = self.bundles
        further = {} if bundles is None else {"linked" if bundles.of == "persons" else "lists": bundles.to_dict()}
        further |= {} if self.sets is None else {"sets": self.sets}
        if self.l_frequency is None:
            return {"k": self.k, "groups": self.groups, **self._of_release(), **further}
        return {
            "k": self.k,
            "l": {"frequency": self.l_frequency, "distinct": self.l_distinct, "entropy": self.l_entropy},
            "t": dict(self.t),
            **({"closeness": _different(self.closeness)} if self.closeness else {}),
            **({"without_harmless": _different(self.without_harmless)} if self.without_harmless else {}),
            "alpha": self.alpha,
            "groups": self.groups,
            **self._of_release(),
            **further,
        }

    def _of_release(self) -> dict[str, Any]:
        return {name: value for model in self.models for name, value in model.measure(self.release).items()}


def _different(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove duplicate entries: several models may share one distance."""
    found: list[dict[str, Any]] = []
    for entry in entries:
        found += [] if entry in found else [dict(entry)]
    return found


def measure(
    counts: Sequence[GroupCounts], sensitive: Sequence[str], models: Sequence[PrivacyModel], release: ReleaseCounts
) -> Achieved:
    """Measure the privacy of counted groups, compared with the whole table that they belong to.

    Parameters
    ----------
    counts : sequence of GroupCounts
        One per sensitive attribute, or a single one if there is none: all groups of a table, or some of them.
    sensitive : sequence of str
        Names of the sensitive attributes.
    models : sequence of PrivacyModel
        Models with their own distance, or models of the whole release: the quantities that they bound are measured.
    release : ReleaseCounts
        The groups in the form that models of the whole release take.

    Raises
    ------
    DataError
        If there is no group.
    """
    sizes = counts[0].sizes
    if not len(sizes):
        raise DataError("The table has no row: there is nothing to measure.")
    parts = [part for model in models for part in model.parts]
    found = Achieved(
        k=int(sizes.min()),
        groups=len(sizes),
        models=tuple(one for one in parts if isinstance(one, TableModel)),
        release=release,
    )
    # Without a sensitive attribute only the groups themselves are measured.
    if not sensitive:
        return found
    return replace(
        found,
        **measure_values(counts),
        t={
            name: round_up(largest_distance(groups_of, EqualDistance()), STATED_DIGITS)
            for name, groups_of in zip(sensitive, counts, strict=True)
        },
        closeness=_by_distance(counts, sensitive, [one for one in parts if isinstance(one, GroupModel)]),
        without_harmless=tuple(
            {"values": list(model.harmless), "l": round_down(min(map(model.measure_l, counts)), STATED_DIGITS)}
            for model in models
            if isinstance(model, LDiversity) and model.harmless
        ),
    )


def measure_values(counts: Sequence[GroupCounts]) -> dict[str, Any]:
    """Measure the diversity of the values of groups, the worst of all attributes, rounded against the publisher."""
    alpha = max(largest_ratio(groups_of.heights, groups_of.sizes) for groups_of in counts)
    return {
        "l_frequency": round_down(1 / alpha, STATED_DIGITS),
        "l_distinct": min(int(groups_of.distinct.min()) for groups_of in counts),
        "l_entropy": min(largest_entropy_l(groups_of, STATED_DIGITS) for groups_of in counts),
        "alpha": round_up(alpha, STATED_DIGITS),
    }


def _by_distance(
    counts: Sequence[GroupCounts], sensitive: Sequence[str], models: Sequence[GroupModel]
) -> tuple[dict[str, Any], ...]:
    """Measure every sensitive attribute under the distance of each model."""
    found: list[dict[str, Any]] = []
    for model in models:
        measured = [model.measure_distance(groups_of) for groups_of in counts]
        stated = {name: one for name, one in zip(sensitive, measured, strict=True) if one is not None}
        # The description of a distance is the same for all attributes.
        for described, _ in list(stated.values())[:1]:
            found.append(
                {**described, "t": {name: round_up(largest, STATED_DIGITS) for name, (_, largest) in stated.items()}}
            )
    return tuple(found)
