"""The class `Request`: everything that can be requested of a release, each field declared once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any

from shoal._core.facts import Fact
from shoal._core.quoting import listed_names
from shoal._core.validation import exact_fraction, validate_declared
from shoal._core.words import ALL_COLUMNS
from shoal._messages import Suggestion
from shoal.algorithms.algorithm_list import ALGORITHMS, choose
from shoal.algorithms.base import Algorithm
from shoal.algorithms.preferences import PREFERENCES, Preferences
from shoal.errors import ColumnError, ParameterError, UsageError, near_matches
from shoal.hierarchy import Coarsening, Hierarchy, as_hierarchy
from shoal.models import DifferentialPrivacy, PrivacyModel
from shoal.models.column_sets import all_sets
from shoal.models.counting import PSEUDONYM, Records, counting_of
from shoal.models.promises import FEATURES, check_together
from shoal.models.rationals import json_number
from shoal.models.requirement import Requirement
from shoal.models.shortcuts import collect_models
from shoal.request.coarsening_words import coarsening_of
from shoal.request.notation import python_call
from shoal.request.request_fields import RequestFields, fields_in
from shoal.request.texts import derivation_in, read_set, set_texts, with_formats
from shoal.request.words import Words
from shoal.table import Schema, roles

_LEAST_SHARED = 3
"""With only two people who share a value, each would know that the other has it."""
ROLES = ("quasi_identifiers", "sensitive", "direct_identifiers", "insensitive", "person", "units")
"""The fields that name columns."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Request(RequestFields):
    """Everything that is requested of a release; the keywords of `shoal.anonymize` are its fields.

    A request is a value. It is validated when it is created, and it can be run on several tables, compared, tuned, and
    written as a spec file.

    Examples
    --------
    >>> import shoal
    >>> request = Request(quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> shoal.anonymize(people, request).certificate.algorithm
    'cluster'
    """

    def __post_init__(self) -> None:
        validate_declared("Request", self)
        if (self.rows_per_person is not None or self.since_first) and self.person is None:
            raise ParameterError("Name the column that identifies persons with ", Suggestion("person"), ".")
        if self.kept_rows != "random" and self.order is None:
            raise ParameterError("Name the column that orders the rows of a person with ", Suggestion("order"), ".")
        for name in (*ROLES, "privacy", "harmless"):
            if isinstance(getattr(self, name), list):  # makes requests with equal names equal
                object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "qi_sets", set_texts(self.qi_sets))
        if isinstance(self.coarsen, Mapping):
            object.__setattr__(self, "coarsen", {key: _coarsening_in(key, one) for key, one in self.coarsen.items()})

    def __repr__(self) -> str:
        models = None if self.privacy is None and self.k is self.l is self.t is None else self.requirement.models
        return f"Request({[*(models or ())]!r}, algorithm={getattr(self.algorithm, 'name', self.algorithm)!r})"

    @cached_property
    def schema(self) -> Schema:
        """The role of each column."""
        named = self.quasi_identifiers, self.sensitive, self.direct_identifiers, self.insensitive
        return roles(*named, self.person, self.units)

    @cached_property
    def features(self) -> frozenset[str]:
        """The promises and the features that are asked for, by the names of `shoal.models.promises`."""
        given = {one.name for one in fields(self) if one.name in FEATURES and getattr(self, one.name) != one.default}
        algorithm = ALGORITHMS.get(self.algorithm) if isinstance(self.algorithm, str) else self.algorithm
        listed = self.privacy if isinstance(self.privacy, Iterable) else (self.privacy,)
        found = {
            **{name: bool(getattr(self, name)) or getattr(self, name) == 0 for name in given},
            "person": self.person and self.rows_per_person != 1 and not self.link,
            "units": self.units,
            "harmless": any(getattr(model, "harmless", None) for model in (self, *listed)),
            "coarsen": self.coarsenings,
            "coarse_attributes": self.attribute_coarsenings,
            "since_first": self.since_first,
            "resist": self.resist or (isinstance(algorithm, Algorithm) and algorithm.capabilities.resists_minimality),
            "epsilon": any(isinstance(model, DifferentialPrivacy) for model in listed),
            "groups": True,
            "equal_forms": True,
        }
        return frozenset(name for name, there in found.items() if there)

    @cached_property
    def models(self) -> PrivacyModel | Sequence[PrivacyModel]:
        """The models, including those of `k`, `l` and `t`."""
        return collect_models(self.privacy, k=self.k, l=self.l, t=self.t, harmless=self.harmless)

    @cached_property
    def counting(self) -> Records:
        """What the groups of the release count."""
        return counting_of(
            self.schema.kinds,
            persons=bool(self.person),
            link=self.link,
            most=self.rows_per_person,
            separators={name: one for name, one in (self.lists or {}).items() if name in self.schema.sensitive},
            sets=all_sets([*map(read_set, set_texts(self.qi_sets))], self.knows, self.schema.quasi_identifiers),
            knows=self.knows,
        )

    @cached_property
    def requirement(self) -> Requirement:
        """The requirement of every group and of the release."""
        return Requirement.of(self.models, self.schema.sensitive, self.counting)

    @cached_property
    def preferences(self) -> Preferences:
        """The further preferences of the algorithm."""
        preferred: dict[str, Any] = {name: getattr(self, name) for name in PREFERENCES}
        with_levels = self.trees if self.recoding == "generalization" else None
        return Preferences.of(self.schema.quasi_identifiers, **preferred, with_levels=with_levels)

    @cached_property
    def _choice(self) -> tuple[Algorithm, Fact]:
        requirement = self.requirement.with_own_values
        return choose(self.algorithm, requirement, self.recoding, self.preferences, self.resist)

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
        """The coarsenings of quasi-identifiers, by column; columns of relative dates are coarsened as days."""
        given: Mapping[Any, Any] = self.coarsen or {}
        if not self.since_first and not self.attribute_coarsenings:
            return given
        found: dict[str | tuple[str, ...], Coarsening] = {}
        for key, coarsening in given.items():
            if key in self.attribute_coarsenings:
                continue
            if not getattr(coarsening, "per_person", False):
                found[key] = coarsening
            elif (then := getattr(coarsening, "then", None)) is not None:
                found |= dict.fromkeys((key,) if isinstance(key, str) else key, then)
        return found

    @cached_property
    def attribute_coarsenings(self) -> Mapping[str | tuple[str, ...], Coarsening]:
        """The coarsenings of sensitive and insensitive columns, by column: part of the input, before any model."""
        given: Mapping[Any, Any] = self.coarsen if isinstance(self.coarsen, Mapping) else {}
        attributes = self.schema.sensitive + self.schema.insensitive
        return {key: one for key, one in given.items() if isinstance(key, str) and key in attributes}

    @cached_property
    def since_first(self) -> tuple[tuple[str, ...], ...]:
        """The columns of dates that become days, together with those that have the same first date."""
        given = self.coarsen if isinstance(self.coarsen, Mapping) else {}
        keys = (key for key, one in given.items() if getattr(one, "per_person", False))
        return tuple((key,) if isinstance(key, str) else tuple(key) for key in keys)

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
        facts: dict[str, Any] = {
            "star": self.star,
            "keep_order": self.keep_order,
            "missing_sensitive": self.missing_sensitive,
        }
        asked: dict[str, Any] = {
            "missing_person": self.counting.kinds and self.missing_person,
            "link": self.link,
            "lists": dict(self.lists or {}),
            "since_first": [list(names) for names in self.since_first],
            "qi_sets": list(self.qi_sets),
            "knows": self.knows,
            "rows_per_person": self.rows_per_person,
            "kept_rows": self.rows_per_person and self.kept_rows,
        }
        # Entries that are only present if requested keep older certificates unchanged.
        facts |= {name: value for name, value in asked.items() if value}
        if self.replace_values:
            facts["replaced"] = [name for name in self.replace_values if name in (*self.schema.published, ALL_COLUMNS)]
        if derived := {name: words for name, words in (self.derive or {}).items() if name in self.schema.published}:
            facts["derived"] = {name: _describe_derivation(words) for name, words in derived.items()}
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

    @classmethod
    def from_words(
        cls, words: Words, *, models: list[PrivacyModel] | None = None, algorithm: str | None = None
    ) -> Request:
        """Build a request of parsed options or of a spec file.

        Parameters
        ----------
        words : Words
        models : list of PrivacyModel, optional
            The models; by default those of the words.
        algorithm : str, optional
            The name of the algorithm, if the given parameters belong to several others.

        Raises
        ------
        UsageError
            If something is missing or invalid.
        """
        return cls(**words.arguments(models=models, algorithm=algorithm))

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Request:
        """Read a spec file, the file of `shoal anonymize --spec`. The name of its table is not part of a request."""
        return cls.from_words(Words.of_file(path))

    @cached_property
    def words(self) -> Words:
        """The request as text, for a spec file or a command.

        Raises
        ------
        UsageError
            If a field holds an object that has no words, such as a frame or an algorithm of one's own.
        """
        # Parse the words again: they must give the same models and the same algorithm.
        words = Words.of_request(self)
        again = Request.from_words(words)
        models, found = (sorted(map(str, one.requirement.to_list())) for one in (self, again))
        if models != found or again.chosen != self.chosen:
            raise UsageError("These models and this algorithm have no words together. Keep the request in Python.")
        return words

    def to_toml(self) -> str:
        """Write the request as a spec file.

        Examples
        --------
        >>> from shoal import Prefix
        >>> print(Request(quasi_identifiers=["age", "zip"], k=5, coarsen={"zip": Prefix(3)}).to_toml())
        columns.quasi_identifiers = ["age", "zip"]
        coarsen.zip = "prefix:3"
        privacy.k = 5
        """
        return self.words.to_toml()

    def to_cli(self) -> list[str]:
        """Return the options of `shoal anonymize` that request the same.

        Examples
        --------
        >>> Request(quasi_identifiers=["age", "zip"], k=5, keep_order=True).to_cli()
        ['--qi', 'age,zip', '--set', 'keep_order=true', '-k', '5']
        """
        return self.words.to_cli()

    def to_python(self) -> str:
        """Write the request as a Python program that defines `request`.

        Examples
        --------
        >>> print(Request(quasi_identifiers=["age", "zip"], l=3, seed=1).to_python())
        import shoal
        <BLANKLINE>
        request = shoal.Request(
            quasi_identifiers=['age', 'zip'],
            l=3,
            seed=1,
        )
        """
        given = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        return python_call("request = shoal.Request", given)

    @property
    def reading(self) -> dict[str, Any]:
        """The options of reading and cleaning a table, as arguments of `open_data`."""
        given = {name: getattr(self, name) for name in fields_in("reading", "cleaning")}
        # Derived columns are made before the declared formats are applied.
        return {**given, "derive": with_formats(self.derive, self.dates)}

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
        check_together(resolved.features)
        if resolved.requirement.sampling is not None:
            check_sampling(resolved, resolved.schema, resolved.requirement.sampling)
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
        if self.link and len(schema.kinds) > 1:
            raise ParameterError(
                "Linked rows are the rows of one kind of unit: its records are made alike together. Leave out ",
                Suggestion("units"),
                " or ",
                Suggestion("link", True),
                ".",
            )
        if self.link and not schema.kinds:
            raise ParameterError(
                "Linked rows need one column, or several together, that identify the person of each row: name it with ",
                Suggestion("person"),
                ".",
            )
        _check_coarse_columns(self.coarsen, schema)
        relative = [name for names in self.since_first for name in names]
        if len(set(relative)) < len(relative):
            raise ColumnError("A column is coarsened to days twice.")
        for name in self.lists or ():
            if name not in schema.sensitive:
                raise ColumnError(f"The column '{name}' is not sensitive: only sensitive columns may hold lists.")
        # Linked rows have a column of pseudonyms, which is made when they are linked.
        return replace(self, insensitive=(*schema.insensitive, *((PSEUDONYM,) * self.link)))


