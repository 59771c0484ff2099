"""The privacy models requested by options and spec files; each parameter is declared with its class."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from decimal import Decimal
from numbers import Rational
from typing import Any

from shoal._core.validation import Parameter, parameters_of
from shoal.errors import UsageError, did_you_mean
from shoal.models import PrivacyModel, TCloseness
from shoal.models.ground_distance import GroundDistance, OrderedDistance
from shoal.models.model_list import MODELS
from shoal.models.population_table import PopulationTable


def key_of(declared: Parameter) -> str:
    """Return the spec key of a parameter: its flag without the dashes; empty if it has none."""
    return (declared.flag or "").lstrip("-").replace("-", "_")


MODEL_WORDS: Mapping[str, Parameter] = {
    key_of(declared): declared
    for model in (*MODELS.values(), OrderedDistance)
    for declared in parameters_of(model).values()
    if declared.flag is not None
}
"""The parameters of all models that have an option, by spec key."""


MODEL_OPTIONS = ("k", "l", "t", "population")
"""The parameters of models with an option of their own."""
_MODEL = "--model"
"""The option for all others."""


def model_flag(key: str) -> str:
    """Return the option of a parameter of a model."""
    return str(MODEL_WORDS[key].flag) if key in MODEL_OPTIONS else f"{_MODEL} {key}"


def models_of(words: Mapping[str, Any]) -> list[PrivacyModel]:
    """Build the requested models: those with given parameters, unless another model includes these parameters.

    Parameters
    ----------
    words : mapping of str to object
        Parameters by the keys of `MODEL_WORDS`.

    Raises
    ------
    UsageError
        If a parameter lacks its companion, or a model rejects its parameters.
    """
    given = {key: words[key] for key in MODEL_WORDS if words.get(key) is not None}
    # A model is requested if all its required parameters are given; the most specific model wins.
    wanted = [model for model in MODELS.values() if (needed := _needed(model)) and needed <= set(given)]
    used = {model: set(_keys(model)) & set(given) for model in wanted}
    chosen = [model for model in wanted if not any(used[model] < used[other] for other in wanted)]
    _check_company(given, chosen)
    # Build each model from its own parameters only.
    made = []
    for model in chosen:
        declared = {key: one for key, one in _keys(model).items() if key in given}
        values = {name: parameters_of(model)[name].value_of(given[key]) for key, name in declared.items()}
        if model is TCloseness and "t_distance" in given:
            values["distance"] = ground_distance(given["t_distance"], given.get("t_order"))
        made.append(model(**values))
    return made


def words_of_models(models: Sequence[PrivacyModel]) -> dict[str, Any]:
    """Return the words of models, the inverse of `models_of`.

    Raises
    ------
    UsageError
        If a model has no words, or two models need different values of one.
    """
    words: dict[str, Any] = {}
    for model in models:
        given = {name: getattr(model, name) for name in parameters_of(model) if getattr(model, name) is not None}
        # The ground distance has words of its own.
        if isinstance(model, TCloseness):
            given.pop("distance")
            words |= _words_of_distance(model.ground)
        if isinstance(given.get("population"), PopulationTable):
            given["population"] = given["population"].source
        usual = {one.name: one.default for one in fields(model)} if type(model) in MODELS.values() else {}
        keys = {name: key for key, name in _keys(type(model)).items()} if usual else {}
        for name, value in given.items():
            if value == usual.get(name, MISSING):
                continue
            key = keys.get(name, "")
            if not key or words.setdefault(key, word := word_of(value, type(model).__name__)) != word:
                raise UsageError(f"{type(model).__name__} of this request has no words for commands and spec files.")
    return words


def _words_of_distance(distance: GroundDistance) -> dict[str, Any]:
    if distance.name == "equal":
        return {}
    if not isinstance(distance, OrderedDistance):
        raise UsageError("A ground distance that is an object has no words. Name its file: file:METRIC.csv.")
    order = {} if distance.order is None else {"t_order": word_of(distance.order, "The order of values")}
    return {"t_distance": "ordered", **order}


def word_of(value: Any, what: str) -> Any:
    """Return a value in the form of spec files: a number, a text, or a tuple of texts.

    Raises
    ------
    UsageError
        If it has no such form; `what` is the subject of the message.
    """
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Rational | Decimal):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise UsageError(f"{what} of this request has no words for commands and spec files.")


def _keys(model: type[PrivacyModel]) -> dict[str, str]:
    """Return the parameters of a model, by spec key."""
    return {key_of(one): name for name, one in parameters_of(model).items() if one.flag is not None}


def _needed(model: type[PrivacyModel]) -> set[str]:
    """Return the required parameters of a model; empty if one of them has no flag."""
    declared = parameters_of(model)
    needed = [declared[one.name] for one in fields(model) if one.default is MISSING and one.name in declared]
    return {key_of(one) for one in needed} if all(one.flag is not None for one in needed) else set()


def _check_company(given: Mapping[str, Any], chosen: Sequence[type[PrivacyModel]]) -> None:
    """Check that each parameter belongs to a requested model."""
    flags = {key: model_flag(key) for key in MODEL_WORDS}
    # The order of values is a parameter of the distance, not of a model.
    if "t_order" in given and "t_distance" not in given:
        raise UsageError(f"{flags['t_order']} needs {flags['t_distance']}: give both.")
    used = {key for model in chosen for key in _keys(model)} | {"t_order"}
    # An unused parameter lacks a companion, which the message names.
    for key in given:
        if key not in used:
            model = next(model for model in MODELS.values() if key in _keys(model))
            absent = [flags[other] for other in _needed(model) - set(given)]
            raise UsageError(f"{flags[key]} needs {' and '.join(absent)}: give both.")


def ground_distance(named: str, order: Sequence[str] | None) -> GroundDistance:
    """Build the ground distance of a text: "equal", "ordered", "file:METRIC.csv" or "hierarchy:TREE.csv".

    Raises
    ------
    UsageError
        If the text is not a distance.
    """
    from shoal.hierarchy import Hierarchy
    from shoal.models.ground_distance import EqualDistance
    from shoal.models.hierarchical_distance import HierarchicalDistance
    from shoal.models.metric_distance import MetricDistance

    kind, colon, path = named.partition(":")
    distance, ordered = map(model_flag, ("t_distance", "t_order"))
    if order is not None and named != "ordered":
        raise UsageError(f"{ordered} is for {distance}=ordered. Leave it out, or use that distance.")
    if named == "equal":
        return EqualDistance()
    if named == "ordered":
        return OrderedDistance() if order is None else OrderedDistance(order)
    # Distances from files: a matrix, or a hierarchy.
    if kind == "file" and path:
        return MetricDistance.from_csv(path)
    if kind == "hierarchy" and path:
        return HierarchicalDistance(Hierarchy.from_csv(path, by_path=True))
    raise UsageError(
        f"{distance} must be equal, ordered, file:METRIC.csv or hierarchy:TREE.csv. "
        f"Got '{kind}{colon}{path}'. {did_you_mean(kind, ('equal', 'ordered', 'file', 'hierarchy'))}".rstrip()
    )
