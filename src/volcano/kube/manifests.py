"""Manifests: the objects of YAML or JSON text, read the way kubectl reads them.

Many documents, `List` objects and streams of JSON all give one flat list. Errors name the file, document and line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import yaml

from volcano.api.meta import JsonObject

__all__ = ["ManifestError", "load", "load_paths", "parse_scalar"]

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"})
FALSE = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"})
NULL = frozenset({"", "~", "null", "Null", "NULL"})
INFINITIES = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
LONGEST_INTEGER = 67
"""64 binary digits, their prefix and a sign: what is longer is no integer of YAML's readers."""
INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
MOST_REPEATED = 100_000
"""So many values may come from aliases: a few lines of YAML can stand for billions."""
STRING_TAG = "tag:yaml.org,2002:str"
BINARY_TAG = "tag:yaml.org,2002:binary"

Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ManifestError(ValueError):
    """The text is not a manifest; the message names where and why."""


class Composer(Base):  # type: ignore[misc]
    """Parses YAML to nodes and leaves the meaning of scalars to `parse_scalar`."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


def load_paths(paths: Iterable[Path | str], *, standard_input: str | None = None) -> list[JsonObject]:
    """The objects of files, and of the manifests directly inside folders. `-` means `standard_input`."""
    objects: list[JsonObject] = []
    for path in paths:
        if str(path) == "-":
            objects += load(standard_input or "", "standard input")
            continue
        for file in manifest_files(Path(path)):
            try:
                text = file.read_text(encoding="utf-8")
            except OSError as error:
                raise ManifestError(f"{file}: {error.strerror}") from error
            except UnicodeDecodeError as error:
                raise ManifestError(f"{file}: not UTF-8 text: {error}") from error
            objects += load(text, str(file))
    return objects


def manifest_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise ManifestError(f"{path}: no file in this folder ends with {', '.join(sorted(SUFFIXES))}")
    return files


def load(text: str, name: str = "manifest") -> list[JsonObject]:
    """The objects of a text; `name` is what error messages call it."""
    objects: list[JsonObject] = []
    for place, document in documents(text, name):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise ManifestError(f"{place}: expected an object with apiVersion and kind, got {describe(document)}")
        objects += expand(document, place)
    return objects


def documents(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """Each document with its place in words."""
    try:
        if text.lstrip()[:1] == "{":
            try:
                found = list(json_documents(text, name))
            except json.JSONDecodeError:
                pass  # flow-style YAML starts like this too
            else:
                yield from found
                return
        yield from yaml_documents(text, name)
    except RecursionError:
        raise ManifestError(f"{name}: a document nests deeper than anything has to") from None


def json_documents(text: str, name: str) -> Iterator[tuple[str, Any]]:
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: unique(pairs, name), parse_int=json_integer)
    position, end = 0, len(text)
    while position < end:
        if text[position].isspace():
            position += 1
            continue
        line = text.count("\n", 0, position) + 1
        document, position = decoder.raw_decode(text, position)
        yield f"{name}: line {line}", document


def json_integer(digits: str) -> int | float:
    """What does not fit into 64 bits is as good as lost; Kubernetes reads it as a float, too."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def unique(pairs: list[tuple[str, Any]], name: str) -> JsonObject:
    """The pairs as an object; a key that occurs twice is an error."""
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ManifestError(f"{name}: the key {key!r} occurs twice in one object")
            seen.add(key)
    return result


def yaml_documents(text: str, name: str) -> Iterator[tuple[str, Any]]:
    number = 1
    composer = None
    try:
        composer = Composer(text)
        while composer.check_node():
            node = composer.get_node()
            place = f"{name}: document {number}, line {node.start_mark.line + 1}"
            yield place, Builder(f"{name}: document {number}").build(node)
            number += 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark is not None else ""
        reason = error.problem or error.context or str(error)
        raise ManifestError(f"{name}: document {number}{line}: not valid YAML: {reason}") from error
    except yaml.YAMLError as error:
        raise ManifestError(f"{name}: not valid YAML: {error}") from error
    finally:
        if composer is not None:
            composer.dispose()


