"""A verified release of cells with counts whose rows have values of their own beside them: insensitive columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from shoal.errors import ReleaseUnsafeError
from shoal.io import in_pieces, without_categories, write_repeated
from shoal.release_of_cells import CountedRelease
from shoal.verification import RowSums

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.certificate import Certificate
    from shoal.table import Schema

__all__ = ["ReleaseWithValues"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReleaseWithValues(CountedRelease):
    """A release that publishes insensitive columns beside cells that are kept once each.

    `frame` has the quasi-identifiers and the sensitive columns. The other ones stand beside them in whatever is handed
    on or written.
    """

    values: pl.DataFrame
    """Private: the insensitive columns, in the order of the input."""
    places: NDArray[np.int32]
    """Private: the row of `values` that each published row has."""

    @classmethod
    def beside(
        cls,
        release: CountedRelease,
        values: pl.DataFrame,
        places: NDArray[np.int32],
        *,
        schema: Schema,
        certificate: Certificate,
    ) -> ReleaseWithValues:
        """Return a verified release with values beside its rows; that they are those of its rows was verified, too."""
        given = {one.name: getattr(release, one.name) for one in fields(release)}
        return cls(**{**given, "schema": schema, "certificate": certificate}, values=values, places=places)

    def _types(self, frame: pl.DataFrame) -> Mapping[str, Any]:
        return {**frame.schema, **without_categories(self.values.head(0)).schema}

    def _batches(self, shown: pl.DataFrame, size: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        import polars as pl

        names = [*shown.columns, *self.values.columns] if columns is None else list(columns)
        values = self.values[[name for name in names if name in self.values.columns]]
        first = 0
        for batch in super()._batches(shown, size, shown.columns):
            beside = without_categories(values[self.places[first : first + batch.height]])
            first += batch.height
            yield pl.DataFrame([beside[name] if name in beside.columns else batch[name] for name in names])

    def _write_part(self, shown: pl.DataFrame, times: NDArray[np.int64], path: Path, first: int) -> None:
        beside = self.values[self.places[first : first + int(times.sum())]]
        write_repeated(shown, times, path, beside)

    def _verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame) -> None:
        """Verify the files from their cells, as ever; and that each row has the values that it has in the release."""
        super()._verify_written(path, names=names, shown=shown)
        scanned = self._scanned(path, self.schema.published)
        types = scanned.collect_schema()
        same = all(types[name] == kind for name, kind in self._types(shown.head(0)).items() if name not in names)
        sums, many = RowSums(), len(names)
        meant = sums.of_cells(without_categories(shown), self.counts, self.values, self.places)
        pieces = ((piece[:, :many], piece[:, many:]) for piece in in_pieces(scanned))
        if not same or sums.of_rows(pieces) != meant:
            raise ReleaseUnsafeError(
                "The written files are not the release that was verified: their rows have other values of the "
                "insensitive columns. Nothing was published."
            )
