"""The documentation as a site: `make docs` builds it into build/docs and takes every warning for an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from volcano import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Volcano for Python"
author = "the Volcano authors"
release = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = f"{project} {release}"
html_show_copyright = False
nitpicky = True
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

_OUTWARD = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([A-Za-z][^)]*)\)")


def _name_files(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files of the repository become their names: the site does not have them."""

    def name(found: re.Match[str]) -> str:
        label, path = found.groups()
        inside = path.partition("#")[0]
        if page.count("/") and (app.srcdir / inside).exists():
            return found[0]
        return label if inside in label else f"{label} (`{inside}`)"

    source[0] = _OUTWARD.sub(name, source[0])


def setup(app: Sphinx) -> None:
    app.connect("source-read", _name_files)
