"""An event loop in a thread of its own, into which synchronous code sends its coroutines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from volcano.http.lifetime import loop_factory

T = TypeVar("T")


class Portal:
    """The thread lives until `close`, or as long as the program."""

    def __init__(self) -> None:
        self._loop = (loop_factory() or asyncio.new_event_loop)()
        self._thread = threading.Thread(target=self._loop.run_forever, name="volcano-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; whoever is interrupted while waiting ends the work too."""
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the client is closed")
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("this is the client's own event loop: use AsyncClient in asynchronous code")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """The items as they come; leaving the loop early ends their source."""

        async def following() -> tuple[T] | None:
            try:
                return (await anext(items),)
            except StopAsyncIteration:
                return None

        async def end() -> None:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()

        try:
            while (found := self.run(following())) is not None:
                yield found[0]
        finally:
            if not self._loop.is_closed():
                self.run(end())

    def close(self) -> None:
        """End the thread. Its work should be done."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
