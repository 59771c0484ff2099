"""A verified table: where its rows are kept, its certificates, and what was measured of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._core.unpicklable import Unpicklable
from shoal.io import Restorer, format_as_input
from shoal.release.plan import ReleasePlan
from shoal.report import promise, reservations

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.findings import Remark
    from shoal.io import Forms
    from shoal.metrics import Metrics
    from shoal.models import Requirement
    from shoal.release.certificate import Certificate, PublicCertificate
    from shoal.release.row_store import RowStore
    from shoal.report import TradeOffFacts
    from shoal.table import Schema
    from shoal.verification import Meaning
    from shoal.verification.counting import Fitting

__all__ = ["VerifiedTable"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class VerifiedTable(Unpicklable):
    """A published table whose cells were verified, and the facts about it; `Release` adds the ways to hand it on."""

    _instead: ClassVar[str] = "Pickle its data, or save it to a folder."

    store: RowStore
    """Where the published rows are kept."""
    schema: Schema
    """The roles of the input's columns."""
    requirement: Requirement
    """The models that the release satisfies."""
    certificate: Certificate
    """Private: what was requested, achieved, guaranteed and bounded; costs and bounds depend on the original table."""
    metrics: Metrics
    """Information loss against the original table, before any coarsening; computed when it is first used."""
    salt: str
    """Private: the key of the certificate's hash of the input, as hexadecimal digits; `shoal.provenance` takes it."""
    source_format: str = "csv"
    """The format that `save` writes by default: the input's."""
    restore: Callable[[pl.DataFrame], Any] = field(default_factory=Restorer)
    """Turns the published table into the caller's kind of table."""
    forms: Forms = field(default_factory=dict)
    """How dates and numbers were written in columns of text: untouched values are written so again."""
    pictures: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """Functions that draw the coarsenings of columns as SVG, for the page."""
    fitting: Fitting | None = None
    """Private: counts the members of a population that match written cells, if a model asks for that."""
    units: pl.DataFrame | None = None
    """Private: whose each distinct row is, as numbers, one column for each kind of unit that is protected."""
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    """Private: what the published cells of each quasi-identifier stand for."""
    trade_off: Callable[[], TradeOffFacts] | None = None
    """Returns the trade-off that the release was chosen from, for the page."""

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table that came in."""
        return self.store.data(self.published, self.text_columns, self.restore)

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
        import polars as pl

        return [column.name for column in self.metrics.recoding.columns if column.labels.dtype == pl.String]

    @property
    def published(self) -> pl.DataFrame:
        """`frame` as it is saved: dates and numbers are written as in the input if a column holds nothing else."""
        return self.as_written(self.frame)

    def as_written(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return rows of the release as they are saved.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns of `frame`.
        """
        return format_as_input(frame, self.forms, star=self.certificate.parameters["star"]) if self.forms else frame

    @cached_property
    def plan(self) -> ReleasePlan:
        """Private: which published form each class of values became; `shoal.apply` publishes other tables by it."""
        models = self.requirement.models
        return ReleasePlan.of(self.store.distinct, self.schema, models, self.certificate, self.metrics, self.meanings)

    @property
    def warnings(self) -> Sequence[Remark]:
        """What a privacy officer would raise about it, and what to do next; `shoal.findings.WARNINGS` lists all."""
        return self.certificate.warnings

    @property
    def public_certificate(self) -> PublicCertificate:
        """What may be published of it: the same for every original that gives the same published table."""
        return self.publish_certificate(self.certificate)

    def publish_certificate(self, certificate: Certificate, *, proof: bool = False) -> PublicCertificate:
        """Return the public form of a certificate of this release.

        Parameters
        ----------
        certificate : Certificate
            The full one.
        proof : bool
            Whether algorithm, costs and bounds are part of it.
        """
        schema, requested = self.schema, certificate.requested
        return certificate.public(
            text=" ".join(dict.fromkeys(promise(model, schema.sensitive) for model in requested)),
            reservations=reservations(requested, schema.quasi_identifiers, schema.insensitive),
            proof=proof,
        )
