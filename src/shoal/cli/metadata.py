"""The command `shoal metadata`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from shoal.cli.command import argument, option

if TYPE_CHECKING:
    from shoal.cli.console import Terminal

__all__ = ["metadata"]

_VOCABULARIES = ("croissant", "dcat", "prov")

Folder = Annotated[Path, argument(metavar="OUT", help="The public folder of a release.")]
Vocabulary = Annotated[
    str, option("--as", metavar="|".join(_VOCABULARIES), help="The vocabulary. Default: dcat, with HealthDCAT-AP.")
]
Url = Annotated[str, option("--url", metavar="URL", help="The address of the release.")]
License = Annotated[str, option("--license", metavar="URL", help="The address of the licence.")]


def metadata(
    context: click.Context,
    *,
    folder: Folder,
    vocabulary: Vocabulary = "dcat",
    url: Url = "",
    license: License = "",  # noqa: A002
) -> None:
    """Print the metadata of a release for catalogues, from its public files only.

    Example: shoal metadata out --as croissant > out/croissant.json

    Title, institution, purpose and date are those of the report (`shoal report OUT --title ...`).
    """
    from shoal.verbs.metadata import metadata as made

    if vocabulary not in _VOCABULARIES:
        raise click.BadParameter(f"'{vocabulary}' is none of {', '.join(_VOCABULARIES)}.", param_hint="--as")
    terminal: Terminal = context.obj
    terminal.result(made(folder, vocabulary, url=url, license=license))
