"""A verified release: the published table, its certificates and metrics, and the ways to hand it on."""

from __future__ import annotations

import functools
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._background import begun
from shoal._language import written_in
from shoal._messages import Phrase
from shoal._on_demand import OnDemand
from shoal._unpicklable import Unpicklable
from shoal._validation import Boolean, Instance, OneOf, Optional, validate
from shoal.analysis import ForAnalysts
from shoal.disclosure_risk import class_confidence
from shoal.errors import ReleaseUnsafeError, WarnedError
from shoal.io import FORMATS, Restorer, as_written, read, spreadsheet_names, to_disk, write_folder, write_table
from shoal.plan import PLAN, ReleasePlan
from shoal.report import (
    About,
    AttributeLoss,
    ReportFacts,
    Sureness,
    as_it_was,
    distributions,
    promise,
    public_facts,
    render,
    render_public,
    reservations,
    size_bins,
    size_shares,
    write_report,
)
from shoal.verification import verify

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl
    from numpy.typing import NDArray

    from shoal._messages import Part
    from shoal.certificate import Certificate, PublicCertificate
    from shoal.io import Forms
    from shoal.metrics import Metrics
    from shoal.models import Requirement
    from shoal.report import PublicFacts, TradeOffFacts
    from shoal.table import Schema, Table
    from shoal.verification import Meaning
    from shoal.verification.counting import Fitting
    from shoal.warnings import Remark

__all__ = ["Files", "Release", "described_meanwhile", "read_back", "sha256_of", "write_text"]

Files = dict[str, dict[str, Any]]
"""What a certificate says of each written file, by its path in the folder."""

