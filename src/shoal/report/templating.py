"""Templates of pages, compiled once and cached on the disk like the machine code of kernels."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._core.compiling.folders import private_folder
from shoal._core.words import factor, is_visible, listed, number, percent, visible
from shoal.report.about import DECISIONS
from shoal.wording import code_in_words, sentence
from shoal.wording.descriptions import describe_certified_coarsening

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment, Template
    from markupsafe import Markup


@cache
def template(name: str) -> Template:
    """Load a template, with the filters that all pages share."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Escaping is always on, and a missing fact is an error.
    environment = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show_invisible,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_bytecode_cache(),
    )
    environment.filters.update(
        number=number,
        percent=percent,
        factor=factor,
        listed=listed,
        as_sentence=lambda text: text[:1].upper() + text[1:],
        as_words=code_in_words,
        sentence=sentence,
        coarsening=describe_certified_coarsening,
        breakable=_breakable,
        seconds=lambda taken: f"{taken:.2f}",
    )
    environment.globals.update(decisions=DECISIONS)
    return environment


def _show_invisible(value: object) -> object:
    """Escape invisible characters and direction marks of a text, such as a column name, but not its line breaks."""
    if not isinstance(value, str) or is_visible(value):
        return value
    # Escapes have no character with a meaning in HTML, so markup stays markup.
    return type(value)("\n".join(visible(line) for line in str(value).split("\n")))


def _breakable(name: str) -> Markup:
    """Allow line breaks after underscores of a name."""
    from markupsafe import Markup, escape

    return Markup(str(escape(name)).replace("_", "_<wbr>"))


def _bytecode_cache() -> BytecodeCache | None:
    """Choose a cache of compiled templates that only this user can write; None if there is none."""
    from jinja2 import FileSystemBytecodeCache

    here = Path(__file__)
    # Compiled templates depend on the version of Jinja and on the filters of this module.
    stamp = hashlib.sha256(version("jinja2").encode() + here.read_bytes()).hexdigest()[:16]
    folder = private_folder(here, "templates", stamp)
    return None if folder is None else FileSystemBytecodeCache(str(folder), "%s.jbc")
