"""What members wrote into their logs, taken apart: output for people, and the frames of a function's result."""

from __future__ import annotations

import pickle
import re
from typing import Any

from volcano.sdk import inside
from volcano.sdk.errors import NotPicklable, RemoteTraceback, ResultTooLarge

__all__ = ["output", "value", "without_frames"]

TAIL_LINES = 20
_FRAME = re.compile(f"{re.escape(inside.MARK.decode())}[^\n]*\n?")


def value(packed: bytes) -> Any:
    """The result in `packed`; raises what the function raised."""
    kind, *rest = pickle.loads(packed)  # noqa: S301 - from a member of the caller's own job
    match kind:
        case inside.VALUE:
            return rest[0]
        case inside.UNPICKLABLE:
            raise NotPicklable(f"the result, a {rest[0]}, cannot be pickled: {rest[1]}")
        case inside.TOO_LARGE:
            raise ResultTooLarge(
                f"the result takes {rest[0]:,} bytes, the limit is {rest[1]:,}: write it to a volume and return its "
                "path, or raise result_limit"
            )
    error, text = rest
    if error is None:
        raise RuntimeError(f"the function raised an exception that cannot be pickled:\n{text}")
    raise error from RemoteTraceback(text)


def output(log: bytes) -> str:
    """What a member wrote, without frames."""
    return without_frames(log.decode(errors="replace"))


def without_frames(text: str) -> str:
    return _FRAME.sub("", text)


def tail(log: bytes) -> str:
    """The last lines of what a member wrote."""
    return "\n".join(output(log).rstrip("\n").split("\n")[-TAIL_LINES:])
