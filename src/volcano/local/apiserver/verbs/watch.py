"""One watch stream: what happened already, then what happens, as chunks of JSON lines.

The store offers visible events; lines are encoded once per encoding and shared; `reads.py` opens the streams.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from volcano.local.apiserver.storage.entries import Collection, Event
    from volcano.local.apiserver.storage.store import Store
    from volcano.local.apiserver.verbs.selection import Selection
    from volcano.local.apiserver.wire.encodings import Encoding

BOOKMARK_SECONDS = 60.0
CHUNK_BYTES = 256 * 1024
BUFFER_BYTES = 32 * 1024 * 1024
BUFFER_EVENTS = 20_000


class WatchStream:
    """An async iterator over chunks of one watch. Ends at its deadline, on shutdown, or when its reader is too slow."""

    def __init__(
        self,
        store: Store,
        collection: Collection,
        selection: Selection,
        encoding: Encoding,
        *,
        timeout_seconds: float,
        bookmarks: bool,
    ) -> None:
        self._store = store
        self._collection = collection
        self._selection = selection
        self._encoding = encoding
        self._bookmarks = bookmarks
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + timeout_seconds
        self._next_bookmark = self._loop.time() + BOOKMARK_SECONDS
        self._backlog: Iterator[bytes] | None = None
        self._buffer: list[bytes] = []
        self._buffered_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._matches_all = selection.everything
        self._prefix = selection.prefix

    def start(self, backlog: Iterator[bytes], past: list[Event]) -> None:
        """Send `backlog`, then `past`, then every event from now on."""
        self._backlog = backlog
        self._collection.listeners.append(self)
        self.offer(past)
        for event in past:
            event.lines = None

    def offer(self, events: list[Event]) -> None:
        encoding = self._encoding
        for event in events:
            kind = self._kind(event)
            if kind is None:
                continue
            left = kind == "DELETED" != event.kind
            line = _shared_line(event, encoding, "LEFT" if left else kind)
            self._buffer.append(line)
            self._buffered_bytes += len(line)
        if self._buffered_bytes > BUFFER_BYTES or len(self._buffer) > BUFFER_EVENTS:
            self.end()
        if self._buffer:
            self._wake()

    def end(self) -> None:
        """Finish the stream now; a client that still wants to watch lists or resumes. No event reaches it any more."""
        self._ended = True
        self._buffer.clear()
        if self in self._collection.listeners:
            self._collection.listeners.remove(self)
        self._wake()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._ended:
            if self._backlog is not None:
                chunk = _joined(self._backlog)
                if chunk:
                    return chunk
                self._backlog = None
            if self._buffer:
                chunk = b"".join(self._buffer)
                self._buffer.clear()
                self._buffered_bytes = 0
                return chunk
            now = self._loop.time()
            if now >= self._deadline:
                self._ended = True
                if self._bookmarks:
                    return self._bookmark()
            elif self._bookmarks and now >= self._next_bookmark:
                self._next_bookmark = now + BOOKMARK_SECONDS
                return self._bookmark()
            else:
                await self._wait()
        self.end()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.end()

    def _kind(self, event: Event) -> str | None:
        """How this watch sees the event: objects enter and leave a selection."""
        if self._prefix and not event.entry.key.startswith(self._prefix):
            return None
        if self._matches_all:
            return event.kind
        now = event.kind != "DELETED" and self._selection(event.entry)
        before = event.previous is not None and self._selection(event.previous)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None

    def _bookmark(self) -> bytes:
        return self._encoding.bookmark(self._store.durable, initial_end=False)

    async def _wait(self) -> None:
        until = min(self._deadline, self._next_bookmark) if self._bookmarks else self._deadline
        self._waiter = self._loop.create_future()
        timer = self._loop.call_at(until, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _shared_line(event: Event, encoding: Encoding, kind: str) -> bytes:
    """The event as `encoding` writes it, made once for all watchers."""
    lines = event.lines
    if lines is None:
        lines = event.lines = {}
    shared = (encoding.key, kind)
    line = lines.get(shared)
    if line is None:
        if kind == "LEFT":  # leaving a selection shows what was selected
            line = encoding.line("DELETED", event.before())
        else:
            line = encoding.line(kind, event.entry)
        lines[shared] = line
    return line


def _joined(lines: Iterator[bytes]) -> bytes:
    """The next lines, up to a chunk's size."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if size >= CHUNK_BYTES:
            break
    return b"".join(chunk)
