"""How an exchange fails below the level of HTTP answers. Raised by whatever connects, above all `client`."""

from __future__ import annotations


class HttpError(ConnectionError):
    """The exchange failed below the level of HTTP answers."""


class ConnectFailed(HttpError):
    """No connection could be made: nothing was sent."""


class ConnectionClosed(HttpError):
    """The server closed the connection before the answer was complete; `answered` tells whether it had begun."""

    def __init__(self, message: str, *, answered: bool) -> None:
        super().__init__(message)
        self.answered = answered


class ProtocolError(HttpError):
    """The server sent something that is not HTTP/1.1."""


class RequestTimeout(HttpError, TimeoutError):
    """The answer did not arrive in time."""
