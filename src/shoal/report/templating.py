"""The templates of pages: compiled once and kept, as the code of kernels is."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._compiling import places
from shoal.report import sentences

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment, Template
    from jinja2.bccache import Bucket

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
    )
    return environment


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
