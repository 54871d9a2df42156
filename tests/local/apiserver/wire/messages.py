"""A small protobuf writer: JSON objects into Kubernetes' wire form, by the same table that reads it."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import msgspec

from volcano.local.apiserver.wire.protobuf_table import Field, Shape, fields_of, message_of

Document = dict[str, Any]


def encode(document: Document) -> bytes:
    api_version, kind = document["apiVersion"], document["kind"]
    message = message_of(api_version, kind)
    assert message is not None
    type_meta = chunk(1, api_version.encode()) + chunk(2, kind.encode())
    return b"k8s\x00" + chunk(1, type_meta) + chunk(2, body(message, document)) + chunk(3, b"") + chunk(4, b"")


def body(message: str, document: Document) -> bytes:
    parts = []
    for number, field in fields_of(message).items():
        if field.shape is Shape.INLINE:
            parts.append(chunk(number, body(field.kind, document)))
        elif field.name in document:
            parts.append(_field(number, field, document[field.name]))
        elif not field.keeps_zero and field.shape is Shape.ONE:
            parts.append(_zero(number, field))
    return b"".join(parts)


def chunk(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, field: Field, value: Any) -> bytes:
    if field.shape is Shape.LIST:
        return b"".join(_one(number, field, item) for item in value)
    if field.shape is Shape.MAP:
        entries = (chunk(1, key.encode()) + _one(2, field, item) for key, item in value.items())
        return b"".join(chunk(number, entry) for entry in entries)
    return _one(number, field, value)


def _one(number: int, field: Field, value: Any) -> bytes:
    match field.kind:
        case "int" | "bool":
            return varint(number << 3) + varint(int(value))
        case "string":
            return chunk(number, value.encode())
        case "bytes":
            return chunk(number, base64.b64decode(value))
        case "quantity":
            return chunk(number, chunk(1, value.encode()))
        case "raw":
            return chunk(number, chunk(1, msgspec.json.encode(value)))
        case "strings":
            return chunk(number, b"".join(chunk(1, item.encode()) for item in value))
        case "time" | "microtime":
            instant = datetime.fromisoformat(value)
            nanos = instant.microsecond * 1000
            return chunk(number, b"\x08" + varint(int(instant.timestamp())) + b"\x10" + varint(nanos))
        case "intorstring" if isinstance(value, int):
            return chunk(number, b"\x08\x00\x10" + varint(value) + chunk(3, b""))
        case "intorstring":
            return chunk(number, b"\x08\x01\x10\x00" + chunk(3, value.encode()))
        case _:
            return chunk(number, body(field.kind, value))


def _zero(number: int, field: Field) -> bytes:
    """Go writes fields that are not pointers even when they are empty."""
    if field.kind in ("int", "bool"):
        return varint(number << 3) + b"\x00"
    return chunk(number, b"")
