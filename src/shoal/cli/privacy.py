"""The models that the parameters of a request ask for: what each takes is declared with its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from shoal._core.validation import parameters_of
from shoal.cli.declared import Declared, of_parameter
from shoal.cli.options import PRIVACY_PANEL
from shoal.errors import UsageError, did_you_mean
from shoal.models import MODELS, OrderedDistance, TCloseness

if TYPE_CHECKING:
    from shoal._core.validation import Parameter
    from shoal.models import GroundDistance, PrivacyModel

__all__ = ["Privacy", "ground_distance", "key_of"]

Number = int | float | str
"""A number, or a text that is one ("1/3")."""


def key_of(declared: Parameter) -> str:
    """Return the key of a parameter in a spec file: its flag without the dashes; empty where it has none."""
    return (declared.flag or "").lstrip("-").replace("-", "_")


PRIVACY: Mapping[str, Parameter] = MappingProxyType(
    {
        key_of(declared): declared
        for model in (*MODELS.values(), OrderedDistance)
        for declared in parameters_of(model).values()
        if declared.flag is not None
    }
)
"""The parameters of all models that the command line and spec files take, by their keys."""


def _declared(one: Parameter) -> Declared:
    return of_parameter(one, one.help, PRIVACY_PANEL)


class _Models(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of the requested models; a model is requested by those that it needs."""

    def models(self) -> list[PrivacyModel]:
        """Return the requested models: those whose parameters were given, unless they are part of another one's.

        Raises
        ------
        UsageError
            Where a parameter lacks one that it belongs to, or a model refuses its parameters.
        """
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        wanted = [model for model in MODELS.values() if (needed := _needed(model)) and needed <= set(given)]
        used = {model: set(_keys(model)) & set(given) for model in wanted}
        chosen = [model for model in wanted if not any(used[model] < used[other] for other in wanted)]
        _check_company(given, chosen)
        made = []
        for model in chosen:
            declared = {key: one for key, one in _keys(model).items() if key in given}
            values = {name: parameters_of(model)[name].value_of(given[key]) for key, name in declared.items()}
            if model is TCloseness:
                values["distance"] = ground_distance(given.get("t_distance", "equal"), given.get("t_order"))
            made.append(model(**values))
        return made


if TYPE_CHECKING:

    class Privacy(_Models, frozen=True):
        """The parameters of the requested models, a field for each of `PRIVACY`."""

        def __init__(self, **parameters: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

else:
    Privacy = msgspec.defstruct(
        "Privacy",
        [
            (key, Annotated[(tuple[str, ...] if one.many else Number) | None, _declared(one)], None)
            for key, one in PRIVACY.items()
        ],
        bases=(_Models,),
        module=__name__,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _keys(model: type[PrivacyModel]) -> dict[str, str]:
    """Return the parameters of a model by their keys."""
    return {key_of(one): name for name, one in parameters_of(model).items() if one.flag is not None}


def _needed(model: type[PrivacyModel]) -> set[str]:
    """Return the keys of the parameters that a model needs; none where one of these has no flag."""
    declared = parameters_of(model)
    needed = [declared[one.name] for one in fields(model) if one.default is MISSING and one.name in declared]
    return {key_of(one) for one in needed} if all(one.flag is not None for one in needed) else set()


def _check_company(given: Mapping[str, Any], chosen: Sequence[type[PrivacyModel]]) -> None:
    """Check that each parameter belongs to a model that is asked for."""
    if "t_order" in given and "t_distance" not in given:
        raise UsageError("--t-order needs --t-distance: give both.")
    used = {key for model in chosen for key in _keys(model)} | {"t_order"}
    for key in given:
        if key not in used:
            model = next(model for model in MODELS.values() if key in _keys(model))
            absent = [str(PRIVACY[other].flag) for other in _needed(model) - set(given)]
            raise UsageError(f"{PRIVACY[key].flag} needs {' and '.join(absent)}: give both.")


def ground_distance(named: str, order: Sequence[str] | None) -> GroundDistance:
    """Return the ground distance that --t-distance names.

    Raises
    ------
    UsageError
        Where it names none.
    """
    from shoal.hierarchy import Hierarchy
    from shoal.models import EqualDistance, HierarchicalDistance, MetricDistance

    kind, colon, path = named.partition(":")
    if order is not None and named != "ordered":
        raise UsageError("--t-order is for --t-distance ordered. Leave it out, or name that distance.")
    if named == "equal":
        return EqualDistance()
    if named == "ordered":
        return OrderedDistance() if order is None else OrderedDistance(order)
    if kind == "file" and path:
        return MetricDistance.from_csv(path)
    if kind == "hierarchy" and path:
        return HierarchicalDistance(Hierarchy.from_csv(path))
    raise UsageError(
        "--t-distance must be equal, ordered, file:METRIC.csv or hierarchy:TREE.csv. "
        f"Got '{kind}{colon}{path}'. {did_you_mean(kind, ('equal', 'ordered', 'file', 'hierarchy'))}".rstrip()
    )
