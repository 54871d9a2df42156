"""Work that goes on beside a test, with a loop and a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Background(ABC):
    """Works until told to stop, and is waited for then."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=lambda: asyncio.run(self._work()))
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    @abstractmethod
    async def _work(self) -> None: ...
