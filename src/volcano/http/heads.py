"""The heads of answers as httptools finds them, for connections with a loop (`exchange`) and without (`blocking`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httptools


class AnswerHead:
    """The callbacks of a parser that are about the head. Answers in between (1xx) are passed over."""

    _parser: httptools.HttpResponseParser

    def _expect_head(self) -> None:
        """Before each exchange."""
        self.status = 0
        self.headers: dict[str, str] = {}
        self._answered = False
        self._interim = False
        self._head_done = False

    def _head_arrived(self) -> None:
        """The connection's own part: the head is done, its body may follow."""
        raise NotImplementedError

    @property
    def _until_close(self) -> bool:
        """The body has no length of its own: it ends where the connection ends."""
        return "content-length" not in self.headers and "transfer-encoding" not in self.headers

    def on_message_begin(self) -> None:
        self._answered = True
        self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        key = header_name(name)
        text = value.decode("latin-1")
        headers = self.headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._interim = 100 <= status < 200
        if not self._interim:
            self.status = status
            self._head_done = True
            self._head_arrived()


@lru_cache(maxsize=256)
def header_name(name: bytes) -> str:
    """A server sends the same few with every answer."""
    return name.decode("latin-1").lower()
