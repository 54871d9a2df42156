"""Mounts without namespaces: mount paths in a container's command and environment become the real paths. Pure.

Neighbours: `plan` uses this where the machine has no mount namespaces (macOS, locked-down hosts).
Limit: a path that a program builds itself at run time is not seen; `VOLCANO_VOLUME_<NAME>` names the real folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from volcano.local.node.supervisor.documents import Mount

_BEFORE = r"(?<![\w./-])"
_AFTER = r"(?![\w.-])"


def rewrite(text: str, mounts: Iterable[Mount]) -> str:
    """`text` with every mount path in it replaced by where its files really are; the longest path wins."""
    targets = {mount["target"].rstrip("/"): mount["source"] for mount in mounts}
    if not targets:
        return text
    longest_first = sorted(targets, key=len, reverse=True)
    pattern = _BEFORE + "(" + "|".join(re.escape(target) for target in longest_first) + ")" + _AFTER
    return re.sub(pattern, lambda match: targets[match.group(1)], text)


def volume_variable(volume: str) -> str:
    """The environment variable that names the real folder of `volume`."""
    return "VOLCANO_VOLUME_" + re.sub(r"\W", "_", volume).upper()