_REPORTED = ("gcp", "discernability", "mean_class_size", "average_class_size")
"""The metrics on the page: those that take no time to compute."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Release(ForAnalysts, Unpicklable):
    """A table that may be published: its cells were verified before this object was made.

    `data` and `public_certificate` are for readers. The object itself is the publisher's: it holds the original table.
    """

    _instead: ClassVar[str] = "Pickle its data, or save it to a folder."

    frame: OnDemand[pl.DataFrame] = OnDemand()
    """The published table as Polars; recoded columns are categories (`data` has them as text)."""
    schema: Schema
    """The roles of the input's columns."""
    requirement: Requirement
    """What was asked of it."""
    certificate: Certificate
    """Private: what was asked, achieved, guaranteed and bounded; costs and bounds depend on the original table."""
    metrics: Metrics
    """Information loss against the original table, before any coarsening; computed when it is first asked for."""
    rows: OnDemand[NDArray[np.int32]] = OnDemand()
    """Private: the original row number of each published row. Never publish it."""
    table_rows: OnDemand[NDArray[np.int32]] = OnDemand()
    """Private: the original row number of each row of the table that losses are measured against."""
    salt: str = ""
    """Private: the key of the certificate's hash of the input, as hexadecimal digits; `shoal.provenance` takes it."""
    source_format: str = "csv"
    """The format that `save` writes unless told otherwise: the input's."""
    restore: Callable[[pl.DataFrame], Any] = field(default_factory=Restorer)
    """Makes the caller's kind of table of the published one."""
    forms: Forms = field(default_factory=dict)
    """How dates and numbers were written in columns of text: what is published untouched is written so again."""
    pictures: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """What draws the coarsenings of columns as SVG, for the page."""
    fitting: Fitting | None = None
    """Private: counts the people of a population who fit written cells, where a model asks for that."""
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    """Private: what the published cells of each quasi-identifier stand for."""
    trade_off: Callable[[], TradeOffFacts] | None = None
    """What tells what it was chosen from, for the page."""

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table that came in."""
        return self._restored()

    def _restored(self) -> Any:
        import polars as pl

        text = self._of_text  # Polars takes the name "*" for all columns
        shown = (column.cast(pl.String) if column.name in text else column for column in self.published)
        return self.restore(pl.DataFrame(shown))

    @property
    def _of_text(self) -> list[str]:
        """The columns of `frame` whose categories are text to those who are handed the table."""
        import polars as pl

        return [column.name for column in self.metrics.recoding.columns if column.labels.dtype == pl.String]

    @property
    def _table_of_rows(self) -> Table | None:
        """The table that losses are measured against, row by row as `table_rows` has them; None where it is cells."""
        return self.metrics.table

    def _handed_on(self, frame: pl.DataFrame) -> Any:
        """Return a table with the rows of `frame` as the caller's kind of table."""
        return self.restore(frame)

    @property
    def published(self) -> pl.DataFrame:
        """The published table as it is saved: dates and numbers as in the input, where nothing else is among them."""
        return self._as_written(self.frame)

    def _as_written(self, frame: pl.DataFrame) -> pl.DataFrame:
        return as_written(frame, self.forms, star=self.certificate.parameters["star"]) if self.forms else frame

    @property
    def _distinct(self) -> pl.DataFrame:
        """The published table; where rows that are alike are kept once (`_times`), each of them once."""
        return self.frame

    @cached_property
    def plan(self) -> ReleasePlan:
        """Private: which published form each class of values became; `shoal.apply` publishes other tables by it."""
        models = self.requirement.models
        return ReleasePlan.of(self._distinct, self.schema, models, self.certificate, self.metrics, self.meanings)

    @property
    def warnings(self) -> Sequence[Remark]:
        """What a privacy officer would raise about it, and what to do next; `shoal.warnings.WARNINGS` lists all."""
        return self.certificate.warnings

    @property
    def public_certificate(self) -> PublicCertificate:
        """What may be published of it: the same for every original that gives the same published table."""
        return self._public(self.certificate)

    def save(
        self,
        folder: str | PathLike[str],
        *,
        force: bool = False,
        format: str | None = None,  # noqa: A002
        spreadsheet_safe: bool = False,
        publish_proof: bool = False,
        strict: bool = False,
        about: About | None = None,
    ) -> Certificate:
        """Write the release to a folder, and what is the publisher's to a private one; both appear whole or neither.

        The table is verified once more as it was written, before the folders appear.

        Parameters
        ----------
        folder : path
            Where to. All of it may be published: `release.csv` (or another format), the public `certificate.json`, and
            a `report.html` made of these two, with its facts in `report.json`. The private folder lies beside it, with
            ".private" behind its name, and only its owner can read it: the full `certificate.json`, the full
            `report.html` and `report.json`, `salt.txt`, the key of the hash of the input, and `plan.json`, by which
            `shoal.apply` publishes other tables.
        force : bool
            Whether to replace existing folders of an earlier release.
        format : {"csv", "parquet", "xlsx", "ods"}, optional
            By default as the input was. In workbooks every cell has the type of its column, and none is a formula.
        spreadsheet_safe : bool
            Whether to quote cells that a spreadsheet would run as a formula.
        publish_proof : bool
            Whether the public certificate and report state the algorithm, its costs and the lower bound, too. They
            depend on the original table, and tell more than the published one to whoever knows the algorithm.
        strict : bool
            Whether a release with `warnings` is refused.
        about : About, optional
            Title, institution, purpose and more, for the first sheet of the reports.

        Returns
        -------
        Certificate
            The full one, with the hashes of the files.

        Raises
        ------
        OutputError
            The folder exists, or cannot be written.
        ReleaseUnsafeError
            What was written does not satisfy the request; nothing appears.
        WarnedError
            The release has warnings, and `strict` was asked for; nothing appears.
        """
        validate(
            "save",
            {"format": format, "publish_proof": publish_proof, "strict": strict, "about": about},
            {
                "format": Optional(OneOf(FORMATS)),
                "publish_proof": Boolean(),
                "strict": Boolean(),
                "about": Optional(Instance(About)),
            },
        )
        if strict:
            self._refuse_warnings()
        name = f"release.{format or self.source_format}"
        written: dict[str, Certificate] = {}
        moments = [time.perf_counter()]

        def passed(step: str, certificate: Certificate) -> Certificate:
            """Return a certificate with the seconds of one more step, which ends now."""
            moments.append(time.perf_counter())
            taken = moments[-1] - moments[-2]
            total = certificate.seconds.get("total", 0.0) + taken
            seconds = {name: one for name, one in certificate.seconds.items() if name != "total"}
            return replace(certificate, seconds={**seconds, step: taken, "total": total})

        def write_release(path: Path) -> None:
            files = self._write(shown, path, spreadsheet_safe=spreadsheet_safe)
            made = passed("write", self.certificate)
            self._verify_written(path, names=names, shown=shown)
            written["full"] = passed("verify again", replace(made, files=files()))

        def write_certificate(path: Path) -> None:
            written["full"] = passed("report", written["full"])
            write_text(path, written["full"].to_json())

        @functools.cache
        def public() -> PublicCertificate:
            return self._public(written["full"], proof=publish_proof)

        @functools.cache
        def readers() -> PublicFacts:
            return self._public_facts(public(), about)

        @functools.cache
        def publisher() -> ReportFacts:
            return self._facts(written["full"], about)

        files: Mapping[str, Callable[[Path], object]] = {
            name: write_release,
            "certificate.json": lambda path: write_text(path, public().to_json()),
            "report.html": lambda path: write_text(path, render_public(readers())),
            "report.json": lambda path: write_text(path, readers().to_json()),
        }
        private: Mapping[str, Callable[[Path], object]] = {
            "report.html": lambda path: write_text(path, render(publisher())),
            "report.json": lambda path: write_text(path, publisher().to_json()),
            "salt.txt": lambda path: write_text(path, self.salt),
            PLAN: lambda path: write_text(path, self.plan.to_json()),
            "certificate.json": write_certificate,
        }
        shown, columns = self._as_written(self._distinct), self._distinct.columns
        safe = spreadsheet_safe and name.endswith(".csv")
        names = spreadsheet_names(columns) if safe else columns
        write_folder(Path(folder), files, private=private, force=force)
        return written["full"]

    def _refuse_warnings(self) -> None:
        if self.warnings:
            told: list[Part] = []
            for remark in self.warnings:
                told += ["\n* ", Phrase(remark.found, " ", remark.advice)]
            count = f"{len(self.warnings)} warning{'s' if len(self.warnings) > 1 else ''}"
            raise WarnedError(f"The release has {count}, and none was to be accepted. Nothing was written.", *told)

    def report(self, path: str | PathLike[str], *, public: bool = False, about: About | None = None) -> None:
        """Write the page that explains the release: one HTML file that needs no network.

        Parameters
        ----------
        path : path
            The file; it is replaced if it exists.
        public : bool
            Whether to write the page for readers, made of the public certificate and the published table alone. By
            default it is the publisher's, which tells more: costs, bounds and losses depend on the original table. Only
            its owner can read that file (0600).
        about : About, optional
            Title, institution, purpose and more, for the first sheet.
        """
        validate("report", {"about": about}, {"about": Optional(Instance(About))})
        if public:
            page = render_public(self._public_facts(self.public_certificate, about))
        else:
            page = render(self._facts(self.certificate, about))
        write_report(page, path, private=not public)

    def _write(self, shown: pl.DataFrame, path: Path, *, spreadsheet_safe: bool) -> Callable[[], Files]:
        """Write the published table, and return what waits for what the certificate says of each file."""
        write_table(shown, path, spreadsheet_safe=spreadsheet_safe)
        return described_meanwhile(path, self.frame.height)

    def _public(self, certificate: Certificate, *, proof: bool = False) -> PublicCertificate:
        schema, asked = self.schema, certificate.requested
        return certificate.public(
            text=" ".join(dict.fromkeys(promise(model, schema.sensitive) for model in asked)),
            reservations=reservations(asked, schema.quasi_identifiers, schema.insensitive),
            proof=proof,
        )

    def _public_facts(self, certificate: PublicCertificate, about: About | None) -> PublicFacts:
        classes = self.metrics.recoding.classes
        # Rows of one class look alike to readers, and as many classes as they see groups are these groups.
        known = classes.sizes if classes.count == certificate.achieved["groups"] else None
        return public_facts(certificate.to_dict(), self._distinct, known, self._times, about=about)

    @property
    def _times(self) -> NDArray[np.int64] | None:
        """How often each row of `frame` is published; None: once."""
        return None

    def _verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame) -> None:
        """Verify a file from its cells; its columns have these names, which a spreadsheet-safe file changes."""
        self._verify_rows(path, names=names, shown=shown)

    def _verify_rows(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame) -> None:
        """Verify a file row by row.

        Where a model looks at sensitive values, they must be those of the table that it was to show.
        """
        # What we wrote needs no guessing of how it was written.
        written = read(path, delimiter=",", encoding="utf-8") if path.suffix == ".csv" else read(path)
        if written.columns == list(names):
            written.columns = self._distinct.columns
            if written.height == shown.height and any(model.reads_values for model in self.requirement.models):
                sensitive = self.schema.sensitive
                written = written.with_columns(
                    read_back(written[name], shown[name], self.frame[name]) for name in sensitive
                )
        self._verify_read(written, None)

    def _verify_read(self, written: pl.DataFrame, times: NDArray[np.int64] | None) -> None:
        """Verify what was read of a file: its rows, or each row that is different with how often it is there."""
        achieved = verify(
            written,
            quasi_identifiers=self.schema.quasi_identifiers,
            sensitive=self.schema.sensitive,
            requirement=self.requirement,
            published=self.schema.published,
            fitting=self.fitting,
            times=times,
        )
        rows = written.height if times is None else int(times.sum())
        if rows != self.metrics.recoding.rows or achieved.to_dict() != self.certificate.achieved:
            raise ReleaseUnsafeError(
                "The written file is not the release that was verified: its rows or what they achieve differ from the "
                "certificate. Nothing was published."
            )

    def _facts(self, certificate: Certificate, about: About | None) -> ReportFacts:
        recoding, original = self.metrics.recoding, self.metrics.table
        penalties = self.metrics.ncp
        coarse = {
            name for columns in certificate.parameters.get("coarsen", ()) for name in (columns, *columns.split(","))
        }
        losses = tuple(
            AttributeLoss(
                name=column.name,
                changed=int(recoding.sizes[~as_it_was(values, column, coarsened=column.name in coarse)].sum()),
                stars=int(recoding.sizes[column.stars].sum()),
                loss=penalties[column.name],
                coarsened=column.name in coarse,
            )
            for column, values in zip(recoding.columns, original.quasi_identifiers, strict=True)
        )
        about = (about or About()).dated()
        with written_in(about.language):
            pictures = {columns: draw() for columns, draw in self.pictures.items()}
            trade_off = None if self.trade_off is None else self.trade_off()
        return ReportFacts(
            certificate=certificate.to_dict(),
            losses=losses,
            class_sizes=size_bins(recoding.classes.sizes),
            metrics={name: getattr(self.metrics, name) for name in _REPORTED},
            insensitive=self.schema.insensitive,
            direct_identifiers=self.schema.direct_identifiers,
            pictures=pictures,
            trade_off=trade_off,
            sizes=size_shares(original.classes.sizes_counted, Counter(recoding.classes.sizes.tolist())),
            sureness=tuple(self._sureness()),
            distributions=distributions(original, recoding, coarse),
            about=about,
        )

    def _sureness(self) -> Iterator[Sureness]:
        """Yield how sure adversaries could be of each sensitive attribute, and can be."""
        original, recoded = self.metrics.table.classes, self.metrics.recoding.classes
        before, counts = original.of_rows, self.metrics.table.counts
        after = recoded.of_group[self.metrics.groups].astype(np.int64)
        for column in self.metrics.table.sensitive:
            was = class_confidence(before, original.class_sizes, column, counts)
            now = class_confidence(after, recoded.sizes, column, counts)
            yield Sureness(
                name=column.name,
                highest_before=was.highest,
                average_before=was.average,
                highest_after=now.highest,
                average_after=now.average,
            )

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it: no more than the published table tells."""
        from shoal.report.notebook import card_of_release

        return card_of_release(self._public_facts(self.public_certificate, None), self.published)

    def __repr__(self) -> str:
        achieved = self.certificate.achieved
        return (
            f"Release(rows={self.frame.height}, columns={self.frame.width}, algorithm={self.certificate.algorithm!r}, "
            f"k={achieved['k']}, stars={self.certificate.cost.stars})"
        )


def described_meanwhile(path: Path, rows: int) -> Callable[[], Files]:
    """Begin to hash a written file and to bring it to the disk; return what waits for what a certificate says of it."""
    flushed, digest = begun(partial(to_disk, path)), begun(partial(sha256_of, path))

    def files() -> Files:
        flushed()  # an error of the disk is told but once
        return {path.name: {"sha256": digest(), "rows": rows}}

    return files


def sha256_of(path: Path) -> str:
    """Return the hash of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a text file with a line end behind it."""
    path.write_text(text + "\n", encoding="utf-8")


def read_back(written: pl.Series, shown: pl.Series, published: pl.Series) -> pl.Series:
    """Return a column of a file as what it was written from, where text does not say that.

    Text does not tell declared categories and times, nor dates and numbers in forms of their own (`shown`).

    Raises
    ------
    ReleaseUnsafeError
        Where the file holds something else.
    """
    import polars as pl

    kind = published.dtype
    formed = shown.dtype != kind
    if (kind.is_numeric() or kind == pl.Date) and not formed:
        return written
    if formed or kind in (pl.String, pl.Categorical, pl.Enum):
        # An empty text is read as a missing one.
        text, found = (column.cast(pl.String).fill_null("") for column in (shown, written))
        # A spreadsheet-safe file has an apostrophe before what would be run as a formula.
        same = bool(((text == found) | ("'" + text == found)).all())
    else:
        pairs = pl.DataFrame([written.alias("written"), published.alias("published")]).unique()
        same = pairs.height == pairs["written"].n_unique() == pairs["published"].n_unique()
    if not same:
        raise ReleaseUnsafeError(f"The file holds other values of '{published.name}'. Nothing was published.")
    return published
