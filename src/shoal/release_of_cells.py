"""A verified release that is kept as distinct rows and how often each is published, for tables of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError, ReleaseUnsafeError
from shoal.io import collected, repeated, without_categories, write_repeated
from shoal.release import Release, sha256_of
from shoal.table.counts import windows
from shoal.verification import verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.release import Files
    from shoal.table import Table

__all__ = ["CountedRelease"]

_FILE_ROWS = 1 << 20
"""Rows of each file of a release but the last one."""
_SHOWN_ROWS = 100
"""Rows that a notebook may show some of."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CountedRelease(Release):
    """A release whose rows are kept once each, with how often they are published.

    It is that of a table which need not fit into memory. `frame` has no row twice for its own sake: rows that are alike
    and of one group are one row of it. `data` is a lazy frame, and `save` writes a folder of Parquet files.
    """

    counts: NDArray[np.int64]
    """How often each row of `frame` is published."""

    @classmethod
    def of(cls, release: Release, counts: NDArray[np.int64]) -> CountedRelease:
        """Return a verified release whose rows are published so often each: they were verified as such."""
        return cls(**{one.name: getattr(release, one.name) for one in fields(release)}, counts=counts)

    @cached_property
    def data(self) -> Any:
        """The published table, as a Polars lazy frame: its rows are made while it is read."""
        return self._handed_on(without_categories(self.published))

    def _handed_on(self, frame: pl.DataFrame) -> Any:
        """Return the rows of a table, each as often as it is published, as a lazy frame."""
        from polars.io.plugins import register_io_source

        def batches(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
        ) -> Iterator[pl.DataFrame]:
            left = rows
            for batch in self._batches(frame, size or _FILE_ROWS, columns):
                taken = batch if left is None else batch.head(left)
                left = None if left is None else left - taken.height
                yield taken if predicate is None else taken.filter(predicate)
                if left == 0:
                    return

        return register_io_source(batches, schema=self._types(frame))

    def _types(self, frame: pl.DataFrame) -> Mapping[str, Any]:
        """Return the columns of what is handed on, with their types."""
        return frame.schema

    @property
    def height(self) -> int:
        """Rows of the published table."""
        return int(self.counts.sum())

    @property
    def _table_of_rows(self) -> Table | None:
        return None

    def _batches(self, shown: pl.DataFrame, size: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield the rows of the published table with some columns, all by default, so many at a time."""
        shown = shown if columns is None else shown[list(columns)]
        for cells, times in windows(self.counts, size):
            yield repeated(shown[cells], times)

    def _write(self, shown: pl.DataFrame, path: Path, *, spreadsheet_safe: bool) -> Callable[[], Files]:
        """Write the published table as a folder of Parquet files; return what tells the certificate of them."""
        if path.suffix != ".parquet" or spreadsheet_safe:
            raise ParameterError(
                "A table that may be larger than memory is published as a folder of Parquet files. Leave the format "
                "out, and convert the files where another one is needed."
            )
        files = self._written_rows(shown, path)
        return lambda: files

    def _written_rows(self, shown: pl.DataFrame, path: Path) -> dict[str, dict[str, Any]]:
        """Write each row as often as it is published to a new folder of Parquet files; say what is in each."""
        path.mkdir()

        def write(number: int, cells: slice, times: NDArray[np.int64]) -> tuple[str, dict[str, Any]]:
            part = path / f"part-{number:05d}.parquet"
            self._write_part(shown[cells], times, part, number * _FILE_ROWS)
            return f"{path.name}/{part.name}", {"sha256": sha256_of(part), "rows": int(times.sum())}

        with ThreadPoolExecutor(max_workers=2) as pool:
            try:
                windowed = enumerate(windows(self.counts, _FILE_ROWS))
                written = [pool.submit(write, number, *window) for number, window in windowed]
                return dict(one.result() for one in written)
            except BaseException:  # nothing is written any more when the folder is removed
                pool.shutdown(cancel_futures=True)
                raise

    def _write_part(self, shown: pl.DataFrame, times: NDArray[np.int64], path: Path, first: int) -> None:
        """Write one file, which starts with the row of this number: each row of a table so many times."""
        write_repeated(shown, times, path)

    def _verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame) -> None:
        """Verify the files of a release from their cells, which an engine counts; see `Release._verify_written`."""
        import polars as pl

        scanned = self._scanned(path, [*names, *self.schema.insensitive])
        plain = without_categories(shown)
        # By number, because Polars takes the name "*" for all columns.
        keys = [str(number) for number in range(len(names))]
        numbered = scanned.select(pl.nth(number).alias(key) for number, key in enumerate(keys))
        found = collected(numbered.group_by(keys).agg(pl.len().cast(pl.Int64).alias("rows")))
        meant = pl.DataFrame([column.alias(key) for column, key in zip(plain, keys, strict=True)])
        meant = meant.with_columns(pl.Series("rows", self.counts)).group_by(keys).agg(pl.col("rows").sum())
        same = found.schema == meant.schema and found.height == meant.height
        if not same or not found.sort(keys).equals(meant.sort(keys), null_equal=True):
            raise ReleaseUnsafeError(
                "The written files are not the release that was verified: they hold other rows, or other numbers of "
                "them. Nothing was published."
            )
        times = found["rows"].to_numpy()
        found = found[keys]
        found.columns = list(names)
        achieved = verify(
            self._as_meant(found, plain),
            quasi_identifiers=self.schema.quasi_identifiers,
            sensitive=self.schema.sensitive,
            requirement=self.requirement,
            times=times,
        )
        if achieved.to_dict() != self.certificate.achieved:
            raise ReleaseUnsafeError(
                "What the written files achieve differs from the certificate. Nothing was published."
            )

    def _scanned(self, path: Path, names: Sequence[str]) -> pl.LazyFrame:
        """Return the files of a release, which must have these columns."""
        import polars as pl

        files = sorted(path.iterdir()) if path.is_dir() else [path]
        scanned = pl.scan_parquet(files, hive_partitioning=False, glob=False)
        if scanned.collect_schema().names() != list(names):
            raise ReleaseUnsafeError("The written files have other columns than the release. Nothing was published.")
        return scanned

    def _as_meant(self, found: pl.DataFrame, plain: pl.DataFrame) -> pl.DataFrame:
        """Return what was counted in files, with sensitive values as what they were written from, where models look.

        Text does not tell declared categories, nor dates and numbers in forms of their own.
        """
        import polars as pl

        for name in self.schema.sensitive if any(model.reads_values for model in self.requirement.models) else ():
            pairs = pl.DataFrame([plain[name].alias("shown"), self._distinct[name].alias("meant")]).unique()
            if pairs["shown"].n_unique() != pairs.height:
                raise ReleaseUnsafeError(f"The files tell other values of '{name}' apart. Nothing was published.")
            shown = found[name].alias("shown").to_frame()
            meant = shown.join(pairs, on="shown", how="left", nulls_equal=True, maintain_order="left")["meant"]
            found = found.with_columns(meant.alias(name))
        return found

    @property
    def _times(self) -> NDArray[np.int64]:
        return self.counts

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it: no more than the published table tells."""
        from shoal.report.notebook import card_of_release

        first = next(self._batches(self._as_written(self._distinct), _SHOWN_ROWS))
        return card_of_release(self._public_facts(self.public_certificate, None), first)

    def __repr__(self) -> str:
        achieved, cells = self.certificate.achieved, self._distinct.height
        return (
            f"{type(self).__name__}(rows={self.height}, cells={cells}, algorithm={self.certificate.algorithm!r}, "
            f"k={achieved['k']}, stars={self.certificate.cost.stars})"
        )
