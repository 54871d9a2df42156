"""What all tests share: signals that end a process end it, however the test run itself was started."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def heed_signals() -> None:
    """`nohup` and background shells have signals ignored, and every child would inherit that.

    SIGTERM ends the run as Ctrl-C does: fixtures stop what they started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
