"""The class `VerifiedTable`: a published table with its rows, certificates and measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.unpicklable import Unpicklable
from shoal.findings import Remark
from shoal.io import PLAIN, Codebook, Dialect, Forms, Restorer, format_as_input
from shoal.metrics import Metrics
from shoal.models.requirement import Requirement
from shoal.release.certificate import Certificate, PublicCertificate
from shoal.release.plan import ReleasePlan
from shoal.release.row_store import RowStore, split_tables
from shoal.report import TradeOffFacts, promise, protections, reservations
from shoal.table import Schema
from shoal.verification import Fitting, Meaning
from shoal.wording import say


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class VerifiedTable(Unpicklable):
    """A verified published table and the facts about it; `Release` adds methods for output and analysis."""

    _instead: ClassVar[str] = "Pickle its data, or save it to a folder."

    store: RowStore
    """The store of the published rows."""
    schema: Schema
    """The roles of the input's columns."""
    requirement: Requirement
    """The models that the release satisfies."""
    certificate: Certificate
    """Private: what was requested, achieved, guaranteed and bounded; costs and bounds depend on the original table."""
    metrics: Metrics
    """Information loss against the original table before any coarsening; computed on first use."""
    salt: str
    """Private: the key of the certificate's hash of the input, as hexadecimal digits; `shoal.provenance` takes it."""
    source_format: str = "csv"
    """The format that `save` writes by default: the input's."""
    dialect: Dialect = PLAIN
    """How CSV is written: as the input was."""
    codebook: Codebook = field(default_factory=dict)
    """The labels of the input, if it is a file of Stata, SPSS or SAS."""
    restore: Callable[[pl.DataFrame], Any] = field(default_factory=Restorer)
    """Turns the published table into the caller's kind of table."""
    forms: Forms = field(default_factory=dict)
    """Formats of dates and numbers in columns of text; unchanged values are written in them."""
    pictures: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """Functions that draw the coarsenings of columns as SVG for the report."""
    fitting: Fitting | None = None
    """Private: counts the members of a population that match written cells, if a model asks for that."""
    owners: pl.DataFrame | None = None
    """Private: the number of the owner of each distinct row, one column for each kind of protected owner."""
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    """Private: the interpretation of the published cells of each quasi-identifier."""
    trade_off: Callable[[], TradeOffFacts] | None = None
    """Returns the trade-off that the release was chosen from, for the report."""

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table as the input."""
        return self.store.data(self.published, self.text_columns, self.restore)

    @property
    def tables(self) -> dict[str, Any]:
        """The published tables by the names of their files: "persons" and "rows" if two came in, else "release"."""
        parts = split_tables(self.published, self.store.personal)
        return {name: self.store.data(part, self.text_columns, self.restore) for name, part in parts.items()}

    @property
    def frame(self) -> pl.DataFrame:
        """The published table as Polars; recoded columns are categories (`data` has them as text).

        A release of a table that may be larger than memory has its distinct rows here.
        """
        return self.store.frame

    @property
    def rows(self) -> NDArray[np.int32]:
        """Private: the original row number of each row of `frame`. Never publish it."""
        return self.store.rows

    @property
    def text_columns(self) -> list[str]:
        """The columns of `frame` whose categories are text in `data`."""
        return [column.name for column in self.metrics.recoding.columns if column.labels.dtype == pl.String]

    @property
    def published(self) -> pl.DataFrame:
        """`frame` as it is saved: dates and numbers have the format of the input if a column contains nothing else."""
        return self.as_written(self.frame)

    def as_written(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert rows of the release to the form in which they are saved.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns of `frame`.
        """
        return format_as_input(frame, self.forms, star=self.certificate.parameters["star"]) if self.forms else frame

    @cached_property
    def plan(self) -> ReleasePlan:
        """Private: the published form of each class of values; `shoal.apply` publishes other tables with it."""
        models = self.requirement.models
        return ReleasePlan.of(self.store.distinct, self.schema, models, self.certificate, self.metrics, self.meanings)

    @property
    def warnings(self) -> Sequence[Remark]:
        """Concerns that a privacy officer would raise, each with advice; `shoal.findings.WARNINGS` holds all kinds."""
        return self.certificate.warnings

    @property
    def public_certificate(self) -> PublicCertificate:
        """The public certificate: identical for all originals that lead to the same published table."""
        return self.publish_certificate(self.certificate)

    def publish_certificate(self, certificate: Certificate, *, proof: bool = False) -> PublicCertificate:
        """Build the public form of a certificate of this release.

        Parameters
        ----------
        certificate : Certificate
            The full certificate.
        proof : bool
            Whether to include algorithm, costs and bounds.
        """
        # Several models may make the same promise, which is stated once.
        schema, requested, unnamed = self.schema, certificate.requested, certificate.parameters.get("missing_person")
        known = schema.quasi_identifiers
        promised = dict.fromkeys(promise(model, schema.sensitive) for model in requested)
        return certificate.public(
            text=" ".join([*promised, *protections(requested, known, unnamed)]),
            reservations=[*reservations(requested, known, schema.insensitive, unnamed), say("limit_warnings")],
            proof=proof,
        )
