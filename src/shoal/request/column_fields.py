"""The fields of a request about columns: their roles, whose the rows are, and what a missing or odd value is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal._core.validation import Integer, OneOf, Optional, Symbol
from shoal.request.request_field import requestable

__all__ = ["ColumnFields"]

_NAMES = "Separated by commas, or the option repeated; a name with a comma stands in double quotes."


@dataclass(frozen=True, kw_only=True, repr=False)
class ColumnFields:
    """What is requested of the columns of a table; `Request` has these fields first."""

    quasi_identifiers: Sequence[str] = requestable(
        "sequence of str",
        "Columns that an adversary knows from elsewhere. A missing value is a value of its own.",
        section="columns",
        flag="--qi",
        metavar="NAMES",
        help=f"Quasi-identifiers: what an adversary may know of a person. {_NAMES}",
        kind=tuple[str, ...],
    )
    sensitive: str | Sequence[str] | None = requestable(
        "str or sequence of str, optional",
        "Columns that must not be linked to a person.",
        section="columns",
        default=None,
        flag="--sensitive",
        metavar="NAMES",
        help="Sensitive attributes: what must not be linked to a person.",
        kind=tuple[str, ...],
    )
    direct_identifiers: Sequence[str] = requestable(
        "sequence of str",
        "Columns that name a person: dropped.",
        section="columns",
        default=(),
        flag="--id",
        metavar="NAMES",
        help="Direct identifiers: columns that name a person, never published.",
        kind=tuple[str, ...],
    )
    insensitive: str | Sequence[str] = requestable(
        'sequence of str, or "rest"',
        'Columns that are published as they are; "rest" is all columns that have no other role. Look at them first: a '
        "column that nobody thought of may name people.",
        section="columns",
        default=(),
        flag="--insensitive",
        metavar="NAMES",
        help="Columns that are neither, published as they are.",
        kind=tuple[str, ...],
    )
    person: str | Sequence[str] | None = requestable(
        "str or sequence of str, optional",
        "The column, or several together, that identifies the person whose row it is, if persons have several rows. It "
        "is read and never published. `KAnonymity(k)`, and the k of every other model, then counts persons: none has "
        "more than one in k rows of a group. Models of sensitive values are about each record of a person.",
        section="columns",
        default=None,
        flag="--person",
        metavar="NAMES",
        help="The column that identifies the person whose record it is (several columns together), never published: k "
        "counts persons then.",
        kind=tuple[str, ...],
    )
    units: Sequence[str | Sequence[str]] = requestable(
        "sequence of str or of sequences of str",
        'Further kinds of units that must each be protected as persons are, such as households: `["household"]`.',
        section="columns",
        default=(),
        flag="--unit",
        metavar="NAMES",
        help="Columns that identify further units, such as households, each of which is protected as persons are.",
        kind=tuple[str, ...],
    )
    missing_person: str = requestable(
        '{"error", "own"}',
        "What a row is whose person is missing: an error, or the row of a person of its own.",
        section="columns",
        default="error",
        flag="--missing-person",
        metavar="error|own",
        help="A record whose person is missing is an error, or that of a person of its own.",
        constraint=OneOf(("error", "own")),
    )
    rows_per_person: int | None = requestable(
        "int, optional",
        "At most so many rows of each person are published, and others left out: with 1, what is said of rows holds "
        "for persons.",
        section="columns",
        default=None,
        flag="--rows-per-person",
        metavar="NUMBER",
        help="Publish at most so many records of each person: with 1, everything said of records holds for persons.",
        kind=int,
        constraint=Optional(Integer(low=1)),
    )
    kept_rows: str = requestable(
        '{"random", "first", "last"}',
        "Which rows of a person stay: drawn at random, or the first or last by the column `order`.",
        section="columns",
        default="random",
        flag="--kept-rows",
        metavar="random|first|last",
        help="Which records of a person stay: drawn at random, or the first or last by --order.",
        constraint=OneOf(("random", "first", "last")),
    )
    order: str | None = requestable(
        "str, optional",
        "The column of numbers or dates that rows of a person are ordered by.",
        section="columns",
        default=None,
        flag="--order",
        metavar="NAME",
        help="The column of numbers or dates that records of a person are ordered by.",
    )
    link: bool = requestable(
        "bool",
        "Whether the rows of each person are published together, under a random pseudonym. Every person then publishes "
        "the same rows of quasi-identifiers as at least k - 1 others, and all models count persons. It needs `person`; "
        "rows are left out so that enough persons have equally many.",
        section="columns",
        flag="--link",
        help="Publish the records of each person together, under a random pseudonym. Needs --person.",
        kind=bool,
    )
    missing_sensitive: str = requestable(
        '{"error", "value", "drop"}',
        "What a missing sensitive value is: an error, a value like any other, or a reason to leave the row out.",
        section="columns",
        default="error",
        flag="--missing-sensitive",
        metavar="error|value|drop",
        help="A missing sensitive value is an error, a value of its own, or drops its row.",
        constraint=OneOf(("error", "value", "drop")),
    )
    normalize: bool = requestable(
        "bool",
        "Whether to strip blanks at the ends and invisible characters (zero-width characters, soft hyphens, marks of "
        "direction) from sensitive values and quasi-identifiers that are text, and to compose their characters "
        "(Unicode NFC), before anything else; text of which nothing is left is missing. The normalized values are "
        "published. Without it, sensitive values that differ in this alone are an error.",
        section="columns",
        flag="--normalize",
        help="Strip blanks at the ends and invisible characters from sensitive values and quasi-identifiers, and "
        "compose characters (Unicode NFC), before anything else.",
        kind=bool,
    )
    star: str = requestable(
        "str",
        "What a suppressed cell shows; it must not be a value of the data, and has neither digits nor commas: numbers, "
        "dates, intervals and sets have them.",
        section="columns",
        default="*",
        flag="--star",
        metavar="SYMBOL",
        help="The symbol of a suppressed cell, * unless given.",
        constraint=Symbol(),
    )
