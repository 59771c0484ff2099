"""Release plans: the published form of each class of values, for review and for application to other tables.

Plans are private.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.outcome import reason_of
from shoal._core.private_files import write_private_text
from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import fits_shape, number_in, parameters_of
from shoal._core.words import listed, number, percent
from shoal._version import __version__
from shoal.errors import DataError, OutputError, ShoalError
from shoal.hierarchy import Hierarchy
from shoal.metrics import Metrics
from shoal.models import PrivacyModel
from shoal.models.model_list import MODELS
from shoal.recoding import rank
from shoal.release.certificate import Certificate
from shoal.release.certificate_files import SchemaKey
from shoal.report import model_title
from shoal.table import Schema, dictionary_text
from shoal.table.counts import rows_by_code
from shoal.verification import Meaning

PLAN = "plan.json"
"""File name of the plan in the private folder of a release."""
FORMAT = 1
"""Version of the plan's format. Within a version, keys are only added."""
SCHEMA = f"urn:shoal:plan:{FORMAT}"
"""Name of the JSON Schema of plans."""
_PRIVATE = (
    "This plan holds the quasi-identifiers of the original table, and how many records have them. Keep it, and show it "
    "only to people who may see the table."
)
_ROLES = ("quasi_identifiers", "sensitive", "direct_identifiers", "insensitive")


class FormsInPlan(TypedDict):
    """The published forms, and the number of rows of each."""

    cells: Mapping[str, Any]
    rows: list[int]


_CODED = {"*": {"values": [str], "places": [int]}}
_SHAPE: dict[str, Any] = {
    "columns": {**{role: [str] for role in _ROLES}, "units?": [[str]]},
    "requested": [{"model": str}],
    "parameters": {"recoding": str, "coarsen": {"*": dict}, "hierarchies": {"*": dict}, "read_as?": {"*": dict}},
    "for_readers": {"coarsen": {"*": dict}, "hierarchies": {"*": dict}},
    "meanings": {"*": {"kind": str, "facts": dict, "classes": {"*": list}, "form": dict}},
    "types": {"*": str},
    "forms": {"cells": _CODED, "rows": [int]},
    "classes": {"values": _CODED},
    "pairs": {key: [int] for key in ("class", "form", "rows")},
}
"""The types of the entries of a plan."""


