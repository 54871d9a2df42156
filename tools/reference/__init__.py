"""Writes the parts of the documentation that the program itself knows best.

python -m tools.reference            # writes pages of docs/ anew
python -m tools.reference --check    # exit status 1 when they are not current

Some pages are made as a whole: commands, flags, CRDs, metrics, the Python API. Pages of plugins and actions are written
by hand around blocks that are made here (`blocks.py`): names, types and defaults come from the program, meanings stay.
"""

from __future__ import annotations

from pathlib import Path

from tools.reference import blocks, commands, crds, flags, messages, metrics, plugins, sdk

DOCS = Path(__file__).parents[2] / "docs"
TROUBLES = "troubleshooting.md"
MADE_BY = "<!-- Written by tools/reference: change the program, then run it again (`make docs`). -->"


def pages() -> dict[str, str]:
    """Every page that is written here, wholly or in part, by its path under docs/."""
    made = {"vcctl.md": commands.page(), "metrics.md": metrics.page(), "sdk-reference.md": sdk.page()}
    made |= flags.pages() | crds.pages() | {"plugins.md": plugins.overview()}
    around = {TROUBLES: blocks.fill((DOCS / TROUBLES).read_text(), messages.makers())} | plugins.pages(DOCS)
    return {name: f"{MADE_BY}\n{text}" for name, text in made.items()} | around
