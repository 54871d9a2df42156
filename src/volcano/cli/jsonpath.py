"""kubectl's JSONPath templates: `{.metadata.name}`, `{"\\n"}`, `{range .items[*]}…{end}`, and text in between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from volcano.local.apiserver.wire.printers.jsonpath import JsonPathError, compile_path

__all__ = ["JsonPathError", "compile_template"]

Writer = Callable[[Any], str]

_PIECE = re.compile(
    r"""\{(?P<inside>(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\[\?\([^)]*\)\]|[^{}])*)\}|(?P<text>[^{}]+)"""
)


def compile_template(text: str) -> Writer:
    """A function from an object to the text that the template makes of it. A bare path may lack its braces."""
    if "{" not in text:
        text = "{" + text + "}"
    pieces = _pieces(text)
    writers = list(_block(pieces, text, inside=False))
    return lambda document: "".join(write(document) for write in writers)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Each piece, and whether it stood in braces."""
    at = 0
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            raise JsonPathError(f"JSONPath template {text!r} cannot be read from {text[at:]!r} on")
        at = match.end()
        inside = match["inside"]
        yield (match["text"], False) if inside is None else (inside.strip(), True)


def _block(pieces: Iterator[tuple[str, bool]], text: str, *, inside: bool) -> Iterator[Writer]:
    """The writers up to the matching `{end}`, or to the end of the template."""
    for piece, braced in pieces:
        if not braced:
            yield _constant(piece)
        elif piece == "end":
            if inside:
                return
            raise JsonPathError(f"JSONPath template {text!r} has an {{end}} without a {{range}}")
        elif piece.startswith("range "):
            yield _range(piece.removeprefix("range "), list(_block(pieces, text, inside=True)))
        elif piece[:1] in ("'", '"'):
            yield _constant(_literal(piece))
        else:
            yield _values(piece)
    if inside:
        raise JsonPathError(f"JSONPath template {text!r} has a {{range}} without an {{end}}")


def _constant(text: str) -> Writer:
    return lambda _document: text


def _range(path: str, body: list[Writer]) -> Writer:
    find = compile_path(path)
    return lambda document: "".join(write(item) for item in find(document) for write in body)


def _values(path: str) -> Writer:
    find = compile_path(path)
    return lambda document: " ".join(map(_shown, find(document)))


def _literal(quoted: str) -> str:
    body = quoted[1:-1]
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1]), body)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
