"""Reads the Warning headers by which an API server comments on a request: `299 - "text", 299 - "text"`."""

from __future__ import annotations

import re

_WARNING = re.compile(r'\b299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


def parse_warnings(header: str) -> list[str]:
    """The texts of all warnings; those with another code than 299 are not for people and left out."""
    return [_ESCAPED.sub(r"\1", text) for text in _WARNING.findall(header)]