class PlanFile(SchemaKey):
    """The keys of `plan.json`."""

    private: str
    format: int
    shoal: str
    columns: Mapping[str, list[Any]]
    requested: list[dict[str, Any]]
    parameters: Mapping[str, Any]
    for_readers: Mapping[str, Any]
    meanings: Mapping[str, Mapping[str, Any]]
    types: Mapping[str, str]
    forms: FormsInPlan
    classes: Mapping[str, Any]
    pairs: Mapping[str, list[int]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReleasePlan(Unpicklable):
    """The published forms of the classes of a table; each class of quasi-identifiers has one or several.

    A form is a row of published quasi-identifiers. A plan is private, because it contains values of the original table.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release.plan.sentences()[0]
    'It publishes age, gender and income; quasi-identifiers are age and gender.'
    """

    _instead: ClassVar[str] = "Save it to a file."

    schema: Schema
    """The roles of the columns."""
    requested: tuple[Mapping[str, Any], ...]
    """The privacy models that the release satisfies, as in its certificate."""
    privacy: tuple[PrivacyModel, ...] | None
    """The models as objects; None if the file does not contain everything that they need."""
    parameters: Mapping[str, Any]
    """The parameters of the release's certificate."""
    for_readers: Mapping[str, Any]
    """The parameters in the public certificate."""
    meanings: Mapping[str, Meaning]
    """The interpretation of the published cells of each quasi-identifier."""
    types: Mapping[str, str]
    """Polars types of the quasi-identifiers that were not published as text, by name."""
    cells: pl.DataFrame
    """The forms, with a column of categories for each quasi-identifier in published order, the star last. A missing
    cell is a missing value."""
    rows: NDArray[np.int64]
    """Number of rows of the release with each form."""
    values: pl.DataFrame
    """The classes: distinct rows of quasi-identifiers of the original table, as categories in their natural order."""
    class_of: NDArray[np.int64]
    """The class of each pair of class and form that occurs, ascending."""
    form_of: NDArray[np.int64]
    """The form of each pair."""
    rows_of: NDArray[np.int64]
    """Number of rows of each pair."""

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        schema: Schema,
        privacy: Sequence[PrivacyModel],
        certificate: Certificate,
        metrics: Metrics,
        meanings: Mapping[str, Meaning],
    ) -> ReleasePlan:
        """Make the plan of a release.

        Parameters
        ----------
        frame : polars.DataFrame
            The published table, with categories in published order.
        schema, privacy, certificate, metrics
            The attributes of the release.
        meanings : mapping of column to Meaning
            The interpretation of its cells.
        """
        recoding, table = metrics.recoding, metrics.table
        classes = recoding.classes
        cells = {}
        # Forms: the published row of a representative of each class of groups.
        for column in recoding.columns:
            labels, kind = dictionary_text(column.labels), frame.schema[column.name]
            order = kind.categories if isinstance(kind, pl.Enum) else labels.drop_nulls()
            shown = labels.gather(pl.Series(column.group_codes[classes.representatives]))
            cells[column.name] = shown.cast(pl.Enum(order))
        # Classes: distinct rows of original quasi-identifiers, each with one row as its example.
        class_of_row, count = rank([(one.codes, one.size) for one in table.quasi_identifiers], table.rows)
        example = np.empty(count, dtype=np.int64)
        example[class_of_row] = np.arange(table.rows)
        values = {
            one.name: _categories(dictionary_text(one.dictionary)).gather(
                pl.Series(one.codes[example].astype(np.uint32))
            )
            for one in table.quasi_identifiers
        }
        # Pairs of class and form that occur, encoded as one integer each.
        form_of_row = classes.of_group[metrics.groups].astype(np.int64)
        keys = class_of_row * classes.count + form_of_row
        pairs, place = np.unique(keys, return_inverse=True)
        return cls(
            schema=schema,
            requested=tuple(certificate.requested),
            privacy=tuple(privacy),
            parameters=certificate.parameters,
            for_readers=certificate.for_readers,
            meanings=meanings,
            types={name: str(frame.schema[name]) for name in cells if frame.schema[name] != pl.Enum},
            cells=pl.DataFrame(cells),
            rows=classes.sizes.astype(np.int64),
            values=pl.DataFrame(values),
            class_of=pairs // classes.count,
            form_of=pairs % classes.count,
            rows_of=rows_by_code(place, len(pairs), table.counts),
        )

    @property
    def star(self) -> str:
        """The symbol of a suppressed cell."""
        return str(self.parameters["star"])

    @property
    def starred(self) -> NDArray[np.bool_]:
        """Mask of the stars in the forms, shape (forms, quasi-identifiers)."""
        shown = [(column == self.star).fill_null(value=False).to_numpy() for column in self.cells]
        return np.column_stack(shown)

    def to_frame(self) -> pl.DataFrame:
        """List the forms, the most frequent first, with the number of rows of each in the last column.

        That column is called `rows`, followed by an underscore if a quasi-identifier has this name.
        """
        name = "rows"
        # A quasi-identifier may have the same name.
        while name in self.cells.columns:
            name += "_"
        order = np.argsort(-self.rows, kind="stable")
        return self.cells.cast(pl.String).with_columns(pl.Series(name, self.rows))[order]

    def sentences(self) -> tuple[str, ...]:
        """Summarize the plan in sentences that contain no value."""
        # Only counts and names of columns: the sentences may be shown to others.
        whole = int(self.rows[~self.starred.any(axis=1)].sum())
        several = int((np.bincount(self.class_of) > 1).sum())
        columns = f"It publishes {listed(self.schema.published)}; quasi-identifiers are "
        share = percent(whole / max(int(self.rows.sum()), 1))
        became = f"{number(self.values.height)} classes of values became {number(len(self.rows))} published forms; "
        return (
            f"{columns}{listed(self.schema.quasi_identifiers)}.",
            f"Asked: {'; '.join(model_title(model) for model in self.requested)}.",
            f"{became}{number(several)} classes have several. {share} of the rows have no star.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan with the keys of `plan.json`, including values of the original table."""
        file: PlanFile = {
            "private": _PRIVATE,
            "$schema": SCHEMA,
            "format": FORMAT,
            "shoal": __version__,
            "columns": {
                **{role: list(getattr(self.schema, role)) for role in _ROLES},
                **({"units": [list(kind) for kind in self.schema.kinds]} if self.schema.kinds else {}),
            },
            "requested": [dict(model) for model in self.requested],
            "parameters": dict(self.parameters),
            "for_readers": dict(self.for_readers),
            "meanings": {name: _described(meaning) for name, meaning in self.meanings.items()},
            "types": dict(self.types),
            "forms": {"cells": _coded(self.cells), "rows": self.rows.tolist()},
            "classes": {"values": _coded(self.values)},
            "pairs": {
                "class": self.class_of.tolist(),
                "form": self.form_of.tolist(),
                "rows": self.rows_of.tolist(),
            },
        }
        return {**file}

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a new file with permissions for its owner only (0600).

        Raises
        ------
        OutputError
            If the file exists or cannot be written.
        """
        try:
            write_private_text(path, self.to_json() + "\n", new=True)
        except FileExistsError:
            raise OutputError(f"'{path}' exists already and is kept. Choose another name.") from None
        except OSError as error:
            raise OutputError(f"'{path}' cannot be written: {reason_of(error)}.") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ReleasePlan:
        """Read a plan from a file.

        Raises
        ------
        DataError
            If the file cannot be read or is not a plan.
        """
        from polars.exceptions import PolarsError

        try:
            facts = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"The plan '{path}' cannot be read: it is no JSON text.") from error
        try:
            return plan_in(facts)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, ShoalError, PolarsError) as error:
            raise DataError(f"The file '{path}' is not a plan that this version of shoal can read.") from error

    def __repr__(self) -> str:
        return f"ReleasePlan(classes={self.values.height}, forms={len(self.rows)})"


def plan_in(facts: Mapping[str, Any]) -> ReleasePlan:
    """Read a plan from its entries, which may have been edited."""
    if facts["format"] != FORMAT or not fits_shape(facts, _SHAPE):
        raise ValueError("another format")
    # Plans of records have no such key.
    kinds = tuple(tuple(kind) for kind in facts["columns"].get("units", ()))
    named: dict[str, Any] = {role: tuple(facts["columns"][role]) for role in _ROLES}
    schema = Schema(**named, kinds=kinds)
    cells, values = _decoded(facts["forms"]["cells"]), _decoded(facts["classes"]["values"])
    pairs = {name: np.array(facts["pairs"][name], dtype=np.int64) for name in ("class", "form", "rows")}
    plan = ReleasePlan(
        schema=schema,
        requested=tuple(facts["requested"]),
        privacy=_models_in(facts["requested"]),
        parameters=facts["parameters"],
        for_readers=facts["for_readers"],
        meanings={name: _meaning_in(said) for name, said in facts["meanings"].items()},
        types=dict(facts["types"]),
        cells=cells,
        rows=np.array(facts["forms"]["rows"], dtype=np.int64),
        values=values,
        class_of=pairs["class"],
        form_of=pairs["form"],
        rows_of=pairs["rows"],
    )
    # A file may have been edited: its columns, lengths and indices must be consistent.
    names = list(schema.quasi_identifiers)
    whole = cells.columns == values.columns == list(plan.meanings) == names and cells.height == len(plan.rows)
    within = (pairs["class"] < values.height).all() and (pairs["form"] < cells.height).all()
    within &= len({len(one) for one in pairs.values()}) == 1 and bool((np.diff(pairs["class"]) >= 0).all())
    if not (whole and within and all((pairs[name] >= 0).all() for name in pairs) and isinstance(plan.star, str)):
        raise ValueError("its parts do not fit together")
    return plan


def _models_in(requested: Sequence[Mapping[str, Any]]) -> tuple[PrivacyModel, ...] | None:
    """Rebuild the models from their descriptions; None if these are incomplete."""
    models = []
    for described in requested:
        # Exact fractions are written as text.
        kind: Any = MODELS.get(described["model"])
        taken = {} if kind is None else {name: described[name] for name in parameters_of(kind) if name in described}
        taken = {
            name: number_in(value) if isinstance(value, str) and name not in ("variant", "distance") else value
            for name, value in taken.items()
        }
        try:
            model = kind(**taken)
        except (ShoalError, TypeError):
            return None
        # A model that describes itself differently was not rebuilt completely.
        if model.to_dict() != {name: value for name, value in described.items() if name != "of"}:
            return None
        models.append(model)
    return tuple(models)


def _described(meaning: Meaning) -> dict[str, Any]:
    """Convert the interpretation of a column's cells to JSON values; a hierarchy is written row by row."""
    tree = meaning.tree
    rows = tree.rows() if isinstance(tree, Hierarchy) else None
    return {
        "kind": meaning.kind,
        "facts": dict(meaning.facts),
        "classes": {name: list(values) for name, values in meaning.classes.items()},
        "tree": None if rows is None else [list(row) for row in rows],
        "tuned": meaning.tuned,
        "climbed": meaning.climbed,
        "order": None if meaning.order is None else list(meaning.order),
        "form": dict(meaning.form),
    }


def _meaning_in(said: Mapping[str, Any]) -> Meaning:
    tree = None if said["tree"] is None else Hierarchy.from_rows(said["tree"])
    order = None if said["order"] is None else tuple(said["order"])
    return replace(Meaning(), **{**said, "tree": tree, "order": order})


def _categories(texts: pl.Series) -> pl.Series:
    """Convert distinct texts to categories in the given order."""
    return texts.cast(pl.Enum(texts.drop_nulls()))


def categories_of(column: pl.Series) -> pl.Series:
    """Return the categories of a column of a plan in order."""
    assert isinstance(column.dtype, pl.Enum)
    return column.dtype.categories


def _coded(frame: pl.DataFrame) -> dict[str, Any]:
    """Encode columns of categories as lists of categories and indices; a missing cell has the index -1."""
    return {
        column.name: {
            "values": categories_of(column).to_list(),
            "places": column.to_physical().cast(pl.Int64).fill_null(-1).to_list(),
        }
        for column in frame
    }


def _decoded(coded: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            pl.Series(name, [*one["values"], None], dtype=pl.Enum(one["values"])).gather(
                [place if place >= 0 else len(one["values"]) for place in one["places"]]
            )
            for name, one in coded.items()
        ]
    )