class Builder:
    """Turns the nodes of one document into plain values."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._open: set[int] = set()
        self._seen: set[int] = set()
        self._repeated = 0

    def build(self, node: yaml.Node) -> Any:
        if id(node) in self._seen:
            self._repeated += 1
            if self._repeated > MOST_REPEATED:
                raise self._error(node, f"aliases stand for more than {MOST_REPEATED} values: write them out")
        self._seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        assert isinstance(node, (yaml.SequenceNode, yaml.MappingNode))
        if id(node) in self._open:
            raise self._error(node, "an alias refers to the object that contains it")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item) for item in node.value]
            return self._mapping(node)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if node.tag == BINARY_TAG:
            raise self._error(node, "!!binary is not supported: write the base64 text as a string")
        if is_text(node):
            return text
        value = parse_scalar(text)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"{text} cannot be expressed in JSON")
        return value

    def _mapping(self, node: yaml.MappingNode) -> JsonObject:
        result: JsonObject = {}
        merged: JsonObject = {}
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value == "<<" and not key_node.style:
                merged = {**self._merge(value_node), **merged}
                continue
            key = self.build(key_node)
            if isinstance(key, (dict, list)):
                raise self._error(key_node, "a key must be a scalar")
            name = key if isinstance(key, str) else json.dumps(key)
            if name in result:
                raise self._error(key_node, f"the key {name!r} occurs twice in one object")
            result[name] = self.build(value_node)
        return {**merged, **result} if merged else result

    def _merge(self, node: yaml.Node) -> JsonObject:
        value = self.build(node)
        sources = value if isinstance(value, list) else [value]
        merged: JsonObject = {}
        for source in sources:
            if not isinstance(source, dict):
                raise self._error(node, "<< takes an object or a list of objects")
            merged = {**source, **merged}
        return merged

    def _error(self, node: yaml.Node, reason: str) -> ManifestError:
        return ManifestError(f"{self._place}, line {node.start_mark.line + 1}: {reason}")


def is_text(node: yaml.ScalarNode) -> bool:
    """The scalar is quoted, or tagged as text."""
    if node.style:
        return True
    tagged = node.end_mark.index - node.start_mark.index > len(node.value)
    return tagged and node.tag == STRING_TAG


def parse_scalar(text: str) -> str | int | float | bool | None:
    """What kubectl's YAML reader makes of an unquoted scalar: `y`, `on` and `no` are booleans, dates are text."""
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    if text in NULL:
        return None
    if text[0] not in "+-.0123456789":
        return text
    lowered = text.lower()
    if lowered in INFINITIES:
        return INFINITIES[lowered]
    digits = text.replace("_", "")
    if len(digits) <= LONGEST_INTEGER and INTEGER.fullmatch(digits):
        value = parse_integer(digits)
        if -(2**63) <= value < 2**64:
            return value
    if FLOAT.fullmatch(digits):
        number = float(digits)
        if math.isfinite(number):
            return int(number) if number.is_integer() and abs(number) < 1e21 else number
    return text


def parse_integer(digits: str) -> int:
    """An integer with Go's prefixes: a leading zero means octal."""
    sign, magnitude = (digits[0], digits[1:]) if digits[0] in "+-" else ("+", digits)
    octal = len(magnitude) > 1 and magnitude[0] == "0" and magnitude[1].isdigit()
    value = int(magnitude, 8) if octal else int(magnitude, 0)
    return -value if sign == "-" else value


def expand(document: JsonObject, place: str) -> list[JsonObject]:
    """The object itself, or the items of a List."""
    kind, api_version = document.get("kind"), document.get("apiVersion")
    for field, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str) or not value:
            raise ManifestError(f"{place}: {field} is not set" if not value else f"{place}: {field} must be a string")
    assert isinstance(kind, str)
    items = document.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        return [document]
    expanded: list[JsonObject] = []
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise ManifestError(f"{place}: items[{index}]: expected an object, got {describe(item)}")
        inherited = {} if kind == "List" else {"apiVersion": api_version, "kind": kind.removesuffix("List")}
        expanded += expand({**inherited, **item}, f"{place}: items[{index}]")
    return expanded


def describe(value: object) -> str:
    names = {list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")
