"""Texts that people read as one value and programs compare as several: blanks, invisible characters, forms, case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from shoal._messages import Suggestion
from shoal.errors import DataError

__all__ = ["check_read_apart", "count_alike", "normalized", "normalized_columns"]

_INVISIBLE = (
    r"[[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]"
    r"--[\s\u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}\u{13430}-\u{1343F}]]"
)
"""Characters without a shape: zero-width characters, soft hyphens, marks of direction and byte order, variation
selectors, tags, fillers and control characters. Format characters with a shape, such as Arabic number signs, stay."""
_BLANK = r"[\s\u{2800}]"
_ENDS = f"^{_BLANK}+|{_BLANK}+$"
_NOT_PLAIN = r"[^ -~]|^ | $"
"""What normalization may change: everything else is printable ASCII that neither starts nor ends with a blank."""
_NOT_FOLDED = r"[^ -~]|^ | $|[A-Z]|  "
"""What folding may change."""
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def normalized(text: pl.Expr) -> pl.Expr:
    r"""Strip blanks at the ends and invisible characters from text and compose it (NFC); empty text becomes missing.

    Examples
    --------
    >>> pl.DataFrame({"s": ["HIV", " HIV\u00a0", "HI\u200bV", " "]}).select(normalized(pl.col("s")))["s"].to_list()
    ['HIV', 'HIV', 'HIV', None]
    """
    plain = text.str.replace_all(_INVISIBLE, "").str.replace_all(_ENDS, "").str.normalize("NFC")
    return pl.when(plain != "").then(plain).otherwise(None).name.keep()


def normalized_columns(frame: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Normalize the values of some columns that are text; the others, and the types of all, stay.

    Parameters
    ----------
    frame : polars.LazyFrame
    names : sequence of str
        Columns, of which those that are not text are left alone.
    """
    columns = []
    # By number, because Polars takes the name "*" for all columns.
    for place, (name, kind) in enumerate(frame.collect_schema().items()):
        column = pl.nth(place)
        if name in names and kind in _TEXT:
            column = normalized(column.cast(pl.String))
            if isinstance(kind, pl.Enum):
                told = kind.categories.alias("told").to_frame().select(normalized(pl.col("told"))).to_series()
                column = column.cast(pl.Enum(told.drop_nulls().unique(maintain_order=True)))
            elif kind == pl.Categorical:
                column = column.cast(kind)
        columns.append(column)
    return frame.select(columns)


def check_read_apart(columns: Iterable[tuple[str, pl.Series]], *, may_normalize: bool = True) -> None:
    """Check that readers see different values of sensitive columns as different ones.

    Two texts that differ in blanks at the ends, in invisible characters, or in a canonically equivalent form (Unicode
    Standard Annex 15) look the same: in a group they are one value to every reader, and two to a privacy model.

    Parameters
    ----------
    columns : iterable of (str, series)
        The name of each column, and its distinct values; only text can be written in several forms. A missing value
        reads like empty text.
    may_normalize : bool
        Whether the caller can ask for normalization, which the message suggests then.

    Raises
    ------
    DataError
        Some values read like another one.
    """
    for name, values in columns:
        if values.dtype not in _TEXT:
            continue
        text = values.cast(pl.String)
        if not text.str.contains(rf"{_NOT_PLAIN}|^$").any():
            continue
        plain = text.alias("text").to_frame().select(normalized(pl.col("text"))).to_series()
        again = len(plain) - plain.n_unique()
        if again:
            raise DataError(
                f"{again} value(s) of the sensitive column '{name}' read like another one: they differ in blanks at "
                "the ends, in invisible characters or in the form of Unicode alone. Readers see one and the same, and "
                "would be surer of it than they may be. Write them alike in the input",
                *((", or normalize them: ", Suggestion("normalize", True)) if may_normalize else ()),
                ".",
            )


def count_alike(values: pl.Series) -> tuple[int, pl.Series]:
    """Count the pairs of values that read alike, in upper or lower case and with compatibility characters, too.

    Parameters
    ----------
    values : polars.Series
        Values of one column; those that repeat count once, missing ones not at all.

    Returns
    -------
    pairs : int
    alike : polars.Series
        The values of these pairs, each once, in the type of the column.

    Examples
    --------
    >>> pairs, alike = count_alike(pl.Series(["HIV", "hiv", "HIV", "flu"]))
    >>> pairs, sorted(alike)
    (1, ['HIV', 'hiv'])
    """
    if values.dtype not in _TEXT:
        return 0, values.clear()
    different = values.unique().drop_nulls()
    text = different.cast(pl.String)
    if not text.str.contains(_NOT_FOLDED).any():
        return 0, values.clear()
    folded = _folded(text)
    repeated = folded.is_duplicated()
    sizes = folded.filter(repeated).value_counts()["count"].cast(pl.Int64)
    return int((sizes * (sizes - 1)).sum()) // 2, different.filter(repeated)


def _folded(text: pl.Series) -> pl.Series:
    """Return text in the form in which values that read alike are equal."""
    column = normalized(pl.col("text")).fill_null("").str.normalize("NFKC").str.to_lowercase()
    # Lower case keeps apart what case folding does not: the sharp s, the final sigma.
    column = column.str.replace_all("\u00df", "ss", literal=True).str.replace_all("\u03c2", "\u03c3", literal=True)
    column = column.str.normalize("NFKC").str.replace_all(f"{_BLANK}+", " ").str.strip_chars(" ")
    return text.alias("text").to_frame().select(column).to_series()
