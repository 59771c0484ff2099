"""A verified release: the published table, its certificate and metrics, and the ways to hand it on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._validation import OneOf, Optional, validate
from shoal.errors import ReleaseUnsafeError
from shoal.io import read, spreadsheet_names, write_folder, write_table
from shoal.report import AttributeLoss, ReportFacts, render, size_bins, write_report
from shoal.verification import verify

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.certificate import Certificate
    from shoal.metrics import Metrics
    from shoal.models import Requirement
    from shoal.report import TradeOff
    from shoal.table import Schema

__all__ = ["Release"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Release:
    """A table that may be published: its cells were verified before this object was made."""

    frame: pl.DataFrame
    """The published table as Polars; recoded columns are categories (`data` has them as text)."""
    schema: Schema
    """The roles of the input's columns."""
    requirement: Requirement
    """What was asked of it."""
    certificate: Certificate
    """What was asked, achieved, guaranteed and bounded."""
    metrics: Metrics
    """Information loss against the original table, before any coarsening; computed when it is first asked for."""
    rows: NDArray[np.int32]
    """Private: the original row number of each published row. Never publish it."""
    source_format: str = "csv"
    """The format that `save` writes unless told otherwise: the input's."""
    restore: Callable[[pl.DataFrame], Any] = field(default=lambda frame: frame)
    """Makes the caller's kind of table of the published one."""
    pictures: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """What draws the coarsenings of columns as SVG, for the page."""
    trade_off: Callable[[], TradeOff] | None = None
    """What tells how its coarsening was tuned, for the page."""

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table that came in."""
        import polars as pl

        text = {column.name for column in self.metrics.recoding.columns if column.labels.dtype == pl.String}
        plain = [column.cast(pl.String) for column in self.frame if column.name in text]
        return self.restore(self.frame.with_columns(plain))

    def save(
        self,
        folder: str | PathLike[str],
        *,
        force: bool = False,
        format: str | None = None,  # noqa: A002
        spreadsheet_safe: bool = False,
    ) -> Certificate:
        """Write the release to a folder, which appears whole or not at all.

        The table is verified once more as it was written, before the folder appears.

        Parameters
        ----------
        folder : path
            Where to; `release.csv` (or `.parquet`), `certificate.json` and `report.html` will be in it.
        force : bool
            Whether to replace an existing folder of an earlier release.
        format : {"csv", "parquet"}, optional
            By default as the input was.
        spreadsheet_safe : bool
            Whether to quote cells that a spreadsheet would run as a formula.

        Returns
        -------
        Certificate
            With the hashes of the files.

        Raises
        ------
        OutputError
            The folder exists, or cannot be written.
        ReleaseUnsafeError
            What was written does not satisfy the request; nothing appears.
        """
        validate("save", {"format": format}, {"format": Optional(OneOf(("csv", "parquet")))})
        name = f"release.{format or self.source_format}"
        written: dict[str, Certificate] = {}
        start = time.perf_counter()

        def write_certificate(path: Path) -> None:
            table = path.with_name(name)
            facts = {"sha256": hashlib.sha256(table.read_bytes()).hexdigest(), "rows": self.frame.height}
            seconds = {**self.certificate.seconds, "write": time.perf_counter() - start}
            seconds["total"] = sum(taken for step, taken in seconds.items() if step != "total")
            written["certificate"] = replace(self.certificate, seconds=seconds, files={name: facts})
            path.write_text(written["certificate"].to_json() + "\n", encoding="utf-8")

        def write_page(path: Path) -> None:
            path.write_text(render(self._facts(written["certificate"])), encoding="utf-8")

        files: Mapping[str, Callable[[Path], None]] = {
            name: lambda path: write_table(self.frame, path, spreadsheet_safe=spreadsheet_safe),
            "certificate.json": write_certificate,
            "report.html": write_page,
        }
        names = spreadsheet_names(self.frame.columns) if spreadsheet_safe else self.frame.columns
        write_folder(Path(folder), files, force=force, check=lambda staged: self._verify_written(staged / name, names))
        return written["certificate"]

    def report(self, path: str | PathLike[str]) -> None:
        """Write the page that explains the release: one HTML file that needs no network."""
        write_report(self._facts(self.certificate), path)

    def _verify_written(self, path: Path, names: Sequence[str]) -> None:
        """Verify a file from its cells; its columns have these names, which a spreadsheet-safe file changes."""
        # What we wrote needs no guessing of how it was written.
        written = read(path, delimiter=",", encoding="utf-8") if path.suffix == ".csv" else read(path)
        if written.columns == list(names):
            written.columns = self.frame.columns
            if written.height == self.frame.height and any(model.reads_values for model in self.requirement.models):
                sensitive = self.schema.sensitive
                written = written.with_columns(_read_back(written[name], self.frame[name]) for name in sensitive)
        achieved = verify(
            written,
            quasi_identifiers=self.schema.quasi_identifiers,
            sensitive=self.schema.sensitive,
            requirement=self.requirement,
            published=self.schema.published,
        )
        if written.height != self.frame.height or achieved.to_dict() != self.certificate.achieved:
            raise ReleaseUnsafeError(
                "The written file is not the release that was verified: its rows or what they achieve differ from the "
                "certificate. Nothing was published."
            )

    def _facts(self, certificate: Certificate) -> ReportFacts:
        recoding = self.metrics.recoding
        penalties = self.metrics.ncp
        losses = tuple(
            AttributeLoss(
                name=column.name,
                changed=int(recoding.sizes[~column.kept].sum()),
                stars=int(recoding.sizes[column.stars].sum()),
                loss=penalties[column.name],
            )
            for column in recoding.columns
        )
        return ReportFacts(
            certificate=certificate.to_dict(),
            losses=losses,
            class_sizes=size_bins(recoding.classes.sizes),
            metrics={
                "gcp": self.metrics.gcp,
                "discernability": self.metrics.discernability,
                "average_class_size": recoding.rows / max(recoding.classes.count, 1),
            },
            insensitive=self.schema.insensitive,
            direct_identifiers=self.schema.direct_identifiers,
            pictures={columns: draw() for columns, draw in self.pictures.items()},
            trade_off=None if self.trade_off is None else self.trade_off(),
        )

    def __repr__(self) -> str:
        achieved = self.certificate.achieved
        return (
            f"Release(rows={self.frame.height}, columns={self.frame.width}, algorithm={self.certificate.algorithm!r}, "
            f"k={achieved['k']}, stars={self.certificate.cost.stars})"
        )


def _read_back(written: pl.Series, published: pl.Series) -> pl.Series:
    """Return a column of a file as what it was written from, where text does not say that: declared categories, times.

    Raises
    ------
    ReleaseUnsafeError
        Where the file holds something else.
    """
    import polars as pl

    kind = published.dtype
    if kind.is_numeric() or kind == pl.Date:
        return written
    if kind in (pl.String, pl.Categorical, pl.Enum):
        # An empty text is read as a missing one.
        text, found = (column.cast(pl.String).fill_null("") for column in (published, written))
        # A spreadsheet-safe file has an apostrophe before what would be run as a formula.
        same = bool(((text == found) | ("'" + text == found)).all())
    else:
        pairs = pl.DataFrame([written.alias("written"), published.alias("published")]).unique()
        same = pairs.height == pairs["written"].n_unique() == pairs["published"].n_unique()
    if not same:
        raise ReleaseUnsafeError(f"The file holds other values of '{published.name}'. Nothing was published.")
    return published
