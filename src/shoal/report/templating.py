"""The templates of pages: compiled once and kept, as the code of kernels is."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._compiling import places
from shoal._language import day, language, ngettext, numeral
from shoal._language import gettext as _
from shoal.report import sentences
from shoal.report.known import known

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment, Template
    from jinja2.bccache import Bucket
    from markupsafe import Markup

    from shoal.report.distributions import DistributionBar

__all__ = ["template"]


@cache
def template(name: str) -> Template:
    """Return one of the templates of pages, with the filters that all of them share."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("shoal.report"),
        extensions=["jinja2.ext.i18n"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_kept(),
    )
    environment.filters.update(
        number=sentences.number,
        percent=sentences.percent,
        factor=sentences.factor,
        listed=sentences.listed,
        as_sentence=lambda text: text[:1].upper() + text[1:],
        translated=_,  # `_` in a template takes a percent sign for a placeholder
        day=day,
        known=lambda value: known(str(value)),
        breakable=_breakable,
        label=_label,
        seconds=lambda taken: numeral(f"{taken:.2f}"),
    )
    environment.globals["language"] = language
    environment.policies["ext.i18n.trimmed"] = True
    environment.install_gettext_callables(_, ngettext, newstyle=True)  # type: ignore[attr-defined]
    return environment


def _breakable(name: str) -> Markup:
    """Return a name for a page, which may go on in another line behind each underscore."""
    from markupsafe import Markup, escape

    return Markup(str(escape(name)).replace("_", "_<wbr>"))


def _label(bar: DistributionBar) -> str:
    """Return what a bar of a distribution is called."""
    parts = [numeral(part) for part in bar.parts]
    match bar.kind, parts:
        case "range", [low, high]:
            return _("{low} to {high}").format(low=low, high=high)
        case "range", [one]:
            return one
        case "below", [low, high]:
            return _("{low} to below {high}").format(low=low, high=high)
        case "others", [count]:
            return ngettext("{count} other", "{count} others", 1 if count == "1" else 2).format(count=count)
        case "missing", _any:
            return _("missing")
    return bar.label


def _kept() -> BytecodeCache:
    """Return what keeps compiled templates in the folders of compiled code, which nobody else can write."""
    from jinja2 import BytecodeCache

    here = Path(__file__)
    made_by = hashlib.sha256(version("jinja2").encode() + here.read_bytes()).hexdigest()[:16]

    def prefix(bucket: Bucket) -> str:
        return f"template-{bucket.key[:16]}-"

    def current(bucket: Bucket) -> str:
        return f"{prefix(bucket)}{made_by}-{bucket.checksum[:16]}"

    class Kept(BytecodeCache):
        """Finds and keeps the code of a template."""

        def load_bytecode(self, bucket: Bucket) -> None:
            """Put in what was kept of a template, made of the same text in the same way."""
            found = places.find(here, f"{current(bucket)}.jbc")
            if found is not None:
                bucket.bytecode_from_string(found)

        def dump_bytecode(self, bucket: Bucket) -> None:
            """Keep it."""
            data, beginning = bucket.bytecode_to_string(), current(bucket)
            places.keep(here, f"{beginning}.jbc", data, prefix=prefix(bucket), current=beginning)

    return Kept()
