"""The command `shoal report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.asking import Cells, Nodes, cells_of, reading_of, trees_of_cells
from shoal.cli.command import argument, option, takes
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.pages import Attacks
from shoal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.request.words import Words

_VOCABULARIES = ("croissant", "dcat", "prov")
Folder = Annotated[Path, argument(metavar="OUT", help="The folder of a release, or its private one.")]


Original = Annotated[
    str | None,
    option(
        "--utility",
        metavar="ORIGINAL",
        help="Only measure what analysts lose by working with the release instead of the table that it was made from.",
    ),
]
Vocabulary = Annotated[
    str | None,
    option(
        "--metadata",
        metavar="|".join(_VOCABULARIES),
        help="Only print the metadata of the release for catalogues, made of its public files; dcat has HealthDCAT-AP.",
    ),
]
Url = Annotated[str, option("--url", metavar="URL", help="With --metadata: the address of the release.")]
License = Annotated[str, option("--license", metavar="URL", help="With --metadata: the address of the licence.")]


@takes("report", "reading", "spec", "json")
def report(
    terminal: Terminal,
    words: Words,
    *,
    folder: Folder,
    attacks: Attacks = None,
    utility: Original = None,
    hierarchies: Nodes = None,
    cells: Cells = None,
    metadata: Vocabulary = None,
    url: Url = "",
    license: License = "",  # noqa: A002
) -> None:
    """Rewrite the reports of a release with other texts or results of attacks; measure its utility; print metadata.

    \b
    shoal report out --set "report.title=Visits of 2025" --set "report.signatures=Head of research"
    shoal report out --attack homogeneity
    shoal report out --utility patients.csv
    shoal report out --metadata croissant > out/croissant.json

    The original table is not needed to rewrite. Both reports are rewritten if both exist: out/report.html for readers,
    and out.private/report.html for you. Texts that are not given stay unchanged.

    For the utility, a published cell counts as each of its values with the same probability, a star as each value of
    the column. The figures depend on the original table: keep them private.
    """  # noqa: D301 - the character keeps lines apart
    from shoal.report import attack_result, render_again

    if metadata is not None:
        from shoal.verbs.metadata import metadata as describe

        if metadata not in _VOCABULARIES:
            raise UsageError(f"The vocabularies of metadata are {', '.join(_VOCABULARIES)}.")
        terminal.result(describe(folder, metadata, url=url, license=license))
        return
    if utility is not None:
        _measure_utility(terminal, folder, utility, reading_of(words), hierarchies, cells)
        return
    found = [attack_result(path) for path in attacks or ()]
    written = render_again(folder, about=words.about(), attacks=found)
    if terminal.json:
        terminal.result({"written": [str(path) for path in written]})
    else:
        terminal.say("", *(path_line("written", path) for path in written), "")


def _measure_utility(
    terminal: Terminal,
    folder: Path,
    original: str,
    reading: Mapping[str, Any],
    hierarchies: Sequence[str] | None,
    cells: Sequence[str] | None,
) -> None:
    """Print what analysts lose, with the meanings of the published cells."""
    from shoal.io import read
    from shoal.verbs.load import load

    form = {name: one for name, one in reading.items() if name in ("delimiter", "encoding")}
    release = load(folder)
    # The names of columns were confirmed when the release was made.
    before = read(original, **form, header_row=1)
    if release.data.height < before.height:
        terminal.note(f"The release has {release.data.height:,} of the {before.height:,} records of the original.")
    trees, meant = trees_of_cells(hierarchies, release.recoded), cells_of(cells, release.recoded)
    found = release.utility(before, hierarchies=trees, cells=meant)
    if terminal.json:
        terminal.result(found.to_dict())
        return
    lines = [
        (one.title, f"- ({one.reason})" if one.value is None else f"{one.value:.4g} (best: {one.best:g})")
        for one in found.measures
    ]
    terminal.say("", lines_of([(title, plain(shown)) for title, shown in lines]), "")
