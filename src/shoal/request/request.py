"""The class `Request`: everything that can be requested of a release, each field declared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from shoal._core.validation import (
    Integer,
    OneOf,
    Optional,
    number_in,
    parameters_of,
    validate_declared,
)
from shoal._messages import Suggestion
from shoal.algorithms import ALGORITHMS, PREFERENCES, Preferences, choose
from shoal.errors import ColumnError, ParameterError
from shoal.models import Requirement, collect_models
from shoal.recoding import LARGEST_SET, METHODS
from shoal.request.column_fields import ColumnFields
from shoal.request.hierarchies import trees_of
from shoal.request.request_field import requestable
from shoal.request.texts import levels_in
from shoal.table import PSEUDONYM, roles

if TYPE_CHECKING:
    from shoal._core.facts import Fact
    from shoal.algorithms import Algorithm
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import PrivacyModel
    from shoal.report import About
    from shoal.table import Schema

__all__ = ["ENGINES", "Request", "fields_in"]

ENGINES = ("auto", "memory", "stream", "spark")
"""The engines that read and write tables."""
_LEAST_SHARED = 3
"""With only two people who share a value, each would know that the other has it."""
_LISTS = ("quasi_identifiers", "sensitive", "direct_identifiers", "insensitive", "person")


@dataclass(frozen=True, kw_only=True, repr=False)
class Request(ColumnFields):
    """Everything that is requested of a release; the keywords of `shoal.anonymize` are its fields.

    A request is a value. It is validated when it is created, and it can be run on several tables, compared, tuned, and
    written as a spec file.

    Examples
    --------
    >>> import shoal
    >>> request = Request(quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> shoal.anonymize(people, request).certificate.algorithm
    'tp+'
    """

    # Privacy models, directly or by their most common parameters.
    privacy: PrivacyModel | Sequence[PrivacyModel] | None = requestable(
        "PrivacyModel or sequence of PrivacyModel, optional",
        "The models that every group, or the release as a whole, must satisfy.",
        section="model",
        default=None,
    )
    k: int | None = requestable(
        "int, optional", "Short for `KAnonymity(k)`, which is added to `privacy`.", section="model", default=None
    )
    l: float | None = requestable(
        "number, optional", "Short for `LDiversity(l)`, which is added to `privacy`.", section="model", default=None
    )
    t: float | None = requestable(
        "number, optional", "Short for `TCloseness(t)`, which is added to `privacy`.", section="model", default=None
    )
    # The method: algorithm, randomness and order.
    algorithm: str | Algorithm = requestable(
        'str or Algorithm, default "auto"',
        'A name ("tp+", "mondrian", ...) or an object such as `shoal.ThreePhase(refine="hilbert")`.',
        section="method",
        default="auto",
        flag="--algorithm",
        metavar="NAME",
        help=f"auto (default) chooses by models and recoding. By name: {', '.join(ALGORITHMS)}. "
        "See `shoal list algorithms`.",
    )
    seed: int | None = requestable(
        "int, optional",
        "Seed for reproducible experiments, at least 0; by default randomness comes from the operating system.",
        section="method",
        default=None,
        flag="--seed",
        metavar="NUMBER",
        help="Makes the release reproducible. Default: randomness from the operating system.",
        kind=int,
        constraint=Optional(Integer(low=0)),
    )
    keep_order: bool = requestable(
        "bool",
        "Whether to keep the row order of the input, which may reveal something about the rows. By default rows are "
        "sorted by their published values.",
        section="method",
        flag="--keep-order",
        help="Keep the row order of the input (it may reveal something about the rows).",
        kind=bool,
    )
    # Engines and their memory.
    engine: Literal["auto", "memory", "stream", "spark"] = requestable(
        '{"auto", "memory", "stream", "spark"}',
        '"memory" reads the whole table. "stream" reads batches within `memory`, for larger tables: `data` is a path '
        "to Parquet or CSV, a folder of Parquet files, or a lazy frame, the values of insensitive columns must fit "
        'into the memory, and `release.data` is a lazy frame. "spark" lets Spark read and write: `data` is a PySpark '
        "DataFrame, or Parquet by a path or URI that the active session reads; there are no insensitive columns, and "
        '`release.data` is a PySpark DataFrame. "auto" chooses "spark" for PySpark DataFrames, and "stream" for '
        "folders, for tables that do not fit, and if `memory` is given.",
        section="engine",
        default="auto",
        flag="--engine",
        metavar="NAME",
        help="memory reads the whole table, stream reads batches of tables larger than memory (Parquet, a folder of "
        "Parquet files, or CSV), spark lets Spark read and write (Parquet by a path or URI such as hdfs://...; no "
        "insensitive columns). auto (default) chooses a suitable one.",
        constraint=OneOf(ENGINES),
    )
    memory: int | str | None = requestable(
        "int or str, optional",
        'The memory limit of the engines "stream" and "spark" in this process, in bytes or as text ("4GB"); half of '
        "the machine's memory by default. Spark's own processes follow their settings.",
        section="engine",
        default=None,
        flag="--memory",
        metavar="SIZE",
        help="With --engine stream or spark: the memory limit, such as 4GB. Default: half of the machine's memory. "
        "Spark's own processes follow their settings.",
    )
    # Recoding: stars or generalized values, hierarchies and coarsenings.
    recoding: Literal["suppression", "generalization"] = requestable(
        '{"suppression", "generalization"}',
        "Whether values that differ within a group become a star, or the smallest interval or set that covers them.",
        section="recoding",
        default="suppression",
        flag="--recoding",
        metavar="HOW",
        help="suppression (default) publishes stars; generalization publishes the intervals and sets that cover a "
        "group's values, or their common ancestor in a --hierarchy.",
        constraint=OneOf(tuple(METHODS)),
    )
    largest_set: int = requestable(
        "int",
        "For generalization: a set has at most this many values; larger ones become a star. A set shows exact values, "
        "so that anyone who knows a person's value sees if it is a member. For less precise groups, coarsen the "
        "column, or give it a hierarchy.",
        section="recoding",
        default=LARGEST_SET,
        flag="--largest-set",
        metavar="NUMBER",
        help="With --recoding generalization: sets with more values than this become a star. Default: 16.",
        kind=int,
        constraint=Integer(low=1),
    )
    exact_ends: bool = requestable(
        "bool",
        "For generalization without a hierarchy. By default, no end of an interval and no member of a set is the "
        "exact value of fewer than k records (the requested k, and at least 3): ends move outward, to months, "
        "quarters, years, decades or round numbers, until k records are that close, and a set becomes a star. True "
        "publishes the smallest intervals and sets, whose ends are usually the value of a single record.",
        section="recoding",
        flag="--exact-ends",
        help="With --recoding generalization: allow ends of intervals, and members of sets, that fewer than k "
        "records have as their value. By default ends move outward, to months, years or round numbers.",
        kind=bool,
    )
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = requestable(
        "mapping of column to Hierarchy or path, optional",
        "For generalization: quasi-identifiers whose values become the lowest common ancestor of a group's values, "
        "in a tree or its file (one line per value, from the value to the root). The root is shown as a star.",
        section="recoding",
        default=None,
        flag="--hierarchy",
        metavar="NAME=FILE",
        help="With --recoding generalization: publish the lowest common ancestor of a group's values, in a tree with "
        "one line per value, from the value to the root; repeat it for other columns.",
        kind=dict[str, str],
    )
    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None = requestable(
        "mapping of column to Coarsening, optional",
        "Coarsenings of quasi-identifiers beforehand; the key of a coarsening of several columns is a tuple.",
        section="recoding",
        default=None,
        flag="--coarsen",
        metavar="NAME=HOW",
        help="Make a column less precise beforehand; repeat it for others. HOW is prefix:3, bins:10, cuts:18,30,65, "
        "quantiles:4, date:year|quarter|month, level:FILE:2, round:5, top:90, bottom:18, labels:K, ordered:K, "
        "points:K (of two columns), regions:EDGES.csv:K, zip3, any (all values as one).",
        kind=dict[str, str],
    )
    # Preferences that only some algorithms support.
    weights: Mapping[str, float] | None = requestable(
        "mapping of column to number, optional",
        'Weights of the quasi-identifiers in the loss, each > 0 and 1 by default: `{"age": 2}` keeps ages more '
        "precise at the cost of the others. The algorithm minimizes the weighted loss, so it must support weights "
        '("full-domain", which "auto" chooses, "patterns", "patterns-optimal").',
        section="preferences",
        default=None,
        flag="--weight",
        metavar="NAME=NUMBER",
        help="The weight of a column in the loss. Default: 1. Repeat it for others. For full-domain, patterns.",
        kind=dict[str, float | str],
        read=number_in,
    )
    limits: Mapping[str, tuple[int, int]] | None = requestable(
        "mapping of column to pair of int, optional",
        "The lowest and the highest level of its hierarchy, inclusive, at which a quasi-identifier may be published: "
        "0 is the value itself, the last one a star. Without a hierarchy there are only these two. Suppressed rows "
        'are stars in any case. For algorithms that choose levels ("full-domain", which "auto" then chooses).',
        section="preferences",
        default=None,
        flag="--limit",
        metavar="NAME=LOW:HIGH",
        help="The lowest and the highest level of its hierarchy at which a column may be published; level 0 is the "
        "value itself. Repeat it for others. For full-domain.",
        kind=dict[str, tuple[int, int] | str],
        read=levels_in,
    )
    suppression_limit: float | None = requestable(
        "number, optional",
        "The largest share of rows that may be suppressed, from 0 to 1, for algorithms with such a limit "
        '("full-domain", which "auto" then chooses).',
        section="preferences",
        default=None,
    )
    # Formats of values in text columns.
    dates: Mapping[str, str] | None = requestable(
        "mapping of column to str, optional",
        'The date formats of text columns, in the notation of `strptime` ("%d.%m.%Y"). By default the only format '
        "that fits a whole column; if two fit, the format is required. Values that are published unchanged keep "
        "their format.",
        section="forms",
        default=None,
        flag="--date",
        metavar="NAME=FORMAT",
        help="The date format of a column, such as born=%d.%m.%Y. Default: detected. Repeat it for others.",
        kind=dict[str, str],
    )
    decimal: str | None = requestable(
        '{",", "."}, optional',
        "The decimal separator in text columns; detected by default.",
        section="forms",
        default=None,
        flag="--decimal",
        metavar="SIGN",
        help="The decimal separator in text, a comma or a point. Default: detected.",
    )
    # Options of reading files.
    delimiter: str | None = requestable(
        "str, optional",
        "The delimiter of a CSV file; detected by default.",
        section="reading",
        default=None,
        flag="--delimiter",
        metavar="CHARACTER",
        help="The delimiter of a CSV input. Default: detected.",
    )
    encoding: str | None = requestable(
        "str, optional",
        "Encoding of a CSV file; detected by default.",
        section="reading",
        default=None,
        flag="--encoding",
        metavar="NAME",
        help="The encoding of a CSV input. Default: detected.",
    )
    sheet: str | None = requestable(
        "str, optional",
        "The sheet of a workbook; required if it has several.",
        section="reading",
        default=None,
        flag="--sheet",
        metavar="NAME",
        help="The sheet of a workbook; required if it has several.",
    )
    # Options of saving.
    about: About | None = requestable(
        "About, optional",
        "Title, institution, purpose and more, for the first sheet of the reports.",
        section="output",
        default=None,
    )
    output: str | PathLike[str] | None = requestable(
        "path, optional",
        "A folder to save the release to, as `Release.save` does; the fields below are its parameters.",
        section="output",
        default=None,
        flag="--output",
        short="-o",
        metavar="OUT",
        help="Folder for the release: all of it may be published. Private files go to OUT.private in the same place.",
    )
    format: str | None = requestable(
        '{"csv", "parquet", "xlsx", "ods"}, optional',
        "Format of the release; that of the input by default.",
        section="output",
        default=None,
        flag="--format",
        metavar="FORMAT",
        help="Format of the release: csv, parquet, xlsx or ods; by default that of the input.",
    )
    spreadsheet_safe: bool = requestable(
        "bool",
        "Whether to quote cells that a spreadsheet would run as a formula.",
        section="output",
        flag="--spreadsheet-safe",
        help="Quote cells that a spreadsheet would run as a formula.",
        kind=bool,
    )
    publish_proof: bool = requestable(
        "bool",
        "Whether the public certificate and report also state the algorithm, its costs and the lower bound.",
        section="output",
        flag="--publish-proof",
        help="Also state the algorithm, its costs and the lower bound in OUT; they reveal more than the table.",
        kind=bool,
    )
    strict: bool = requestable(
        "bool",
        "Whether to refuse a release with `warnings`.",
        section="output",
        flag="--strict",
        help="Write nothing if the release has warnings. See `shoal list warnings`.",
        kind=bool,
    )
    force: bool = requestable(
        "bool",
        "Whether to replace existing folders of an earlier release.",
        section="output",
        flag="--force",
        help="Replace OUT and OUT.private if they exist.",
        kind=bool,
    )

    def __post_init__(self) -> None:
        validate_declared("Request", self)
        if self.rows_per_person is not None and self.person is None:
            raise ParameterError("Name the column that identifies persons with ", Suggestion("person"), ".")
        if self.rows_per_person is not None and self.link:
            raise ParameterError(
                "Linked rows choose how many rows each person has. Leave out ",
                Suggestion("link", True),
                " or ",
                Suggestion("rows_per_person", self.rows_per_person),
                ".",
            )
        if self.kept_rows != "random" and self.order is None:
            raise ParameterError("Name the column that orders the rows of a person with ", Suggestion("order"), ".")
        for name in (*_LISTS, "privacy"):
            if isinstance(getattr(self, name), list):  # makes requests with equal names equal
                object.__setattr__(self, name, tuple(getattr(self, name)))

    def __repr__(self) -> str:
        models = None if self.privacy is None and self.k is self.l is self.t is None else self.requirement.models
        return f"Request({[*(models or ())]!r}, algorithm={_name_of(self.algorithm)!r})"

    @cached_property
    def schema(self) -> Schema:
        """The role of each column."""
        named = self.quasi_identifiers, self.sensitive, self.direct_identifiers, self.insensitive
        return replace(roles(*named, self.person, self.units), linked=self.link)

    def check_unlinked(self, verb: str) -> None:
        """Refuse linked rows for a verb whose candidates share one table: pseudonyms belong to one release.

        Raises
        ------
        ParameterError
            If the rows of a person are to be published together.
        """
        if self.link:
            raise ParameterError(
                f"{verb} does not link rows. Leave out ", Suggestion("link", True), ", or use anonymize."
            )

    @cached_property
    def models(self) -> PrivacyModel | Sequence[PrivacyModel]:
        """The models, including those of `k`, `l` and `t`."""
        return collect_models(self.privacy, k=self.k, l=self.l, t=self.t)

    @cached_property
    def requirement(self) -> Requirement:
        """The requirement of every group and of the release."""
        # With one row per person, counting rows is counting persons.
        one, units = self.rows_per_person == 1, self.schema.units
        kinds = units[1:] if one else units
        lists = {name: separator for name, separator in (self.lists or {}).items() if name in self.schema.sensitive}
        return Requirement.of(
            self.models, self.schema.sensitive, kinds, one_row_each=one, linked=self.link, lists=lists
        )

    @cached_property
    def preferences(self) -> Preferences:
        """The further preferences of the algorithm."""
        preferred: dict[str, Any] = {name: getattr(self, name) for name in PREFERENCES}
        return Preferences.of(self.schema.quasi_identifiers, **preferred)

    @cached_property
    def _choice(self) -> tuple[Algorithm, Fact]:
        return choose(self.algorithm, self.requirement, self.recoding, self.preferences)

    @property
    def chosen(self) -> Algorithm:
        """The algorithm that partitions the table."""
        return self._choice[0]

    @property
    def reason(self) -> Fact:
        """The reason of the choice."""
        return self._choice[1]

    @cached_property
    def coarsenings(self) -> Mapping[str | tuple[str, ...], Coarsening]:
        """The coarsening of each column that has one."""
        return self.coarsen or {}

    @cached_property
    def trees(self) -> Mapping[str, Hierarchy]:
        """The given hierarchies of quasi-identifiers, over the values before any coarsening."""
        return trees_of(self.hierarchies or {}, self.schema.quasi_identifiers)

    @property
    def climbs(self) -> bool:
        """True if every quasi-identifier needs a hierarchy, which is built automatically if none is given."""
        return self.recoding == "generalization" and self.chosen.capabilities.hierarchical

    @property
    def about_cells(self) -> dict[str, Any]:
        """The entries of certificates about cells and rows, for the publisher and for readers."""
        # Entries that are only present if requested keep older certificates unchanged.
        facts: dict[str, Any] = {
            "star": self.star,
            "keep_order": self.keep_order,
            "missing_sensitive": self.missing_sensitive,
        }
        if self.schema.units:
            facts["missing_person"] = self.missing_person
        if self.link:
            facts["link"] = True
        if self.lists:
            facts["lists"] = dict(self.lists)
        if self.rows_per_person is not None:
            facts |= {"rows_per_person": self.rows_per_person, "kept_rows": self.kept_rows}
        return {**facts, "normalize": True} if self.normalize else facts

    @property
    def shared_by(self) -> int:
        """The minimum number of records with the value of an end or a member; 1 if any may be shown."""
        return 1 if self.exact_ends else self.few

    @property
    def few(self) -> int:
        """The k of published ends: fewer records must not have such a value, unless requested; 1 without any ends."""
        # Ends occur in columns that are generalized without a hierarchy, and in some coarsenings.
        by_itself = set(self.schema.quasi_identifiers) - set(self.trees)
        makes_ends = self.chosen.capabilities.makes_ends and not self.climbs
        recoded = self.recoding == "generalization" and makes_ends and by_itself
        if not recoded and not any(coarsening.ends_at_values for coarsening in self.coarsenings.values()):
            return 1
        k = self.requirement.k
        return max(_LEAST_SHARED, k if k > 1 else self.requirement.least_size)

    @property
    def saving(self) -> dict[str, Any]:
        """The options of saving, as arguments of `Release.save`."""
        names = [name for name in fields_in("output") if name != "output"]
        return {name: getattr(self, name) for name in names}

    def resolve(self, columns: Sequence[str]) -> Request:
        """Resolve the request for the columns of a table, and validate all of it.

        Parameters
        ----------
        columns : sequence of str
            The columns of the table.

        Returns
        -------
        Request
            The same request with all columns named and all hierarchies read.

        Raises
        ------
        UsageError
            If a column does not exist, nothing can be published as requested, or no algorithm supports the request.
        """
        # Each property validates a part of the request when it is first computed.
        resolved = self.resolve_columns(columns)
        _ = resolved.requirement
        resolved = replace(resolved, hierarchies=resolved.trees)
        _ = resolved.chosen
        return resolved

    def resolve_columns(self, columns: Sequence[str]) -> Request:
        """Resolve the roles for the columns of a table.

        Raises
        ------
        UsageError
            If a column does not exist, or nothing can be published as requested.
        """
        if self.link and PSEUDONYM in columns:
            raise ColumnError(
                f"The table has a column '{PSEUDONYM}', the name of the pseudonyms of linked rows. Rename it."
            )
        # "rest" stands for all columns without another role.
        schema = self.schema.with_rest(columns)
        schema.check(columns)
        if not schema.published:
            raise ColumnError("No column is left to publish. Name quasi-identifiers, sensitive or insensitive columns.")
        if "" in schema.published:
            raise ColumnError("A column without a name cannot be published. Name it, or make it a direct identifier.")
        if self.hierarchies and self.recoding != "generalization":
            raise ParameterError(
                "Hierarchies need ",
                Suggestion("recoding", "generalization"),
                ": suppression publishes only values and stars.",
            )
        if self.link and len(schema.units) != 1:
            raise ParameterError(
                "Linked rows need one column, or several together, that identify the person of each row: name it with ",
                Suggestion("person"),
                ".",
            )
        for name in self.lists or ():
            if name not in schema.sensitive:
                raise ColumnError(f"The column '{name}' is not sensitive: only sensitive columns may hold lists.")
        if self.lists and self.requirement.lists and self.requirement.units and not self.link:
            raise ParameterError(
                "Lists of values need one record for each person. Publish the records of a person together with ",
                Suggestion("link", True),
                ", or choose one of them with ",
                Suggestion("rows_per_person", 1),
                ".",
            )
        # Linked rows have a column of pseudonyms, which is made when they are linked.
        return replace(self, insensitive=(*schema.insensitive, *((PSEUDONYM,) * self.link)))


def fields_in(*sections: str) -> tuple[str, ...]:
    """Return the names of the fields in some sections; see `RequestField.section`."""
    declared: Mapping[str, Any] = parameters_of(Request)
    return tuple(name for name, one in declared.items() if one.section in sections)


def _name_of(algorithm: str | Algorithm) -> str:
    return algorithm if isinstance(algorithm, str) else algorithm.name
