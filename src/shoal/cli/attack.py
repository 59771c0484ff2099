"""The command `shoal attack`: attacks on published tables by any tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal._core.progress import silent
from shoal.cli.asking import Cells, Nodes, cells_of, check_named, reading_of, trees_of_cells
from shoal.cli.command import Flags, argument, option, takes
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.pages import Page, check_page, write_page, write_private
from shoal.errors import (
    ColumnError,
    DataError,
    InfeasibleError,
    OutputError,
    ShoalError,
    UsageError,
    did_you_mean,
    near_matches,
)
from shoal.request.texts import as_number, as_switch, as_whole_number, named_values, names_in
from shoal.wording.descriptions import COUNTS_CERTAIN, is_complete

if TYPE_CHECKING:
    import polars as pl

    from shoal.request.words import Words

Releases = Annotated[
    list[str],
    argument(
        metavar="RELEASE...",
        help="The release: a folder written by shoal, or a file by any tool. Several releases of one table, in order, "
        "are attacked together (intersection).",
    ),
]
Methods = Annotated[
    list[str] | None,
    option("--method", metavar="NAME", help="The attack; repeat it for others. Default: all that can run."),
]
_KNOWLEDGE = (
    option(
        "--population",
        metavar="FILE",
        kind=list[str],
        help="People with an identifier (--id) and their true quasi-identifiers. For several releases: one file for "
        "all, or the option once per release.",
    ),
    option("--id", metavar="NAME", help="The column of the population that identifies each person."),
    option(
        "--targets",
        metavar="FILE",
        help="The people in the release, with true quasi-identifiers and sensitive values. Default: the rows of the "
        "release.",
    ),
    option(
        "--controls",
        metavar="FILE",
        help="People who are not in the release, with the same columns: what an attack learns about them is not a "
        "disclosure.",
    ),
)
"""What an adversary knows."""
Parameters = Annotated[
    list[str] | None,
    option("--param", metavar="NAME=VALUE", help="A parameter of an attack, listed above; repeat it for others."),
]
Person = Annotated[
    list[str] | None,
    option(
        "--person",
        metavar="NAMES",
        help="Attack persons instead of rows: the column that identifies the person of each row, in the targets or, "
        "without targets, in a copy of the release. Default: each row belongs to a different person.",
    ),
]
Explain = Annotated[
    bool, option("--explain", help="Show the assumptions, the formula and the reference of each attack.")
]
Persons = Annotated[
    Path | None,
    option(
        "--persons",
        metavar="FILE.csv",
        help="Write the people whose value is certain after an intersection, with the value. Keep the file as secret "
        "as the microdata.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class _Method:
    """What an attack needs and takes on the command line."""

    needs: tuple[str, ...] = ()
    """The options and parameters without which it cannot run."""
    parameters: Mapping[str, Callable[[str, str], Any]] = field(default_factory=dict)
    """The parameters of `--param`, each with a function that parses the value of a flag."""
    aimed: bool = False
    """Whether it takes targets and controls."""


def _text(_: str, text: str) -> str:
    return text


def _names(flag: str, text: str) -> tuple[str, ...]:
    return names_in(flag, [text]) or ()


def _distance(flag: str, text: str) -> Any:
    from shoal.request.model_words import ground_distance

    try:
        return ground_distance(text, None)
    except UsageError as error:
        raise UsageError(str(error).replace("--model t_distance", flag)) from error


def _tree(_: str, text: str) -> Any:
    from shoal.hierarchy import Hierarchy

    return Hierarchy.from_csv(text)


METHODS: Mapping[str, _Method] = {
    "linking": _Method(needs=("population", "identifier"), parameters={"truth": _text, "incomplete": as_switch}),
    "homogeneity": _Method(aimed=True),
    "background": _Method(aimed=True, parameters={"j": as_whole_number}),
    "skewness": _Method(aimed=True, parameters={"t": as_number, "distance": _distance}),
    "similarity": _Method(aimed=True, parameters={"hierarchy": _tree, "level": as_whole_number, "within": as_number}),
    "inference": _Method(needs=("targets", "controls"), aimed=True, parameters={"seed": as_whole_number}),
    "intersection": _Method(needs=("population", "identifier"), parameters={"present": _text}),
    "refinement": _Method(parameters={"known": _text, "smallest": as_switch, "k": as_whole_number}),
    "singling-out": _Method(needs=("targets",), parameters={"weight": as_number}),
    "minimality": _Method(
        needs=("targets", "l"),
        parameters={
            "l": as_whole_number,
            "protected": _names,
            "algorithm": _text,
            "recoding": _text,
            "limit": as_whole_number,
            "seed": as_whole_number,
        },
    ),
}
"""The attacks in their order."""
_FLAGS = {"population": "--population", "identifier": "--id", "targets": "--targets", "controls": "--controls"}


@takes("quasi_identifiers", "sensitive", "star", "reading", "json", "force", options=_KNOWLEDGE)
def attack(
    terminal: Terminal,
    words: Words,
    *,
    sources: Releases,
    methods: Methods = None,
    parameters: Parameters = None,
    person: Person = None,
    hierarchies: Nodes = None,
    cells: Cells = None,
    persons: Persons = None,
    explain: Explain = False,
    output: Page = None,
    **given: Any,
) -> None:
    """Attack published tables, by any tool, to learn what they reveal.

    \b
    shoal attack release.csv --qi age,zip --sensitive disease
    shoal attack release.csv --method linking --population voters.csv --id name
    shoal attack q1 q2 --population people.csv --id patient_id --param present=releases

    \b
    Attacks and their parameters (shoal list attacks explains them):
      linking       truth=FILE incomplete=true   needs --population, --id
      homogeneity   takes --targets, --controls
      background    j=2                          takes --targets, --controls
      skewness      t=0.3 distance=ordered       takes --targets, --controls
      similarity    within=500, or hierarchy=FILE level=1
      inference     seed=1                       needs --targets, --controls
      refinement    known=mondrian smallest=true k=5
      singling-out  weight=0.0001                needs --targets
      minimality    l=2 protected=VALUES, and of the algorithm that made the
                    release algorithm=tp recoding=suppression seed=0 limit=5000;
                    needs l and --targets: exactly the people in the release
      intersection  present=NAME (the releases of each person, such as 1-3 5);
                    several releases; needs --population, --id

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare their meaning.
    """  # noqa: D301 - the character keeps lines apart
    given = {"identifier" if name == "id" else name: value for name, value in given.items()}
    chosen, left = _choose(sources, methods, given, parameters or ())
    check_page(output, force=bool(words.get("force")))
    if output is not None and (len(chosen) > 1 or "intersection" in chosen):
        raise UsageError("-o writes the page of one attack on one release. Name it: --method homogeneity.")
    if persons is not None and persons.exists():
        raise OutputError(f"'{persons}' exists and is not replaced. Choose another name.")
    with terminal.progress() as progress:
        asked = _AskedReleases.read(
            *(sources, words, progress or silent), person=person, hierarchies=hierarchies, cells=cells
        )
        results = asked.attack_all(chosen, left, named=methods is not None)
    facts = {name: result.to_dict() for name, result in results.items()}
    written = []
    for name, result in results.items():
        if output is not None:
            written += _write(output, sources[0], facts[name], result, force=bool(words.get("force")))
        if name == "intersection" and persons is not None:
            write_private(persons, result.disclosed())
            written.append(persons)
    if terminal.json:
        alone = [*facts.values()] if methods is not None and len(methods) == 1 else []
        terminal.result(alone[0] if alone else {"attacks": [*facts.values()], "not_run": left})
        return
    for name in results:
        _show(terminal, facts[name], results[name], explain=explain)
    for one in left:
        terminal.note(f"Not run: {one['attack']}. {one['reason']}")
    terminal.say(*(path_line("written", path) for path in written), *([""] if written else []))


attack.more_flags = {
    **_FLAGS,
    **{name: f"--param {name}" for one in METHODS.values() for name in one.parameters},
    "method": "--param known",
    "publish": "--param algorithm",
}


def _choose(
    sources: Sequence[str], methods: Sequence[str] | None, given: Mapping[str, Any], words: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], list[dict[str, str]]]:
    """Return the arguments of each attack that runs, and the attacks that do not with the reason.

    Raises
    ------
    UsageError
        If an attack or a parameter is unknown, or an attack that is named lacks something.
    """
    from shoal.attacks import ATTACKS

    several = len(sources) > 1
    if sources[0] in ATTACKS and several:
        raise UsageError(f"Name the attack by an option: shoal attack RELEASE --method {sources[0]}.")
    names = {"downcoding": "refinement"}
    named = None if methods is None else [names.get(name, name) for name in methods if name != "all"] or None
    for name in named or ():
        if name not in ATTACKS:
            raise UsageError(f"There is no attack '{name}'. {did_you_mean(name, (*ATTACKS, 'all'))}".rstrip())
    given_texts = (named_values("--param", word, "j=2", several=False) for word in words)
    texts = {name.replace("-", "_"): text for one in given_texts for name, text in one.items()}
    for name in texts:
        able = [key for key, one in METHODS.items() if name in one.parameters]
        if not able or not set(able) & set(named or able):
            known = [key for method in (named or METHODS) for key in METHODS[method].parameters]
            raise UsageError(f"No attack of this call has a parameter '{name}'. {near_matches(name, known)}")
    chosen, left = {}, []
    # A single release is not intersected unless that is requested; of several, nothing else is known.
    usual = ["intersection"] if several else [name for name in METHODS if name != "intersection"]
    for name in named or usual:
        method = METHODS[name]
        if several and name != "intersection":
            raise UsageError(f"The attack {name} is on one release. Give one, or use --method intersection.")
        arguments = {key: read(f"--param {key}", texts[key]) for key, read in method.parameters.items() if key in texts}
        lacking = [_FLAGS.get(key, f"--param {key}=...") for key in method.needs if key not in {**given, **arguments}]
        if name == "similarity" and not {"hierarchy", "within"} & set(arguments) and not named:
            lacking = ["--param within=..."]
        if lacking and named:
            raise UsageError(f"The attack {name} needs {' and '.join(lacking)}.")
        if lacking:
            left.append({"attack": name, "reason": f"It needs {' and '.join(lacking)}."})
            continue
        wanted = {*method.needs, *(("targets", "controls") if method.aimed or name == "singling-out" else ())}
        chosen[name] = arguments | {key: value for key, value in given.items() if key in wanted}
    return chosen, left


@dataclass(frozen=True, kw_only=True)
class _AskedReleases:
    """Releases, and what interprets their cells."""

    frames: Sequence[pl.DataFrame]
    certificates: Sequence[Any]
    reading: dict[str, Any]
    """The roles of the columns and the meanings of the cells."""
    table: Callable[[str], pl.DataFrame]
    """Read another table of the call."""
    progress: Any

    @classmethod
    def read(
        cls,
        sources: Sequence[str],
        words: Words,
        progress: Any,
        *,
        person: Sequence[str] | None,
        hierarchies: Sequence[str] | None,
        cells: Sequence[str] | None,
    ) -> _AskedReleases:
        from shoal.io import read
        from shoal.verification.published_folder import read_published

        form = {name: one for name, one in reading_of(words).items() if name in ("delimiter", "encoding")}
        releases = [read_published(source, **form) for source in sources]
        # Options take precedence over the certificate of the first release.
        first = releases[0]
        names = words.get("quasi_identifiers") or first.columns("quasi_identifiers")
        if len(sources) == 1:
            check_named(words, sources[0], names)
        secrets = words.get("sensitive") or first.columns("sensitive")
        persons = names_in("--person", person)
        # Cells of sensitive columns have a meaning, too, if they were coarsened.
        known = (*names, *secrets)
        reading = {
            "quasi_identifiers": names,
            "sensitive": secrets,
            "star": words.get("star") or first.star,
            "hierarchies": trees_of_cells(hierarchies, known),
            "cells": cells_of(cells, known),
            **({"person": persons} if persons else {}),
        }
        return cls(
            frames=[release.frame for release in releases],
            certificates=[release.certificate for release in releases],
            reading=reading,
            table=partial(read, **form),
            progress=progress,
        )

    def attack_all(
        self, chosen: Mapping[str, Mapping[str, Any]], left: list[dict[str, str]], *, named: bool
    ) -> dict[str, Any]:
        """Run attacks with their arguments; those that fail are left out with the reason, unless they are named."""
        results, errors = {}, []
        for name, arguments in chosen.items():
            try:
                results[name] = self._attack(name, arguments)
            except ShoalError as error:
                if named:
                    raise
                errors.append(error)
                left.append({"attack": name, "reason": error.render(Flags(attack.more_flags))})
        if errors and not results:
            raise errors[0]
        return results

    def _attack(self, name: str, arguments: Mapping[str, Any]) -> Any:
        from shoal import attacks

        if name == "intersection":
            return self._intersect(**arguments)
        given = dict(arguments)
        files: Any = {key: self.table(given.pop(key)) for key in ("targets", "controls") if key in given}
        reading: Any = {**self.reading, "certificate": self.certificates[0]}
        common: Any = {"progress": self.progress, **reading}
        frame = self.frames[0]
        match name:
            case "linking":
                return self._link(common, **given)
            case "minimality":
                return self._minimality(common, files["targets"], **given)
            case "refinement":
                if "known" in given:
                    given["method"] = given.pop("known")
                return attacks.refinement_attack(frame, **given, **common)
            case "singling-out":
                if "weight" in given:
                    given["weight"] = float(given["weight"])
                return attacks.singling_out_attack(frame, files.pop("targets"), **files, **given, **common)
        run: Callable[..., Any] = getattr(attacks, attacks.ATTACKS[name].function)
        return run(frame, **files, **given, **common)

    def _link(
        self, common: Any, *, population: Sequence[str], identifier: str, truth: str | None = None, **more: Any
    ) -> Any:
        from shoal.attacks import linking_attack

        if len(population) > 1:
            raise UsageError("The attack linking takes one --population.")
        # The truth is only used to count the successes.
        persons = None if truth is None else self.table(truth)
        if persons is not None and identifier not in persons.columns:
            near = near_matches(identifier, persons.columns)
            raise ColumnError(f"There is no column '{identifier}' in the truth. {near}")
        right = None if persons is None else persons.get_column(identifier)
        people = self.table(population[0])
        return linking_attack(self.frames[0], people, identifier=identifier, truth=right, **more, **common)

    def _minimality(
        self,
        common: Any,
        people: pl.DataFrame,
        *,
        l: int,
        algorithm: str | None = None,
        recoding: str = "suppression",
        seed: int = 0,
        **more: Any,
    ) -> Any:
        from shoal.attacks import minimality_attack
        from shoal.models import LDiversity
        from shoal.verbs.anonymize import anonymize

        roles: Any = {name: self.reading.get(name) for name in ("quasi_identifiers", "sensitive", "person", "star")}

        def publish(original: pl.DataFrame) -> pl.DataFrame | None:
            # The adversary runs the same algorithm with the same seed on each candidate.
            made: Any
            try:
                made = anonymize(
                    original,
                    privacy=LDiversity(l),
                    algorithm=str(algorithm),
                    recoding=recoding,  # type: ignore[arg-type]
                    seed=seed,
                    **roles,
                )
            except InfeasibleError:
                return None
            frame: pl.DataFrame = made.data
            return frame

        known = None if algorithm is None else publish
        return minimality_attack(self.frames[0], people, l=l, publish=known, **more, **common)

    def _intersect(self, *, population: Sequence[str], identifier: str, present: str | None = None) -> Any:
        from shoal.attacks import intersection_attack

        reading: Any = {key: value for key, value in self.reading.items() if key != "person"}
        if not reading["quasi_identifiers"] or not reading["sensitive"]:
            raise ColumnError("No certificate names the columns. Name them with --qi and --sensitive.")
        people = [self.table(path) for path in population]
        return intersection_attack(
            self.frames,
            _populations(people, len(self.frames), present),
            identifier=identifier,
            certificates=self.certificates,
            progress=self.progress,
            **reading,
        )


def _populations(people: Sequence[pl.DataFrame], releases: int, present: str | None) -> list[pl.DataFrame]:
    """Return the people in each release."""
    # Either one population per release, or one with a column of releases.
    if len(people) == releases and present is None:
        return list(people)
    if len(people) != 1:
        raise UsageError(
            f"Give one --population for all releases, or one for each. Got {len(people)} for {releases} release(s)."
        )
    if present is None:
        return [people[0]] * releases
    import polars as pl

    if present not in people[0].columns:
        raise ColumnError(
            f"There is no column '{present}' in the population. It must list the releases of each person, "
            f"such as '1-3 5'. {near_matches(present, people[0].columns)}"
        )
    cells = people[0].get_column(present).cast(pl.String).fill_null("")
    numbers = {text: _numbers(text, releases) for text in cells.unique().to_list()}
    return [
        people[0].filter(cells.is_in([text for text, listed in numbers.items() if number in listed]))
        for number in range(1, releases + 1)
    ]


def _numbers(text: str, releases: int) -> set[int]:
    """Parse the release numbers in a cell such as `1-3 5` or `1,2,3,5`."""
    found: set[int] = set()
    for part in text.replace(",", " ").replace(";", " ").split():
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise DataError("A cell with the releases of a person must have the form '1-3 5' or '1,2,3,5'.")
        found.update(range(int(first), min(int(last or first), releases) + 1))
    return found


def _write(output: Path, source: str, facts: Mapping[str, Any], result: Any, *, force: bool) -> list[Path]:
    """Write the result of an attack as a page with its description, its figures and its sentences."""
    import json

    from shoal.attacks import ATTACKS
    from shoal.report import render_attack

    one = ATTACKS[facts["attack"]]
    description = {name: getattr(one, name) for name in ("title", "meaning", "assumptions", "formula", "reference")}
    title = f"{one.title}: {Path(source).name or Path(source).resolve().name}"
    page = render_attack(facts, title=title, said=result.sentences(), attack=description)
    text = json.dumps(facts, indent=2, ensure_ascii=False, default=float)
    return write_page(output, "report", page, text, force=force)


def _show(terminal: Terminal, facts: Mapping[str, Any], result: Any, *, explain: bool) -> None:
    """Print two plain sentences, as on every screen and page, then the figures, then what they mean exactly."""
    from shoal.attacks import ATTACKS
    from shoal.report import describe_attack

    one = ATTACKS[facts["attack"]]
    intersected = facts["attack"] == "intersection"
    lines = _lines_of_intersection(facts) if intersected else _lines(facts)
    worst = [("worst of", f"{len(facts['each'])}: {plain(' & '.join(facts['sensitive']))}")] if facts["each"] else []
    judged = describe_attack(facts)
    terminal.say("", one.title, "", *map(plain, judged), "", lines_of([*worst, *lines]), "")
    exactly = one.sentences(facts) if intersected else result.sentences()
    terminal.say(*map(plain, (said for said in exactly if said not in judged)))
    if explain:
        terminal.say(
            "",
            f"{one.title}: {one.meaning}",
            f"Assumptions: {one.assumptions}",
            f"Formula: {one.formula}",
            f"Reference: {one.reference}",
        )
    terminal.say("")
    for number, count in enumerate(facts["not_covered"] if intersected else (), start=1):
        if count:
            terminal.note(f"No group of release {number} covers {count:,} of the people who should be in it.")


_COMPARED = {"refinement": "without the method", "minimality": "release alone", "linking": "picking anyone"}
"""What the rate of an attack is compared with, if not with guessing."""


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rates of an attack on one release as lines of a name and a text."""
    from shoal._core.words import number, percent

    def rate(figures: Mapping[str, Any]) -> str:
        # A rate is shown with its confidence interval, unless everything was attacked.
        if figures["rate"] is None:
            return "not measured"
        if is_complete(facts):
            return percent(figures["rate"])
        return f"{percent(figures['rate'])} ({percent(figures['low'])} to {percent(figures['high'])})"

    drawn = facts["attack"] == "refinement"
    compared = facts["attack"] not in COUNTS_CERTAIN and not (drawn and facts["method"] == "none")
    lines = [
        ("attempts", number(facts["attempts"])),
        ("successes", number(facts["successes"])),
        ("rate", rate(facts)),
        *([] if not compared else [(_COMPARED.get(facts["attack"], "guessing"), rate(facts["baseline"]))]),
    ]
    values = facts.get("values")
    if values is not None:
        lines.append(("certain", f"{rate(values)}: {plain(' & '.join(values['sensitive']))}"))
    if facts["control"] is not None:
        lines.append(("by chance" if drawn else "of people outside", rate(facts["control"])))
    if facts["residual"] is not None and not drawn:
        left = facts["residual"]
        lines.append(("due to release", f"{left['rate']:.3f} ({left['low']:.3f} to {left['high']:.3f})"))
    return lines


def _lines_of_intersection(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the results of an intersection as lines of a name and a text."""
    confidence = facts["confidence"]
    lines = [
        ("releases", f"{facts['releases']:,}"),
        ("people", f"{facts['people']:,}"),
        ("vulnerable", f"{facts['vulnerable']:,} (their sensitive value is certain)"),
        ("by one release", ", ".join(f"{count:,}" for count in facts["vulnerable_in_one_release"])),
    ]
    if confidence["max"] is not None:
        lines.append(("confidence", f"at most {confidence['max']:.3f}, on average {confidence['mean']:.3f}"))
    sizes = ", ".join(f"{size}: {people:,}" for size, people in facts["candidates"].items())
    lines.append(("values left", plain(sizes)))
    if facts["contradicted"]:
        lines.append(("contradicted", f"{facts['contradicted']:,} (no value is left: the tables disagree)"))
    return lines
