"""Tutorials run while they are built: below each block stands what it printed, and files that it wrote are shown.

A comment `<!-- show: FILE -->` behind a block shows a file that the page wrote: an SVG as a picture, a page of HTML as
a frame, anything else as the text of its first lines. `<!-- skip: next -->` before a block leaves it alone.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

from _site.blocks import run_python, run_shell

__all__ = ["setup"]

_FOLDER = "tutorials/"
_LINES = 15
_WIDTH = "84"
_COMMENT = re.compile(r"<!--(.*)-->", re.DOTALL)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class _Executed(SphinxTransform):
    default_priority = 5

    def apply(self, **kwargs: Any) -> None:
        if not self.env.docname.startswith(_FOLDER) or self.env.docname == f"{_FOLDER}index":
            return
        before, columns = os.getcwd(), os.environ.get("COLUMNS")
        with tempfile.TemporaryDirectory() as folder:
            try:
                os.chdir(folder)
                os.environ["COLUMNS"] = _WIDTH
                self._run(Path(folder))
            finally:
                os.chdir(before)
                os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)

    def _run(self, folder: Path) -> None:
        names: dict[str, Any] = {}
        skipped = False
        for node in list(self.document.findall(lambda one: isinstance(one, nodes.literal_block | nodes.raw))):
            if isinstance(node, nodes.raw):
                comment = _COMMENT.fullmatch(node.astext().strip())
                text = comment[1].strip() if comment else ""
                skipped = skipped or text == "skip: next"
                if text.startswith("show: "):
                    self._show(node, Path(text.removeprefix("show: ").strip()))
            elif skipped:
                skipped = False
            else:
                self._below(node, self._printed(node, names))

    def _printed(self, node: nodes.literal_block, names: dict[str, Any]) -> str:
        if node.get("language") == "sh":
            code, printed, said = run_shell(node.astext())
            if code:
                raise ExtensionError(f"{self.env.docname}, line {node.line}: exit code {code}: {said}")
            return printed
        if node.get("language") == "python":
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return run_python(node.astext(), names)
        return ""

    def _below(self, node: nodes.literal_block, printed: str) -> None:
        text = "\n".join(line.rstrip() for line in _ESCAPES.sub("", printed).strip("\n").splitlines())
        if text:
            shown = nodes.literal_block(text, text, language="text", classes=["printed"])
            node.parent.insert(node.parent.index(node) + 1, shown)

    def _show(self, node: nodes.raw, file: Path) -> None:
        # The folder of the page is the current one, and its name, which is random, stays out of the addresses.
        target = Path(self.app.outdir, "_shown", self.env.docname.removeprefix(_FOLDER), *file.parts[-2:])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
        place = os.path.relpath(target, Path(self.app.outdir, self.env.docname).parent)
        if file.suffix == ".html":
            made = f'<iframe class="shown" src="{place}" title="{file.name}"></iframe>'
            alone = f'<p><a href="{place}">{file.name} on a page of its own</a></p>'
            shown: nodes.Node = nodes.raw("", made + alone, format="html")
        elif file.suffix == ".svg":
            shown = nodes.raw("", f'<img class="shown" src="{place}" alt="{file.name}">', format="html")
        else:
            text = "\n".join(file.read_text(encoding="utf-8").splitlines()[:_LINES])
            shown = nodes.literal_block(text, text, language="text", classes=["printed"])
        node.replace_self(shown)


def setup(app: Any) -> dict[str, bool]:
    """Register it with Sphinx; pages are read in one process, as they change the folder."""
    app.add_transform(_Executed)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
