"""Write a release to a public and a private folder; the written table is verified before they appear."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shoal.errors import WarnedError
from shoal.findings import Remark
from shoal.io import Dialect, spreadsheet_names, write_folder
from shoal.release.certificate import Certificate, PublicCertificate
from shoal.release.plan import PLAN
from shoal.release.report_facts import facts_for_publisher, facts_for_readers
from shoal.release.row_store import WrittenCheck
from shoal.release.verified_table import VerifiedTable
from shoal.report import About, PublicFacts, ReportFacts, render, render_public


def write_release(
    release: VerifiedTable,
    folder: Path,
    *,
    force: bool,
    name: str,
    spreadsheet_safe: bool,
    publish_proof: bool,
    strict: bool,
    about: About | None,
) -> Certificate:
    """Write a release to two folders, which both appear complete or not at all; see `Release.save`.

    Parameters
    ----------
    release : VerifiedTable
        The release, verified in memory.
    folder : Path
        The public folder; the private one lies next to it.
    force, spreadsheet_safe, publish_proof, strict, about
        As for `Release.save`.
    name : str
        Name of the file or folder of the published table.
    """
    # Spreadsheets run no cells of other formats, nor of files written for spreadsheets.
    formulas_inert = spreadsheet_safe or not name.endswith(".csv")
    warnings = tuple(one for one in release.warnings if one.code != "formula_cells" or not formulas_inert)
    if strict:
        refuse_warnings(warnings)
    dialect = replace(release.dialect, spreadsheet_safe=spreadsheet_safe)
    files = _Files(release, warnings, dialect=dialect, publish_proof=publish_proof, about=about)
    # In order of writing: the table first, because the certificate contains the hashes of its files.
    public: Mapping[str, Callable[[Path], object]] = {
        name: files.write_table,
        "certificate.json": lambda path: write_text(path, files.public_certificate.to_json()),
        "report.html": lambda path: write_text(path, render_public(files.for_readers)),
        "report.json": lambda path: write_text(path, files.for_readers.to_json()),
    }
    private: Mapping[str, Callable[[Path], object]] = {
        "report.html": lambda path: write_text(path, render(files.for_publisher)),
        "report.json": lambda path: write_text(path, files.for_publisher.to_json()),
        "salt.txt": lambda path: write_text(path, release.salt),
        PLAN: lambda path: write_text(path, release.plan.to_json()),
        "certificate.json": files.write_certificate,
    }
    write_folder(folder, public, private=private, force=force)
    return files.certificate


class _Files:
    """The files of one release while they are written, in the order of the lists of `write_release`.

    The certificate grows with each step: it states the hashes of the table's files and the seconds of each step.
    """

    def __init__(
        self,
        release: VerifiedTable,
        warnings: tuple[Remark, ...],
        *,
        dialect: Dialect,
        publish_proof: bool,
        about: About | None,
    ) -> None:
        self._release, self._about = release, about
        self._dialect, self._publish_proof = dialect, publish_proof
        self._formatted = release.as_written(release.store.distinct)
        self._last_step_ended = time.perf_counter()
        self.certificate = replace(release.certificate, warnings=warnings)

    def write_table(self, path: Path) -> None:
        """Write the published table and verify the written files."""
        release, columns = self._release, self._release.store.distinct.columns
        wait_for_files = release.store.write(self._formatted, path, dialect=self._dialect, codebook=release.codebook)
        self._end_step("write")
        renamed = self._dialect.spreadsheet_safe and path.suffix == ".csv"
        # Column names that a spreadsheet would run are written differently.
        names = spreadsheet_names(columns) if renamed else columns
        check = WrittenCheck(
            schema=release.schema,
            requirement=release.requirement,
            achieved=release.certificate.achieved,
            rows=release.metrics.recoding.rows,
            dialect=self._dialect,
            fitting=release.fitting,
            owners=release.owners,
        )
        release.store.verify_written(path, names=names, shown=self._formatted, check=check)
        # Hashing ran in the background during the verification.
        self.certificate = replace(self.certificate, files=wait_for_files())
        self._end_step("verify again")

    def write_certificate(self, path: Path) -> None:
        """Write the full certificate as the last file, so that it includes the times of all steps."""
        self._end_step("report")
        write_text(path, self.certificate.to_json())

    @functools.cached_property
    def public_certificate(self) -> PublicCertificate:
        """The public certificate, with the hashes of the files."""
        return self._release.publish_certificate(self.certificate, proof=self._publish_proof)

    @functools.cached_property
    def for_readers(self) -> PublicFacts:
        """The facts of the public report."""
        return facts_for_readers(self._release, self.public_certificate, self._about)

    @functools.cached_property
    def for_publisher(self) -> ReportFacts:
        """The facts of the private report."""
        return facts_for_publisher(self._release, self.certificate, self._about)

    def _end_step(self, step: str) -> None:
        """Add the seconds since the end of the last step to the certificate."""
        now = time.perf_counter()
        taken, self._last_step_ended = now - self._last_step_ended, now
        seconds = self.certificate.seconds
        others = {name: one for name, one in seconds.items() if name != "total"}
        total = seconds.get("total", 0.0) + taken
        self.certificate = replace(self.certificate, seconds={**others, step: taken, "total": total})


def refuse_warnings(warnings: Sequence[Remark], of: str = "release") -> None:
    """Raise an error that names warnings of a release, or of a request, if there are any."""
    if not warnings:
        return
    count = f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}"
    raise WarnedError(f"The {of} has {count}, and none was to be accepted. Nothing was written.", warnings)


def write_text(path: Path, text: str) -> None:
    """Write a text file that ends with a line end."""
    path.write_text(text + "\n", encoding="utf-8")
