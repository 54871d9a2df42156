"""The program inside a pod: calls the function that was shipped to it and writes the result to its log, in frames.

Its source travels with the payload: standard library only, no sibling of this file is there. `functions` writes the
payload, `results` reads the frames, `executor` is the other end of `work`.
"""

from __future__ import annotations

import base64
import os
import pickle
import sys
import traceback
import types
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MARK = b"\x1evolcano-result "
FRAME_BYTES = 6000
"""Before base64: container runtimes split lines above 16 KiB."""

VALUE, ERROR, UNPICKLABLE, TOO_LARGE = "value", "error", "unpicklable", "too large"
Outcome = tuple[Any, ...]


# Shipping


def revive(shipped: dict[str, Any]) -> Callable[..., Any]:
    """The function that `functions.pack` packed."""
    if "pickle" in shipped:
        function: Callable[..., Any] = pickle.loads(shipped["pickle"])  # noqa: S301 - made by whoever made this pod
        return function
    module = types.ModuleType("volcano_function")
    sys.modules[module.__name__] = module
    namespace = vars(module)
    for name, target in shipped["modules"].items():
        __import__(target)
        namespace[name] = sys.modules[target]
    for name, value in shipped["values"].items():
        namespace[name] = pickle.loads(value)  # noqa: S301
    for text in shipped["sources"]:
        exec(compile(text, "<shipped>", "exec"), namespace)  # noqa: S102
    return namespace[shipped["name"]]  # type: ignore[no-any-return]


def outcome(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Outcome:
    """What calling the function came to."""
    try:
        return VALUE, function(*args, **keywords)
    except Exception as error:  # noqa: BLE001 - it is raised again where the result is asked for
        return ERROR, error, traceback.format_exc()


def packed(result: Outcome, limit: int) -> bytes:
    """An outcome as bytes; one that cannot be sent becomes one that says why."""
    try:
        data = pickle.dumps(result)
    except Exception as error:  # noqa: BLE001 - objects may raise anything when they are pickled
        if result[0] == ERROR:
            return pickle.dumps((ERROR, None, result[2]))
        return pickle.dumps((UNPICKLABLE, type(result[1]).__qualname__, f"{type(error).__name__}: {error}"))
    if len(data) > limit:
        return pickle.dumps((TOO_LARGE, len(data), limit))
    return data


# Frames


def frames(data: bytes) -> Iterator[bytes]:
    """`data` as lines of a log: mark, checksum, number and count, base64."""
    checksum = zlib.crc32(data)
    count = max(1, -(-len(data) // FRAME_BYTES))
    for number in range(count):
        piece = base64.b64encode(data[number * FRAME_BYTES : (number + 1) * FRAME_BYTES])
        yield b"%s%08x %d/%d %s\n" % (MARK, checksum, number + 1, count, piece)


def unframed(lines: Iterable[bytes]) -> bytes | None:
    """The data of the last complete set of frames; None where there is none."""
    pieces: dict[tuple[str, int], dict[int, bytes]] = {}
    found = None
    for line in lines:
        _, mark, rest = line.partition(MARK)
        words = rest.split()
        if not mark or len(words) != 3:
            continue
        number, _, total = words[1].partition(b"/")
        key = (words[0].decode(), int(total))
        got = pieces.setdefault(key, {})
        got[int(number)] = base64.b64decode(words[2])
        if len(got) == key[1]:
            data = b"".join(got[index] for index in sorted(got))
            found = data if f"{zlib.crc32(data):08x}" == key[0] else found
            del pieces[key]
    return found


# Programs


def call(path: str) -> int:
    """Run the call of this member that the payload at `path` holds; 0 when it returned."""
    output = os.dup(1)
    with open(path, "rb") as file:  # noqa: PTH123
        payload = pickle.load(file)  # noqa: S301
    calls = payload["calls"]
    member = int(os.environ.get("VC_TASK_INDEX", "0"))
    try:
        args, keywords = pickle.loads(calls[member if len(calls) > 1 else 0])  # noqa: S301
        function = revive(payload["function"])
    except Exception as error:  # noqa: BLE001 - a module that is missing here, for example
        result: Outcome = (ERROR, error, traceback.format_exc())
    else:
        result = outcome(function, args, keywords)
    if result[0] == ERROR:
        sys.stderr.write(result[2])
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    data = packed(result, payload["limit"])
    for frame in frames(data):
        _write(output, frame)
    return 0 if pickle.loads(data)[0] == VALUE else 1  # noqa: S301


def work(host: str, port: str, key: str, limit: str) -> int:
    """Run what the executor at `host`:`port` sends, until it says that there is no more or goes away."""
    from multiprocessing.connection import Client

    with open(key, "rb") as file:  # noqa: PTH123
        secret = file.read()
    functions: dict[bytes, Callable[..., Any]] = {}
    with Client((host, int(port)), authkey=secret) as executor:
        while True:
            try:
                order = executor.recv_bytes()
            except (EOFError, ConnectionError):
                return 0
            if not order:
                return 0
            executor.send_bytes(packed(_obeyed(order, functions), int(limit)))


def _obeyed(order: bytes, functions: dict[bytes, Callable[..., Any]]) -> Outcome:
    """Equal functions are revived once: their modules and globals stay warm."""
    try:
        shipped, arguments = pickle.loads(order)  # noqa: S301
        function = functions.get(shipped)
        if function is None:
            function = functions[shipped] = revive(pickle.loads(shipped))  # noqa: S301
        args, keywords = pickle.loads(arguments)  # noqa: S301
    except Exception as error:  # noqa: BLE001 - as in `call`
        return ERROR, error, traceback.format_exc()
    return outcome(function, args, keywords)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    program, *arguments = sys.argv[1:]
    sys.exit(call(*arguments) if program == "call" else work(*arguments))
