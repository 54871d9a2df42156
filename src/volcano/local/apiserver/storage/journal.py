"""Durability: committed rows in one SQLite table (WAL, synchronous=FULL), written by one thread in groups.

The store hands over a batch and is told when it is on the disk, or why not. Nothing else touches the file.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = tuple[int, str, str, int, "bytes | None"]
"""Row number, collection, key, revision, body (None: the row is free)."""

_REVISION_ROW = 0
_ROWS_PER_STATEMENT = 400
_FORMAT = 1


class StorageError(Exception):
    """The change could not be made durable and did not happen."""


class StorageFull(StorageError):
    """No space is left for the change."""


class StorageUnavailable(Exception):
    """The database cannot be opened: locked by another process, damaged, or not ours."""


class Journal(Protocol):
    """Where the store's changes are kept."""

    def load(self) -> Iterable[Row]: ...

    def commit(self, rows: list[Row], revision: int, report: Callable[[StorageError | None], None]) -> None:
        """Make `rows` durable, all or none, then call `report` (from any thread)."""

    def close(self) -> None: ...


class MemoryJournal:
    """Keeps nothing."""

    def load(self) -> Iterable[Row]:
        return ()

    def commit(self, rows: list[Row], revision: int, report: Callable[[StorageError | None], None]) -> None:
        report(None)

    def close(self) -> None:
        return None


class SqliteJournal:
    """One row per object. Deleted objects leave a free row, so that every batch is one atomic statement."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._database = _open(path)
        self._queue: SimpleQueue[tuple[list[Row], Callable[[StorageError | None], None]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def load(self) -> Iterable[Row]:
        try:
            yield from self._database.execute("SELECT row, collection, key, revision, body FROM objects ORDER BY row")
        except sqlite3.DatabaseError as error:
            raise _damaged(self._path, error) from error

    def commit(self, rows: list[Row], revision: int, report: Callable[[StorageError | None], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
            self._thread.start()
        rows.append((_REVISION_ROW, "", "", revision, None))
        self._queue.put((rows, report))

    def close(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self._database.close()

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            rows, report = task
            report(self._write(rows))

    def _write(self, rows: list[Row]) -> StorageError | None:
        database = self._database
        try:
            if len(rows) <= _ROWS_PER_STATEMENT:
                _upsert(database, rows)  # autocommit: one statement is one transaction
                return None
            with database:
                database.execute("BEGIN IMMEDIATE")
                for start in range(0, len(rows), _ROWS_PER_STATEMENT):
                    _upsert(database, rows[start : start + _ROWS_PER_STATEMENT])
        except sqlite3.Error as error:
            return _write_failure(self._path, error)
        return None


def _upsert(database: sqlite3.Connection, rows: list[Row]) -> None:
    places = ",".join(["(?,?,?,?,?)"] * len(rows))
    values = [value for row in rows for value in row]
    database.execute(f"INSERT OR REPLACE INTO objects (row, collection, key, revision, body) VALUES {places}", values)  # noqa: S608


def _open(path: str) -> sqlite3.Connection:
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1.0)
        Path(path).chmod(0o600)
        database.execute("PRAGMA page_size = 8192")
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, _FORMAT):
            raise StorageUnavailable(
                f"database {path} has format {found}, this version reads format {_FORMAT}: "
                "start with another --data-dir, or use the version that wrote it"
            )
        database.execute("BEGIN EXCLUSIVE")  # takes the lock that a second server must not get
        if found == 0:
            if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise StorageUnavailable(f"database {path} belongs to another program: choose another --data-dir")
            database.execute(
                "CREATE TABLE objects (row INTEGER PRIMARY KEY, collection TEXT NOT NULL, key TEXT NOT NULL,"
                " revision INTEGER NOT NULL, body BLOB)"
            )
            database.execute(f"PRAGMA user_version = {_FORMAT}")
        database.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise StorageUnavailable(
                f"database {path} is locked: another API server uses it; stop that one or choose another --data-dir"
            ) from error
        raise StorageUnavailable(f"database {path} cannot be opened: {error}") from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error
    return database


def _damaged(path: str, error: Exception) -> StorageUnavailable:
    return StorageUnavailable(
        f"database {path} is damaged ({error}): move it away to start empty, or put a copy back from a backup"
    )


def _write_failure(path: str, error: sqlite3.Error) -> StorageError:
    if "full" in str(error):
        return StorageFull(f"no space left to write to {path}: free some space; the change was not made")
    return StorageError(f"cannot write to {path}: {error}; the change was not made")
