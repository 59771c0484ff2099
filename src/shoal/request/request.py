"""`Request`: everything that can be requested of a release, each thing declared once."""

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
"""What reads and writes a table."""
_LEAST_SHARED = 3
"""Of two people with a value each knows that it is the other's."""
_LISTS = ("quasi_identifiers", "sensitive", "direct_identifiers", "insensitive")


@dataclass(frozen=True, kw_only=True, repr=False)
class Request(ColumnFields):
    """Everything that is requested of a release; the keywords of `shoal.anonymize` are its fields.

    A request is a value: it is validated when it is made, and the same request may be run on several tables, compared,
    tuned, and written as a spec file.

    Examples
    --------
    >>> import shoal
    >>> request = Request(quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> shoal.anonymize(people, request).certificate.algorithm
    'tp+'
    """

    privacy: PrivacyModel | Sequence[PrivacyModel] | None = requestable(
        "PrivacyModel or sequence of PrivacyModel, optional",
        "What every group, or the release as a whole, must satisfy; several hold together.",
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
    algorithm: str | Algorithm = requestable(
        'str or Algorithm, default "auto"',
        'A name ("tp+", "mondrian", ...) or an object such as `shoal.ThreePhase(refine="hilbert")`.',
        section="method",
        default="auto",
        flag="--algorithm",
        metavar="NAME",
        help=f"auto (unless given), which picks by models and recoding, or by name: {', '.join(ALGORITHMS)}. "
        "`shoal list algorithms` says what each does.",
    )
    seed: int | None = requestable(
        "int, optional",
        "For reproducible experiments; by default randomness comes from the operating system.",
        section="method",
        default=None,
        flag="--seed",
        metavar="NUMBER",
        help="Make the release reproducible; from the operating system unless given.",
        kind=int,
        constraint=Optional(Integer(low=0)),
    )
    keep_order: bool = requestable(
        "bool",
        "Whether the rows stay in the order of the input. By default they are sorted by what is published, which tells "
        "nothing of the input's order.",
        section="method",
        flag="--keep-order",
        help="Publish the rows in the order of the input, which tells about it.",
        kind=bool,
    )
    engine: Literal["auto", "memory", "stream", "spark"] = requestable(
        '{"auto", "memory", "stream", "spark"}',
        '"memory" reads the table as a whole. "stream" reads it in pieces, within `memory`, as a table may be that is '
        "larger: `data` is a path to Parquet or CSV, a folder of Parquet files, or a lazy frame, the values of "
        'insensitive columns must fit into the memory, and `release.data` is a lazy frame. "spark" lets Spark read and '
        "write it: `data` is a PySpark DataFrame, or Parquet by a path or URI that the active session reads; there are "
        'no insensitive columns, and `release.data` is a PySpark DataFrame. "auto" takes "spark" for PySpark '
        'DataFrames, and "stream" for folders, for tables that do not fit, and if `memory` is given.',
        section="engine",
        default="auto",
        flag="--engine",
        metavar="NAME",
        help="memory reads the table as a whole, stream in pieces, for tables larger than memory (Parquet, a folder of "
        "Parquet files, or CSV), spark lets Spark read and write it (Parquet by a path or URI, as hdfs://...; no "
        "insensitive columns); auto, unless given, takes what fits.",
        constraint=OneOf(ENGINES),
    )
    memory: int | str | None = requestable(
        "int or str, optional",
        'How much memory the engines "stream" and "spark" may take in this process, in bytes or in words ("4GB"); half '
        "of the machine's by default. Spark's own processes take what its settings give them.",
        section="engine",
        default=None,
        flag="--memory",
        metavar="SIZE",
        help="With --engine stream or spark: how much memory it may take, as 4GB; half of the machine's unless given. "
        "Spark's own processes take what its settings give them.",
    )
    recoding: Literal["suppression", "generalization"] = requestable(
        '{"suppression", "generalization"}',
        "Whether a value that differs within a group becomes a star, or the smallest interval or set that covers them.",
        section="recoding",
        default="suppression",
        flag="--recoding",
        metavar="HOW",
        help="suppression publishes stars (unless given); generalization the intervals and sets that cover a group's "
        "values, or their common ancestor in a --hierarchy.",
        constraint=OneOf(tuple(METHODS)),
    )
    largest_set: int = requestable(
        "int",
        "For generalization: a set of more values than this becomes a star. A set shows exact values, and whoever "
        "knows a person's finds out whether it is there; coarsen the column, or give it a hierarchy, for less precise "
        "groups.",
        section="recoding",
        default=LARGEST_SET,
        flag="--largest-set",
        metavar="NUMBER",
        help="With --recoding generalization: a set of more values becomes a star; 16 unless given.",
        kind=int,
        constraint=Integer(low=1),
    )
    exact_ends: bool = requestable(
        "bool",
        "For generalization without a hierarchy. By default an interval has no end, and a set no member, that is the "
        "exact value of fewer than k records of the table (the k that is asked for, and at least 3): an end goes "
        "outward, to months, quarters, years, decades or to round numbers, until k records lie that near; a set "
        "becomes a star. True publishes the smallest intervals and sets, whose ends are mostly the value of a single "
        "record.",
        section="recoding",
        flag="--exact-ends",
        help="With --recoding generalization: let intervals end, and sets have members, at values that fewer than k "
        "records of the table have. By default ends go outward, to months, years or round numbers.",
        kind=bool,
    )
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = requestable(
        "mapping of column to Hierarchy or path, optional",
        "For generalization: quasi-identifiers whose values become the lowest common ancestor of a group's values, in "
        "a tree or a file of it (a line per value, from the value to the root). The root reads as a star.",
        section="recoding",
        default=None,
        flag="--hierarchy",
        metavar="NAME=FILE",
        help="With --recoding generalization: publish the lowest common ancestor of a group's values, in a tree with a "
        "line per value, from the value to the root; repeat it for other columns.",
        kind=dict[str, str],
    )
    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None = requestable(
        "mapping of column to Coarsening, optional",
        "Quasi-identifiers to make less precise beforehand; a tuple of columns for a coarsening of several.",
        section="recoding",
        default=None,
        flag="--coarsen",
        metavar="NAME=HOW",
        help="Make a column less precise first; repeat it for others. HOW is prefix:3, bins:10, cuts:18,30,65, "
        "quantiles:4, date:year|quarter|month, level:FILE:2, round:5, top:90, bottom:18, labels:K, ordered:K, "
        "points:K (of two columns), regions:EDGES.csv:K, zip3, any (all values as one).",
        kind=dict[str, str],
    )
    weights: Mapping[str, float] | None = requestable(
        "mapping of column to number, optional",
        'How much the loss of quasi-identifiers counts, each > 0, those that are not named 1: `{"age": 2}` keeps '
        "ages more precise at the cost of the others. The weighted loss is what the algorithm minimizes, so it must be "
        'one that minimizes a loss with weights ("full-domain", which "auto" takes, "patterns", "patterns-optimal").',
        section="preferences",
        default=None,
        flag="--weight",
        metavar="NAME=NUMBER",
        help="How much the loss of a column counts, 1 unless given; repeat it for others. For full-domain, patterns.",
        kind=dict[str, float | str],
        read=number_in,
    )
    limits: Mapping[str, tuple[int, int]] | None = requestable(
        "mapping of column to pair of int, optional",
        "The lowest and the highest level of its hierarchy, both included, at which a quasi-identifier may be "
        "published: 0 is the values, the last one a star. Without a hierarchy there are these two. Suppressed rows are "
        'stars all the same. For algorithms that choose levels ("full-domain", which "auto" takes then).',
        section="preferences",
        default=None,
        flag="--limit",
        metavar="NAME=LOW:HIGH",
        help="The lowest and the highest level of its hierarchy that a column may be published at, 0 for its values; "
        "repeat it for others. For full-domain.",
        kind=dict[str, tuple[int, int] | str],
        read=levels_in,
    )
    suppression_limit: float | None = requestable(
        "number, optional",
        "The largest share of rows that may be suppressed, from 0 to 1, for algorithms that have such a limit "
        '("full-domain", which "auto" takes then).',
        section="preferences",
        default=None,
    )
    dates: Mapping[str, str] | None = requestable(
        "mapping of column to str, optional",
        'How the dates of columns of text are written, as `strptime` has it ("%d.%m.%Y"). By default the one format '
        "that fits a whole column; if two fit, it must be said. What is published untouched is written as it was.",
        section="forms",
        default=None,
        flag="--date",
        metavar="NAME=FORMAT",
        help="How the dates of a column are written, as born=%d.%m.%Y; found out unless given. Repeat it for others.",
        kind=dict[str, str],
    )
    decimal: str | None = requestable(
        '{",", "."}, optional',
        "What stands before decimals in columns of text; found out by default.",
        section="forms",
        default=None,
        flag="--decimal",
        metavar="SIGN",
        help="What stands before decimals in text, a comma or a point; found out unless given.",
    )
    delimiter: str | None = requestable(
        "str, optional",
        "What separates the fields of a CSV file; detected by default.",
        section="reading",
        default=None,
        flag="--delimiter",
        metavar="CHARACTER",
        help="What separates the fields of a CSV input; detected unless given.",
    )
    encoding: str | None = requestable(
        "str, optional",
        "Encoding of a CSV file; detected by default.",
        section="reading",
        default=None,
        flag="--encoding",
        metavar="NAME",
        help="Encoding of a CSV input; detected unless given.",
    )
    sheet: str | None = requestable(
        "str, optional",
        "The sheet of a workbook; needed if it has several.",
        section="reading",
        default=None,
        flag="--sheet",
        metavar="NAME",
        help="The sheet of a workbook; needed where it has several.",
    )
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
        help="Folder for the release: all of it may be published. What only you may see goes to OUT.private beside it.",
    )
    format: str | None = requestable(
        '{"csv", "parquet", "xlsx", "ods"}, optional',
        "Format of the release; as the input's by default.",
        section="output",
        default=None,
        flag="--format",
        metavar="FORMAT",
        help="Format of the release: csv, parquet, xlsx or ods; as the input's unless given.",
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
        "Whether the public certificate and report state the algorithm, its costs and the lower bound, too.",
        section="output",
        flag="--publish-proof",
        help="State the algorithm, its costs and the lower bound in OUT, too; they tell more than the published table.",
        kind=bool,
    )
    strict: bool = requestable(
        "bool",
        "Whether a release with `warnings` is refused.",
        section="output",
        flag="--strict",
        help="Write nothing where a release has warnings. `shoal list warnings` tells them.",
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
        if self.kept_rows != "random" and self.order is None:
            raise ParameterError("Name the column that rows of a person are ordered by with ", Suggestion("order"), ".")
        for name in (*_LISTS, "privacy"):
            if isinstance(getattr(self, name), list):  # so that requests of the same names are equal
                object.__setattr__(self, name, tuple(getattr(self, name)))

    def __repr__(self) -> str:
        models = None if self.privacy is None and self.k is self.l is self.t is None else self.requirement.models
        return f"Request({[*(models or ())]!r}, algorithm={_name_of(self.algorithm)!r})"

    @cached_property
    def schema(self) -> Schema:
        """The role of each column."""
        named = self.quasi_identifiers, self.sensitive, self.direct_identifiers, self.insensitive
        linked = self.link and PSEUDONYM in (self.insensitive or ())
        return replace(roles(*named, self.person, self.units), linked=linked)

    @cached_property
    def models(self) -> PrivacyModel | Sequence[PrivacyModel]:
        """The models, those of `k`, `l` and `t` among them."""
        return collect_models(self.privacy, k=self.k, l=self.l, t=self.t)

    @cached_property
    def requirement(self) -> Requirement:
        """What every group, and the release, must satisfy."""
        one, units = self.rows_per_person == 1, self.schema.units
        kinds = units[1:] if one else units
        return Requirement.of(self.models, self.schema.sensitive, kinds, one_row_each=one, linked=self.link)

    @cached_property
    def preferences(self) -> Preferences:
        """What else is requested of the algorithm."""
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
        """Why that one is chosen."""
        return self._choice[1]

    @cached_property
    def coarsenings(self) -> Mapping[str | tuple[str, ...], Coarsening]:
        """The coarsening of each column that has one."""
        return self.coarsen or {}

    @cached_property
    def trees(self) -> Mapping[str, Hierarchy]:
        """The hierarchies of quasi-identifiers as they are given: over the values before any coarsening."""
        return trees_of(self.hierarchies or {}, self.schema.quasi_identifiers)

    @property
    def climbs(self) -> bool:
        """Whether every quasi-identifier needs a hierarchy, built automatically if none is given."""
        return self.recoding == "generalization" and self.chosen.capabilities.hierarchical

    @property
    def about_cells(self) -> dict[str, str | int]:
        """What certificates state of how cells and rows are published, for the publisher and for readers."""
        facts: dict[str, str | int] = {
            "star": self.star,
            "keep_order": self.keep_order,
            "missing_sensitive": self.missing_sensitive,
        }
        if self.schema.units:
            facts["missing_person"] = self.missing_person
        if self.link:
            facts["link"] = True
        if self.rows_per_person is not None:
            facts |= {"rows_per_person": self.rows_per_person, "kept_rows": self.kept_rows}
        return {**facts, "normalize": True} if self.normalize else facts

    @property
    def shared_by(self) -> int:
        """The records that the value of an end or a member has at least, or the cell of an end; 1: any may be shown."""
        return 1 if self.exact_ends else self.few

    @property
    def few(self) -> int:
        """Fewer records than this must not have the value of an end, unless that is requested; 1 without any end."""
        by_itself = set(self.schema.quasi_identifiers) - set(self.trees)
        makes_ends = self.chosen.capabilities.makes_ends and not self.climbs
        recoded = self.recoding == "generalization" and makes_ends and by_itself
        if not recoded and not any(coarsening.ends_at_values for coarsening in self.coarsenings.values()):
            return 1
        k = self.requirement.k
        return max(_LEAST_SHARED, k if k > 1 else self.requirement.least_size)

    @property
    def saving(self) -> dict[str, Any]:
        """How to save a release, as arguments of `Release.save`."""
        names = [name for name in fields_in("output") if name != "output"]
        return {name: getattr(self, name) for name in names}

    def resolve(self, columns: Sequence[str]) -> Request:
        """Fit the request to the columns of a table, and validate all of it.

        Parameters
        ----------
        columns : sequence of str
            The columns that the table has.

        Returns
        -------
        Request
            The same with all columns named and all hierarchies read.

        Raises
        ------
        UsageError
            The table has no such columns, nothing of it can be published as requested, or no algorithm can do it.
        """
        resolved = self.resolve_columns(columns)
        _ = resolved.requirement
        resolved = replace(resolved, hierarchies=resolved.trees)
        _ = resolved.chosen
        return resolved

    def resolve_columns(self, columns: Sequence[str]) -> Request:
        """Fit the roles to the columns of a table.

        Raises
        ------
        UsageError
            The table has no such columns, or nothing of it can be published as requested.
        """
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
                ": suppression publishes values and stars only.",
            )
        if self.link and len(schema.units) != 1:
            raise ParameterError(
                "Linked rows need one column, or several together, that identify the person whose row it is: name it "
                "with ",
                Suggestion("person"),
                ".",
            )
        return replace(self, insensitive=schema.insensitive)


def fields_in(*sections: str) -> tuple[str, ...]:
    """Return the names of the fields of some sections; see `RequestField.section`."""
    declared: Mapping[str, Any] = parameters_of(Request)
    return tuple(name for name, one in declared.items() if one.section in sections)


def _name_of(algorithm: str | Algorithm) -> str:
    return algorithm if isinstance(algorithm, str) else algorithm.name
