"""Entry point `load`: a release from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from shoal._core.unpicklable import Unpicklable
from shoal.errors import ColumnError, DataError
from shoal.hierarchy import Hierarchy
from shoal.io import private_folder
from shoal.pipeline.input import open_data
from shoal.release.analysis import AnalystUtility
from shoal.release.analysis.published_utility import measure_published_utility
from shoal.release.plan import PLAN, ReleasePlan
from shoal.request.request import trees_of
from shoal.verification.published_folder import ReadRelease, read_certificate, read_published
from shoal.wording import join_warnings


class SavedCertificate(dict[str, Any]):
    """The contents of a `certificate.json`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the contents."""
        return dict(self)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SavedRelease(Unpicklable):
    """A release that was saved: its table and what its two folders state, without the original table.

    `shoal.audit`, `shoal.risk`, the attacks and `shoal.apply` (its `plan`) take it like the release that was saved.

    Examples
    --------
    >>> import polars as pl, shoal, tempfile
    >>> folder = tempfile.mkdtemp() + "/out"
    >>> table = pl.DataFrame({"age": [30, 31, 40, 41]})
    >>> certificate = shoal.anonymize(table, quasi_identifiers=["age"], k=4, seed=1).save(folder)
    >>> shoal.load(folder)
    SavedRelease(rows=4, columns=1, k=4, warnings=1)
    """

    _instead = "Name its folder."

    data: pl.DataFrame
    """The published table, a Polars frame (`data.to_pandas()` is one of pandas); the tables of
    persons and rows are joined."""
    public_certificate: SavedCertificate
    """The certificate in the public folder."""
    certificate: SavedCertificate
    """The full certificate if the private folder is there, else the public one."""
    plan: ReleasePlan | None
    """Private: the published form of each class, for `shoal.apply`; None without the private folder."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the certificate, as sentences."""
        return tuple(text for _, text in join_warnings(self.certificate.get("warnings") or ()))

    @property
    def _read(self) -> ReadRelease:
        return ReadRelease(frame=self.data, counterfeits=None, certificate=self.public_certificate)

    @property
    def recoded(self) -> tuple[str, ...]:
        """The quasi-identifiers, and the sensitive columns that were coarsened."""
        coarse = (self.public_certificate.get("parameters") or {}).get("coarsen") or {}
        sensitive = (name for name in self._read.columns("sensitive") if name in coarse)
        return (*self._read.columns("quasi_identifiers"), *sensitive)

    def utility(
        self,
        original: Any,
        *,
        hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = None,
        cells: Mapping[str, object] | None = None,
    ) -> AnalystUtility:
        """Measure what analysts lose by working with the release; the order of the records plays no part.

        Parameters
        ----------
        original : frame or path
            The table that `shoal.anonymize` took.
        hierarchies, cells
            The meaning of cells that the certificate does not state, as for `shoal.risk`.

        Returns
        -------
        AnalystUtility
            Private, because it depends on the original table.

        Raises
        ------
        UsageError
            If the release was not made of this table, or cells have no known meaning.
        """
        read, names = self._read, self.recoded
        if not names:
            raise ColumnError("No certificate names the quasi-identifiers. Name the folder of a release.")
        # The names of columns were confirmed when the release was made.
        confirmed = 1 if isinstance(original, str | PathLike) else None
        return measure_published_utility(
            self.data,
            open_data(original, header_row=confirmed).frame,
            meanings=read.meanings(names, trees=trees_of(hierarchies or {}, names), cells=cells),
            sensitive=read.columns("sensitive"),
            star=read.star,
        )

    def __repr__(self) -> str:
        k = (self.public_certificate.get("achieved") or {}).get("k")
        return f"SavedRelease(rows={self.data.height}, columns={self.data.width}, k={k}, warnings={len(self.warnings)})"


def load(folder: str | PathLike[str]) -> SavedRelease:
    """Read a release from the folder that `Release.save` or `shoal anonymize -o` wrote.

    The table must be the one that the certificate names. The private folder next to it is read if it is there.

    Parameters
    ----------
    folder : path
        The public folder, or the table in it.

    Returns
    -------
    SavedRelease
        Its `data` is a Polars frame, because a folder has no kind of frame; `data.to_pandas()` is one of pandas.

    Raises
    ------
    DataError
        If there is no release, a file was changed, or the private folder is that of another release.

    Examples
    --------
    >>> import shoal, tempfile
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> folder = tempfile.mkdtemp() + "/out"
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", k=2, seed=1)
    >>> certificate = release.save(folder)
    >>> shoal.load(folder).data.columns
    ['age', 'gender', 'income']
    """
    public = Path(folder)
    if not (public / "certificate.json").is_file() and public.name.startswith("release."):
        public = public.parent
    if not (public / "certificate.json").is_file():
        raise DataError(f"'{public}' is not the folder of a release: it holds no certificate.json.")
    read = read_published(public)
    private = private_folder(public.resolve())
    full, plan = read.certificate, private / PLAN
    if (private / "certificate.json").is_file():
        full = read_certificate(private / "certificate.json")
        if full.get("output") != read.certificate.get("output"):
            raise DataError(f"'{private}' is the private folder of another release. Move it away, or restore it.")
    return SavedRelease(
        data=read.frame,
        public_certificate=SavedCertificate(read.certificate),
        certificate=SavedCertificate(full),
        plan=ReleasePlan.load(plan) if plan.is_file() else None,
    )