def _coarsening_in(key: str | tuple[str, ...], given: Coarsening | str) -> Coarsening:
    return coarsening_of(listed_names(key), given) if isinstance(given, str) else given


def trees_of(
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]], allowed: Sequence[str]
) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns; paths are read."""
    if not isinstance(hierarchies, Mapping):
        raise ParameterError(
            f"The 'hierarchies' parameter must map names of columns to hierarchies. Got {type(hierarchies).__name__}."
        )
    # Check the columns before any file is read.
    for name in hierarchies:
        if name not in allowed:
            raise ColumnError(
                f"The column '{name}' cannot have a hierarchy: not a quasi-identifier. {near_matches(name, allowed)}"
            )
    return {name: as_hierarchy(f"The hierarchy of '{name}'", given) for name, given in hierarchies.items()}


_NAME = "Differential privacy"


def check_sampling(request: RequestFields, schema: Schema, model: DifferentialPrivacy) -> None:
    """Check that the proof of differential privacy holds for a request that asks for it.

    Parameters
    ----------
    request : RequestFields
    schema : Schema
        Its roles, resolved for the columns of the table.
    model : DifferentialPrivacy
        The requested model.

    Raises
    ------
    ParameterError
        If it would not hold.
    """
    # Every published column is part of the classes.
    if schema.sensitive or schema.insensitive:
        raise ParameterError(
            f"{_NAME} makes no difference between columns: name all that are published with ",
            Suggestion("quasi_identifiers"),
            ".",
        )
    # The published values must not depend on the table.
    given: Mapping[Any, Any] = request.coarsen or {}
    for key, coarsening in given.items():
        if not coarsening.streams:
            raise ParameterError(
                f"The coarsening of {listed_names(key)} depends on the records, but {_NAME.lower()} needs one that is "
                "fixed before: such as a width or cuts of bins, or a level of a hierarchy."
            )
    drawn = exact_fraction(model.level_epsilon) > 0
    if request.hierarchies and not drawn:
        raise ParameterError(
            f"{_NAME} publishes each column at one level: fix it with ",
            Suggestion("coarsen"),
            ", or have it drawn for a part of epsilon, with ",
            Suggestion("level_epsilon", json_number(exact_fraction(model.epsilon) / 10), owner="DifferentialPrivacy"),
            ".",
        )
    if drawn and not request.hierarchies:
        raise ParameterError(
            "A part of epsilon is for drawing levels of hierarchies: name them with ",
            Suggestion("hierarchies"),
            ", or leave out ",
            Suggestion("level_epsilon", owner="DifferentialPrivacy"),
            ".",
        )
    for name in request.hierarchies or ():
        if any(name in ((key,) if isinstance(key, str) else key) for key in request.coarsen or ()):
            raise ParameterError(
                f"The level of '{name}' is drawn if it has a hierarchy, and fixed if it is coarsened. Choose one."
            )


def _check_coarse_columns(coarsen: object, schema: Schema) -> None:
    """Check that all columns that are coarsened are published."""
    keys = coarsen if isinstance(coarsen, Mapping) else ()
    for name in (name for key in keys for name in ((key,) if isinstance(key, str) else key)):
        if name in schema.published:
            continue
        known = near_matches(name, schema.published)
        # A column of the table is refused for its role, any other for its name.
        if name in schema.private:
            raise ColumnError(
                f"The column '{name}' cannot be coarsened: columns that identify people are not published. {known}"
            )
        raise ColumnError(f"The column '{name}' cannot be coarsened: there is no such column. {known}")


def _describe_derivation(words: str) -> dict[str, str]:
    # Readers need no format: the dates are not published.
    unit, begin, end, _form = derivation_in(words)
    return {"unit": unit, "begin": begin, "end": str(end)}
