"""The request parser against h11: any split of the bytes gives the same requests, and mutations never disagree."""

from __future__ import annotations

from itertools import pairwise

import h11
from hypothesis import given, settings, strategies as st

from volcano.http.message import Peer, parse_target
from volcano.http.reading import Exchange, Limits, RequestReader

TOKEN = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=12).map(str.encode)
VALUE = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20).map(str.encode)
RESERVED = {b"host", b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"expect", b"te"}
PATH = st.lists(st.sampled_from([b"a", b"b/", b"%20", b"?", b"=&", b"?x=%"]), max_size=8).map(
    lambda parts: b"/" + b"".join(parts)
)


@st.composite
def raw_request(draw: st.DrawFn) -> bytes:
    method = draw(st.sampled_from([b"GET", b"POST", b"PUT", b"DELETE", b"PATCH"]))
    headers = draw(st.dictionaries(TOKEN.filter(lambda name: name not in RESERVED), VALUE, max_size=4))
    body = draw(st.binary(max_size=60))
    lines = [b"%b %b HTTP/1.1" % (method, draw(PATH)), b"Host: x"]
    lines += [b"%b: %b" % pair for pair in headers.items()]
    if draw(st.booleans()):
        lines.append(b"Transfer-Encoding: chunked")
        cut = draw(st.integers(0, len(body)))
        parts = [part for part in (body[:cut], body[cut:]) if part]
        payload = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    else:
        lines.append(b"Content-Length: %d" % len(body))
        payload = body
    return b"\r\n".join(lines) + b"\r\n\r\n" + payload


def read_ours(pieces: list[bytes]) -> list[Exchange]:
    exchanges: list[Exchange] = []
    reader = RequestReader(Limits(), Peer(), exchanges.append, lambda: 0.0)
    for piece in pieces:
        reader.feed(piece)
    return exchanges


Seen = tuple[str, str, dict[str, str], bytes]


def read_h11(raw: bytes) -> list[Seen]:
    """The complete requests h11 finds before it meets an error or the end."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(raw)
    found: list[Seen] = []
    request, body = None, b""
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                request, body = event, b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                assert request is not None
                found.append(plain(request, body))
                connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                connection.send(h11.EndOfMessage())
                connection.start_next_cycle()
            else:
                return found
    except (h11.RemoteProtocolError, h11.LocalProtocolError):
        return found


def plain(request: h11.Request, body: bytes) -> Seen:
    headers: dict[str, str] = {}
    for name, value in request.headers:
        key, text = name.decode(), value.decode("latin-1")
        headers[key] = f"{headers[key]}{'; ' if key == 'cookie' else ', '}{text}" if key in headers else text
    return request.method.decode(), request.target.decode(), headers, body


def same(ours: Exchange, theirs: Seen) -> bool:
    method, target, headers, body = theirs
    request = ours.request
    if (request.method, (request.path, request.query)) != (method, parse_target(target)):
        return False
    return {key: value.strip() for key, value in request.headers.items()} == headers and request.body == body


def split(raw: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    return [raw[start:end] for start, end in pairwise(edges)]


@settings(max_examples=200)
@given(st.lists(raw_request(), min_size=1, max_size=4), st.lists(st.integers(0, 2000), max_size=20))
def test_however_the_bytes_are_split_the_requests_are_those_h11_sees(requests: list[bytes], cuts: list[int]) -> None:
    raw = b"".join(requests)
    ours, theirs = read_ours(split(raw, cuts)), read_h11(raw)
    assert len(ours) == len(theirs) == len(requests)
    assert all(same(mine, other) for mine, other in zip(ours, theirs, strict=True))


@settings(max_examples=400)
@given(
    st.lists(raw_request(), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2000), st.sampled_from([b"", b"\r", b"\n", b"\0", b":", b" ", b"0", b"\xff"]))),
    st.lists(st.integers(0, 2000), max_size=5),
)
def test_damaged_requests_are_never_understood_differently(
    requests: list[bytes], damage: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    raw = b"".join(requests)
    for place, replacement in damage:
        place %= len(raw)
        raw = raw[:place] + replacement + raw[place + 1 :]
    ours = read_ours(split(raw, cuts))
    assert all(exchange.refused is None for exchange in ours[:-1])
    accepted = [exchange for exchange in ours if exchange.refused is None]
    for mine, other in zip(accepted, read_h11(raw), strict=False):
        assert same(mine, other), (mine, other)


@settings(max_examples=200)
@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_noise_gives_refusals_not_exceptions(noise: bytes, cuts: list[int]) -> None:
    exchanges = read_ours(split(noise, cuts))
    assert all(exchange.refused is None for exchange in exchanges[:-1])
