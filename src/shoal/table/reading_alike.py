"""Texts that look equal to readers but differ for programs: blanks, invisible characters, Unicode forms, case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from shoal._messages import Suggestion
from shoal.errors import DataError

__all__ = ["check_distinguishable", "count_alike", "normalize_columns"]

_INVISIBLE = (
    r"[[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]"
    r"--[\s\u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}\u{13430}-\u{1343F}]]"
)
"""Characters without a glyph: zero-width characters, soft hyphens, direction and byte order marks, variation selectors,
tags, fillers and control characters. Format characters with a glyph, such as Arabic number signs, are not included."""
_BLANK = r"[\s\u{2800}]"
_ENDS = f"^{_BLANK}+|{_BLANK}+$"
_NOT_PLAIN = r"[^ -~]|^ | $"
"""Text that normalization may change; all other text is printable ASCII without a blank at either end."""
_NOT_FOLDED = r"[^ -~]|^ | $|[A-Z]|  "
"""Text that folding may change."""
_MIXED = r"(?s:[A-Za-z].*[\p{Cyrillic}\p{Greek}]|[\p{Cyrillic}\p{Greek}].*[A-Za-z])"
"""Pattern of texts that mix Latin with Cyrillic or Greek letters, in which a letter may imitate another one."""
_LIKE_LATIN = dict(
    zip(
        "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
        "\u0430\u0435\u0455\u0456\u0458\u043e\u0440\u0441\u0443\u0445"
        "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf",
        "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXo",
        strict=True,
    )
)
"""Cyrillic and Greek letters, and the Latin ones that they look like."""
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def normalize_text(text: pl.Expr) -> pl.Expr:
    r"""Strip outer blanks and invisible characters from text and compose it (NFC); empty text becomes missing.

    Examples
    --------
    >>> pl.DataFrame({"s": ["HIV", " HIV\u00a0", "HI\u200bV", " "]}).select(normalized(pl.col("s")))["s"].to_list()
    ['HIV', 'HIV', 'HIV', None]
    """
    plain = text.str.replace_all(_INVISIBLE, "").str.replace_all(_ENDS, "").str.normalize("NFC")
    return pl.when(plain != "").then(plain).otherwise(None).name.keep()


def normalize_columns(frame: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Normalize the values of text columns; types and other columns are unchanged.

    Parameters
    ----------
    frame : polars.LazyFrame
        The table.
    names : sequence of str
        Columns to normalize; those that are not text are skipped.
    """
    columns = []
    # Columns are addressed by number, because Polars treats the name "*" as a wildcard.
    for place, (name, kind) in enumerate(frame.collect_schema().items()):
        column = pl.nth(place)
        if name in names and kind in _TEXT:
            column = normalize_text(column.cast(pl.String))
            if isinstance(kind, pl.Enum):
                # Declared categories are normalized as well, and merged if they become equal.
                categories = kind.categories.alias("text").to_frame().select(normalize_text(pl.col("text"))).to_series()
                column = column.cast(pl.Enum(categories.drop_nulls().unique(maintain_order=True)))
            elif kind == pl.Categorical:
                column = column.cast(kind)
        columns.append(column)
    return frame.select(columns)


def check_distinguishable(columns: Iterable[tuple[str, pl.Series]], *, may_normalize: bool = True) -> None:
    """Check that distinct values of sensitive columns look different to readers.

    Two texts that differ in outer blanks, in invisible characters, or in a canonically equivalent form (Unicode
    Standard Annex 15) look the same. Within a group, every reader sees one value, but a privacy model counts two.

    Parameters
    ----------
    columns : iterable of (str, series)
        Name and distinct values of each column; only text can have several forms. A missing value is equal to empty
        text.
    may_normalize : bool
        Whether the caller supports normalization, which the message then suggests.

    Raises
    ------
    DataError
        If some values look like another one.
    """
    for name, values in columns:
        if values.dtype not in _TEXT:
            continue
        text = values.cast(pl.String)
        # Plain ASCII cannot be ambiguous, and is checked fast.
        if not text.str.contains(rf"{_NOT_PLAIN}|^$").any():
            continue
        plain = text.alias("text").to_frame().select(normalize_text(pl.col("text"))).to_series()
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
    """Count the pairs of values that look alike, ignoring case and compatibility variants.

    Parameters
    ----------
    values : polars.Series
        Values of one column; repeated values count once, missing values are ignored.

    Returns
    -------
    pairs : int
        Number of pairs.
    alike : polars.Series
        Distinct values of these pairs, in the type of the column.

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
    folded = _fold_text(text)
    repeated = folded.is_duplicated()
    # n values with the same form make n (n - 1) / 2 pairs.
    sizes = folded.filter(repeated).value_counts()["count"].cast(pl.Int64)
    return int((sizes * (sizes - 1)).sum()) // 2, different.filter(repeated)


def _fold_text(text: pl.Series) -> pl.Series:
    """Fold text so that values that look alike become equal."""
    column = normalize_text(pl.col("text")).fill_null("").str.normalize("NFKC")
    mixed = column.str.contains(_MIXED)
    column = pl.when(mixed).then(column.str.replace_many(_LIKE_LATIN)).otherwise(column).str.to_lowercase()
    # Lower-casing distinguishes the sharp s and the final sigma; case folding does not.
    column = column.str.replace_all("\u00df", "ss", literal=True).str.replace_all("\u03c2", "\u03c3", literal=True)
    column = column.str.normalize("NFKC").str.replace_all(f"{_BLANK}+", " ").str.strip_chars(" ")
    return text.alias("text").to_frame().select(column).to_series()
