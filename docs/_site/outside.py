"""Pages of the repository that lie outside this folder: the site has them under `project/`, and links lead there."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

__all__ = ["PAGES", "setup"]

PAGES = {
    "README.md": "index",
    "SECURITY.md": "project/security",
    "CONTRIBUTING.md": "project/contributing",
    "CHANGELOG.md": "project/changes",
    "benchmarks/RESULTS.md": "project/benchmarks",
    "benchmarks/figures/README.md": "project/figures",
}
"""Where the site has a page of the repository."""
_INCLUDED = {page: file for file, page in PAGES.items() if page != "index"}
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s/]+)\)")
_BACK = re.compile(r"\nBack to the \[README\]\([./]*README\.md\)\.\n*\Z")


def _follow(app: Any, docname: str, source: list[str]) -> None:
    """Let links lead to the pages of the site, and leave out the way back that is for pages read as files."""
    home = Path(app.srcdir).parent
    folder = posixpath.dirname(posixpath.join("docs", docname))
    text = source[0]
    if docname in _INCLUDED:
        text = (home / _INCLUDED[docname]).read_text(encoding="utf-8")
        folder = posixpath.dirname(_INCLUDED[docname])
        text = _PICTURE.sub(rf"![\1](/../{folder}/\2)", text)

    def followed(link: re.Match[str]) -> str:
        words, target = link.groups()
        path, _, section = target.partition("#")
        if "://" in path or not path:
            return link[0]
        file = posixpath.normpath(posixpath.join(folder, path))
        if file in PAGES:
            return f"[{words}](/{PAGES[file]}.md{'#' + section if section else ''})"
        if file.startswith("docs/") and file.endswith(".md"):
            return f"[{words}](/{file.removeprefix('docs/')}{'#' + section if section else ''})"
        if file == "docs/decisions":
            return f"[{words}](/decisions/index.md)"
        return words if (home / file).exists() else link[0]  # a file of the source, which the site does not have

    source[0] = _LINK.sub(followed, _BACK.sub("\n", text))


def setup(app: Any) -> dict[str, bool]:
    """Register it with Sphinx, before anything else reads the source."""
    app.connect("source-read", _follow)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
