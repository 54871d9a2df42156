"""Decode Kubernetes' protobuf request bodies into JSON objects.

kubectl and Go clients send built-in kinds this way; answers are always JSON. Facts: protobuf_table.py.
"""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver.faults import DecodeError
from volcano.local.apiserver.wire.protobuf_table import SCALARS, Field, Shape, fields_of, is_choice, message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["MEDIA_TYPE", "decode_protobuf"]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_MAX_DEPTH = 64
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Wire = int | bytes


def decode_protobuf(body: bytes, api_version: str = "", kind: str = "") -> dict[str, Any]:
    """The JSON object in `body`; the default kind serves bodies whose envelope does not name one (DeleteOptions)."""
    if body[:4] != _MAGIC:
        raise DecodeError("the body is no Kubernetes protobuf message: it does not start with 'k8s\\0'")
    raw = b""
    for number, value in _fields(body[4:]):
        if number == 1:
            named = {n: _text(_bytes(v, "typeMeta")) for n, v in _fields(_bytes(value, "typeMeta"))}
            api_version, kind = named.get(1) or api_version, named.get(2) or kind
        elif number == 2:
            raw = _bytes(value, "raw")
        elif number == 3 and value:
            raise DecodeError("the body is a protobuf message with a content encoding: send it plain")
        elif number == 4 and value not in (b"", MEDIA_TYPE.encode()):
            raise DecodeError(f"the body is a protobuf envelope around {value!r}: send that media type directly")
    message = message_of(api_version, kind)
    if message is None:
        raise DecodeError(f"kind {kind!r} of {api_version!r} is not read from protobuf here: send it as JSON")
    return {"apiVersion": api_version, "kind": kind, **_message(message, raw, 0)}


def _message(name: str, data: bytes, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise DecodeError(f"the body nests deeper than {_MAX_DEPTH} messages")
    known = fields_of(name)
    result: dict[str, Any] = {}
    for number, wire in _fields(data):
        field = known.get(number)
        if field is not None:
            _put(result, field, wire, depth)
    return result


def _put(result: dict[str, Any], field: Field, wire: Wire, depth: int) -> None:
    if field.shape is Shape.INLINE:
        result.update(_message(field.kind, _bytes(wire, field.kind), depth + 1))
    elif field.shape is Shape.MAP:
        key, value = _entry(field, _bytes(wire, field.name), depth)
        result.setdefault(field.name, {})[key] = value
    elif field.shape is Shape.LIST:
        items: list[Any] = result.setdefault(field.name, [])
        if isinstance(wire, bytes) and field.kind in ("int", "bool"):
            items.extend(_value(field, number, depth) for number in _packed(wire))
        else:
            items.append(_value(field, wire, depth))
    else:
        value = _value(field, wire, depth)
        if value or (field.keeps_zero and value is not None and field.kind not in _EMPTY_IS_ABSENT):
            result[field.name] = value
        elif not field.keeps_zero:
            result.pop(field.name, None)


def _entry(field: Field, data: bytes, depth: int) -> tuple[str, Any]:
    key, wire = "", b""
    for number, item in _fields(data):
        if number == 1:
            key = _text(_bytes(item, field.name))
        elif number == 2:
            wire = _bytes(item, field.name)
    return key, _value(field, wire, depth)


def _value(field: Field, wire: Wire, depth: int) -> Any:
    kind = field.kind
    if kind == "string":
        return _text(_bytes(wire, field.name))
    if kind == "int" or kind == "bool":
        if isinstance(wire, bytes):
            raise DecodeError(f"field {field.name!r} should be a number")
        return bool(wire) if kind == "bool" else _signed(wire)
    if kind in SCALARS:
        return _SPECIAL[kind](_bytes(wire, field.name))
    data = _bytes(wire, field.name)
    return _choice(kind, data, depth + 1) if is_choice(kind) else _message(kind, data, depth + 1)


def _choice(name: str, data: bytes, depth: int) -> Any:
    """What of a choice was sent; a flag counts only when nothing else did."""
    if depth > _MAX_DEPTH:
        raise DecodeError(f"the body nests deeper than {_MAX_DEPTH} messages")
    known = fields_of(name)
    chosen: Any = False
    for number, wire in _fields(data):
        field = known.get(number)
        if field is None:
            continue
        value = _value(field, wire, depth)
        if field.shape is Shape.LIST:
            chosen = [*chosen, value] if isinstance(chosen, list) else [value]
        elif not isinstance(chosen, dict):
            chosen = value
    return chosen


def _fields(data: bytes) -> Iterator[tuple[int, Wire]]:
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, form = tag >> 3, tag & 7
        if form == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif form == _BYTES:
            size, at = _varint(data, at)
            if size > end - at:
                raise DecodeError("the protobuf body is cut short")
            yield number, data[at : at + size]
            at += size
        elif form in (_FIXED64, _FIXED32):
            size = 8 if form == _FIXED64 else 4
            if size > end - at:
                raise DecodeError("the protobuf body is cut short")
            yield number, data[at : at + size]
            at += size
        else:
            raise DecodeError(f"the protobuf body is damaged: wire type {form} of field {number} is unknown")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    for byte in data[at : at + 10]:
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise DecodeError("the protobuf body is cut short or holds a number of more than 64 bits")


def _packed(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _bytes(wire: Wire, name: str) -> bytes:
    if isinstance(wire, bytes):
        return wire
    raise DecodeError(f"field {name!r} should be a string or a message, not a number")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"the protobuf body holds text that is not UTF-8: {error.reason}") from None


def _number(data: bytes, wanted: int) -> int:
    """The last value of the number field `wanted`, 0 where absent."""
    found = 0
    for number, value in _fields(data):
        if number == wanted and isinstance(value, int):
            found = _signed(value)
    return found


def _string(data: bytes, wanted: int) -> str:
    return next((_text(value) for number, value in _fields(data) if number == wanted and isinstance(value, bytes)), "")


def _time(data: bytes) -> str | None:
    return _instant(data).strftime("%Y-%m-%dT%H:%M:%SZ") if data else None


def _micro_time(data: bytes) -> str | None:
    return _instant(data).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if data else None


def _instant(data: bytes) -> datetime:
    seconds, nanos = _number(data, 1), _number(data, 2)
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise DecodeError(f"the protobuf body holds a time that no calendar has: {seconds} s after 1970") from None


def _quantity(data: bytes) -> str:
    return _string(data, 1) or "0"


def _int_or_string(data: bytes) -> int | str:
    return _string(data, 3) if _number(data, 1) else _number(data, 2)


def _raw(data: bytes) -> Any:
    text = next((value for number, value in _fields(data) if number == 1 and isinstance(value, bytes)), b"")
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise DecodeError(f"the protobuf body holds a JSON part that cannot be read: {error}") from None


def _strings(data: bytes) -> list[str]:
    return [_text(_bytes(value, "items")) for number, value in _fields(data) if number == 1]


def _duration(data: bytes) -> str:
    return f"{_number(data, 1) / 1e9:g}s"


def _double(data: bytes) -> float:
    if len(data) != 8:
        raise DecodeError("the protobuf body holds a damaged floating-point number")
    (value,) = struct.unpack("<d", data)
    return float(value)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_EMPTY_IS_ABSENT = frozenset({"raw", "time", "microtime"})
_SPECIAL: dict[str, Callable[[bytes], Any]] = {
    "bytes": _base64,
    "double": _double,
    "quantity": _quantity,
    "time": _time,
    "microtime": _micro_time,
    "intorstring": _int_or_string,
    "raw": _raw,
    "strings": _strings,
    "duration": _duration,
}
