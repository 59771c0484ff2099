"""The fields of a request about columns: roles, persons, and the treatment of missing and irregular values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal._core.validation import Integer, OneOf, Optional, Symbol
from shoal.request.request_field import requestable

_NAMES = "Separated by commas, or the option repeated. Put a name with a comma in double quotes."


@dataclass(frozen=True, kw_only=True, repr=False)
class ColumnFields:
    """The requested roles and treatments of columns; `Request` has these fields first."""

    # Roles of columns.
    quasi_identifiers: Sequence[str] = requestable(
        "sequence of str",
        "Columns that an adversary knows from elsewhere. A missing value is a value of its own.",
        section="columns",
        flag="--qi",
        metavar="NAMES",
        help=f"Quasi-identifiers: columns that an adversary may know. {_NAMES}",
        kind=tuple[str, ...],
    )
    sensitive: str | Sequence[str] | None = requestable(
        "str or sequence of str, optional",
        "Columns that must not be linked to a person.",
        section="columns",
        default=None,
        flag="--sensitive",
        metavar="NAMES",
        help="Sensitive attributes: columns that must not be linked to a person.",
        kind=tuple[str, ...],
    )
    direct_identifiers: Sequence[str] = requestable(
        "sequence of str",
        "Columns that identify a person; never published.",
        section="columns",
        default=(),
        flag="--id",
        metavar="NAMES",
        help="Direct identifiers: columns that identify a person, never published.",
        kind=tuple[str, ...],
    )
    insensitive: str | Sequence[str] = requestable(
        'sequence of str, or "rest"',
        'Columns that are published unchanged; "rest" means all columns without another role. Check them first: a '
        "forgotten column may identify people.",
        section="columns",
        default=(),
        flag="--insensitive",
        metavar="NAMES",
        help="Columns that reveal nothing about a person, published unchanged. The word rest stands for all columns "
        "without another role.",
        kind=tuple[str, ...],
    )
    # Sets of quasi-identifiers.
    qi_sets: Sequence[str | Sequence[str]] = requestable(
        "sequence of str or of sequences of str",
        "Sets of quasi-identifiers that different adversaries know: the models then hold for the groups of each set by "
        'itself, not of all quasi-identifiers together. A set is a list of names or a text, `"age,zip"`; '
        '`"age,zip:10"` has its own k. Without `quasi_identifiers` the columns of the sets are the quasi-identifiers.',
        section="columns",
        default=(),
        flag="--qi-set",
        metavar="NAMES[:K]",
        help="A set of quasi-identifiers that an adversary knows, such as age,zip or, with its own k, age,zip:10. "
        "Repeat it for others: the models hold for each set by itself.",
        kind=tuple[str, ...],
        read=str,
    )
    knows: int | None = requestable(
        "int, optional",
        "The number of quasi-identifiers that an adversary knows, at least 1, whichever they are: the models hold for "
        "the groups of every so many quasi-identifiers.",
        section="columns",
        default=None,
        flag="--knows",
        metavar="NUMBER",
        help="An adversary knows any so many of the quasi-identifiers: the models hold for every such set by itself.",
        kind=int,
        constraint=Optional(Integer(low=1)),
    )
    # Persons and further units.
    person: str | Sequence[str] | None = requestable(
        "str or sequence of str, optional",
        "The column, or several together, that identifies the person whose row it is, if persons have several rows. It "
        "is read and never published. `KAnonymity(k)`, and the k of every other model, then counts persons: none has "
        "more than one in k rows of a group. Models of sensitive values are about each record of a person.",
        section="columns",
        default=None,
        flag="--person",
        metavar="NAMES",
        help="The column (or several together) that identifies the person of each record. It is never published, "
        "and k counts persons instead of records.",
        kind=tuple[str, ...],
    )
    units: Sequence[str | Sequence[str]] = requestable(
        "sequence of str or of sequences of str",
        'Further kinds of units to protect in the same way as persons, such as households: `["household"]`.',
        section="columns",
        default=(),
        flag="--unit",
        metavar="NAMES",
        help="Columns that identify further units, such as households, protected in the same way as persons.",
        kind=tuple[str, ...],
    )
    missing_person: str = requestable(
        '{"error", "own"}',
        "The treatment of rows without a person: an error, or a separate person for each row.",
        section="columns",
        default="error",
        flag="--missing-person",
        metavar="error|own",
        help="Records without a person: an error, or a separate person for each record.",
        constraint=OneOf(("error", "own")),
    )
    rows_per_person: int | None = requestable(
        "int, optional",
        "Publish at most so many rows of a person; others are left out. With 1, the guarantees for rows hold "
        "for persons.",
        section="columns",
        default=None,
        flag="--rows-per-person",
        metavar="NUMBER",
        help="Publish at most this many records of each person. With 1, the guarantees for records hold for persons.",
        kind=int,
        constraint=Optional(Integer(low=1)),
    )
    kept_rows: str = requestable(
        '{"random", "first", "last"}',
        "The rows of a person to keep: random ones, or the first or last by the column `order`.",
        section="columns",
        default="random",
        flag="--kept-rows",
        metavar="random|first|last",
        help="The records of a person to keep: random ones, or the first or last by --order.",
        constraint=OneOf(("random", "first", "last")),
    )
    order: str | None = requestable(
        "str, optional",
        "The column of numbers or dates that orders the rows of a person.",
        section="columns",
        default=None,
        flag="--order",
        metavar="NAME",
        help="The column of numbers or dates that orders the records of a person.",
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
    # Missing and irregular values.
    lists: Mapping[str, str] | None = requestable(
        "mapping of column to str, optional",
        'Sensitive columns whose cells hold several values, with the separator between them: `{"diagnoses": ";"}`. '
        "l, t and beta then count the records that have a value, alone or among others. A column of lists (Parquet) is "
        "published as text with the separator.",
        section="columns",
        default=None,
        flag="--list",
        metavar="NAME=SEPARATOR",
        help="A sensitive column whose cells hold several values, with the separator between them, such as "
        "'diagnoses=;'. Repeat it for others.",
        kind=dict[str, str],
    )
    missing_sensitive: str = requestable(
        '{"error", "value", "drop"}',
        "The treatment of rows without a sensitive value: an error, an ordinary value, or left out.",
        section="columns",
        default="error",
        flag="--missing-sensitive",
        metavar="error|value|drop",
        help="Records without a sensitive value: an error, a value of its own, or left out.",
        constraint=OneOf(("error", "value", "drop")),
    )
    normalize: bool = requestable(
        "bool",
        "Whether to strip surrounding blanks and invisible characters (zero-width characters, soft hyphens, marks of "
        "direction) from sensitive values and quasi-identifiers that are text, and to compose their characters "
        "(Unicode NFC), before anything else. Text that becomes empty is missing. The normalized values are "
        "published. Without it, sensitive values that differ only in this way are an error.",
        section="columns",
        flag="--normalize",
        help="Strip surrounding blanks and invisible characters from sensitive values and quasi-identifiers, and "
        "compose characters (Unicode NFC), before anything else.",
        kind=bool,
    )
    star: str = requestable(
        "str",
        "The symbol of a suppressed cell. It must not be a value of the data, and must not contain digits or commas, "
        "which occur in numbers, dates, intervals and sets.",
        section="columns",
        default="*",
        flag="--star",
        metavar="SYMBOL",
        help="The symbol of a suppressed cell. Default: *.",
        constraint=Symbol(),
    )
