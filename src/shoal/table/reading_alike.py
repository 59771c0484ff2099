"""Values that look equal to readers but differ for programs: blanks, invisible signs, Unicode, case, numbers, stops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from shoal._messages import Suggestion
from shoal.errors import DataError

INVISIBLE = (
    r"[[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]"
    r"--[\s\u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}\u{13430}-\u{1343F}]]"
)
"""Characters without a glyph, in values, ids and names alike: zero-width characters, soft hyphens, direction and byte
order marks, variation selectors, tags, fillers and control characters. Format characters with a glyph, such as Arabic
number signs, are not included."""
_BLANK = r"[\s\u{2800}]"
ENDS = f"^{_BLANK}+|{_BLANK}+$"
"""Blanks at the ends of a text."""
_NOT_PLAIN = r"[^ -~]|^ | $"
"""Text that normalization may change; all other text is printable ASCII without a blank at either end."""
_MARKS = r""".,;:!?'"()\[\]{}_"""
"""Punctuation that words are the same without."""
_NOT_FOLDED = (
    r"[^ -~]|^ | $|[A-Z]|  |^[+.,]|^-?0.|^-0|^\d+[-/]|^-?\d.*[.,e' ]|^n(a|/a|an|ull)$|^#n/a$|^<na>$"
    rf"|[a-z].*[{_MARKS}-]|[{_MARKS}-].*[a-z]"
)
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
_SIGNS = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    "\u2044": "/",
    "\u2215": "/",
    "\u00d7": "x",
    "\u0131": "i",
    "i\u0307": "i",
    **{chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966) for digit in range(10)},
}
"""Dashes, quotation marks, fraction bars and digits in one form each. NFKC turns \u00bd into a 1, a bar and a 2."""
_MISSING = r"^(n/?a|#n/a|nan|null|<na>)$"
"""Texts that programs read as a missing value, folded."""
_THOUSANDS = r"^([+-]?\d{1,3})(([ ',])\d{3})+$"
_DECIMAL = r"^[+-]?(\d+[.,]?\d*|[.,]\d+)$"
_SCIENTIFIC = r"^[+-]?\d+([.,]\d+)?e[+-]?\d{1,2}$"
_DATE = r"^(\d{1,2}([./-])\d{1,2}[./-]\d{2,4}|\d{4}-\d{1,2}-\d{1,2})$"
_DIGITS = 12
"""Significant digits in which floating-point numbers must differ to look different."""
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def normalize_text(text: pl.Expr) -> pl.Expr:
    r"""Strip outer blanks and invisible characters from text and compose it (NFC); empty text becomes missing.

    Examples
    --------
    >>> pl.DataFrame({"s": ["HIV", " HIV\u00a0", "HI\u200bV", " "]}).select(normalize_text(pl.col("s")))["s"].to_list()
    ['HIV', 'HIV', 'HIV', None]
    """
    plain = text.str.replace_all(INVISIBLE, "").str.replace_all(ENDS, "").str.normalize("NFC")
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
    """Count the pairs of values that look alike, ignoring case, compatible signs, punctuation and forms of numbers.

    Parameters
    ----------
    values : polars.Series
        Values of one column; repeated values count once. A missing value is equal to texts such as `NA`, which programs
        read as missing.

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
    >>> count_alike(pl.Series(["1", "1.0", "01", "2", "\u00bd", "1/2"]))[0]
    4
    """
    different = values.unique()
    if values.dtype.is_float():
        different = different.drop_nulls().filter(different.drop_nulls().is_finite())
        folded = different.round_sig_figs(_DIGITS)
    elif values.dtype in _TEXT:
        text = different.cast(pl.String)
        if not text.str.contains(_NOT_FOLDED).any():
            return 0, values.clear()
        folded = _fold_text(text)
    else:
        return 0, values.clear()
    repeated = folded.is_duplicated()
    # n values with the same form make n (n - 1) / 2 pairs.
    sizes = folded.filter(repeated).value_counts()["count"].cast(pl.Int64)
    return int((sizes * (sizes - 1)).sum()) // 2, different.filter(repeated).drop_nulls()


def _fold_text(text: pl.Series) -> pl.Series:
    """Fold text so that values that look alike become equal."""
    column = pl.col("text")
    latin = pl.when(column.str.contains(_MIXED)).then(column.str.replace_many(_LIKE_LATIN)).otherwise(column)
    # Lower-casing distinguishes the sharp s and the final sigma; case folding does not.
    sharp = column.str.replace_all("\u00df", "ss", literal=True).str.replace_all("\u03c2", "\u03c3", literal=True)
    signs = sharp.str.normalize("NFKC").str.replace_all(f"{_BLANK}+", " ").str.strip_chars(" ").str.replace_many(_SIGNS)
    frame = text.alias("text").to_frame()
    # Each step is a query: within a query, Polars evaluates an expression once for each reference to it.
    for step in (normalize_text(column).fill_null("").str.normalize("NFKC"), latin.str.to_lowercase(), signs):
        frame = frame.select(step)
    return _drop_punctuation(_fold_numbers(frame)).get_column("text").str.replace(_MISSING, "")


def _drop_punctuation(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop punctuation from texts with letters, but not between digits, nor a minus sign at an end of a word."""
    text, plain = pl.col("text"), pl.col("plain")
    steps = [
        (rf"(^|[^0-9{_MARKS}])[{_MARKS}]+", "${1}"),
        (rf"[{_MARKS}]+([^0-9{_MARKS}]|$)", "${1}"),
        # Twice, because the letter after one hyphen is the letter before the next.
        *[(r"(\pL)-([\pL0-9])", "${1}${2}")] * 2,
        (r"([0-9])-(\pL)", "${1}${2}"),
    ]
    frame = frame.select("text", plain=text)
    for pattern, kept in steps:
        frame = frame.with_columns(plain=plain.str.replace_all(pattern, kept))
    worded = text.str.contains(r"\pL") & ~text.str.contains(_SCIENTIFIC)
    return frame.select(pl.when(worded).then(plain.str.strip_chars(" ")).otherwise(text).alias("text"))


def _fold_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Write numbers with a decimal point, without separators of thousands, plus signs and zeros at the ends.

    Days and months of dates have no leading zero.
    """
    # Digits are changed as text, because numbers of patients are longer than a float is exact.
    text, plain = pl.col("text"), pl.col("plain")
    many = text.str.contains(_THOUSANDS)
    frame = frame.with_columns(plain=pl.when(many).then(text.str.replace_all(r"[ ',]", "")).otherwise(text))
    float_text = plain.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).cast(pl.String)
    power = plain.str.contains(_SCIENTIFIC)
    frame = frame.with_columns(plain=pl.when(power).then(float_text).otherwise(plain))
    short = plain.str.replace(",", ".", literal=True).str.replace(r"^\+", "").str.replace(r"^(-?)0+(\d)", "${1}${2}")
    short = short.str.replace(r"^(-?)\.", "${1}0.").str.replace(r"\.0*$", "").str.replace(r"(\.\d*?)0+$", "${1}")
    dates = pl.when(text.str.contains(_DATE)).then(text.str.replace_all(r"\b0(\d)", "${1}")).otherwise(plain)
    numbers = pl.when(plain.str.contains(_DECIMAL)).then(short.str.replace("^-0$", "0")).otherwise(dates)
    return frame.select(numbers.alias("text"))
