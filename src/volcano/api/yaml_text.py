"""Configuration files: the one document of a YAML text, and the keys, of JSON as well, that it has more than once.

The readers of Go's Volcano let the last of two equal keys win and say nothing. What it means stays the same here, as a
daemon must not fail over a file that served until today; whoever reads it says so. Manifests (`kube.manifests`) are
stricter, as kubectl is.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

__all__ = ["read", "repeated_in_json"]

_MERGE: Final = "tag:yaml.org,2002:merge"
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]')


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
                found.append((line, _sentence(key.value, lines[name], line)))
            lines[name] = line
    return [sentence for _, sentence in sorted(found)]


def repeated_in_json(text: str) -> list[str]:
    """A sentence for each repeated key, in the order of the text, which must be JSON."""
    found: list[str] = []
    objects: list[dict[str, int] | None] = []
    """The keys of the objects around this place, with their lines; None for a list."""
    line, last = 1, ""
    for part in _JSON_TOKEN.findall(text):
        if part == "\n":
            line += 1
        elif part in "{[":
            objects.append({} if part == "{" else None)
        elif part in "}]":
            objects.pop()
        elif part == ":":
            keys = objects[-1]
            assert keys is not None, "only keys have a colon"
            name = json.loads(last)
            if name in keys:
                found.append(_sentence(name, keys[name], line))
            keys[name] = line
        else:
            last = part
    return found


def _sentence(key: str, before: int, line: int) -> str:
    return f"line {line}: the key {key!r} is on line {before} already; the last one counts"
