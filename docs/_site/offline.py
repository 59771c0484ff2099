"""A page that loads anything from another machine is an error: the site is read where there is no network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

__all__ = ["setup"]

_LOADED = re.compile(
    r"""<(?:script|img|iframe|link(?=[^>]*rel="(?:stylesheet|preload|icon)"))[^>]*(?:src|href)="(?:https?:)?//"""
)


def _check(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        wrong = [page for page in Path(app.outdir).rglob("*.html") if _LOADED.search(page.read_text(encoding="utf-8"))]
        if wrong:
            raise ExtensionError(f"These pages load something from another machine: {', '.join(map(str, wrong))}")


def setup(app: Any) -> dict[str, bool]:
    """Register it with Sphinx: it looks at what was written."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
