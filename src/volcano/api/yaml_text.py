"""Configuration files: the one document of a YAML text, and the keys in it that come more than once.

The readers of Go's Volcano let the last of two equal keys win and say nothing. What it means stays the same here, as a
daemon must not fail over a file that served until today; whoever reads it says so. Manifests (`kube.manifests`) are
stricter, as kubectl is.
"""

from __future__ import annotations

from typing import Any

import yaml

__all__ = ["read"]

_MERGE = "tag:yaml.org,2002:merge"


def read(text: str) -> tuple[Any, list[str]]:
    """The document, None where there is none, and a sentence for each repeated key. Raises as `yaml.safe_load`."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, []
        remarks = _repeated(node)
        return loader.construct_document(node), remarks
    finally:
        loader.dispose()


def _repeated(root: yaml.Node) -> list[str]:
    """In the order of the text, each object once, however many aliases stand for it."""
    found: list[tuple[int, str]] = []
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        lines: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            waiting.append(value)
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            name, line = (key.tag, key.value), key.start_mark.line + 1
            if name in lines:
                before = lines[name]
                found.append(
                    (line, f"line {line}: the key {key.value!r} is on line {before} already; the last one counts")
                )
            lines[name] = line
    return [sentence for _, sentence in sorted(found)]
