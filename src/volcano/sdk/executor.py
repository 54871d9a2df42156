"""Workers that stay warm: `concurrent.futures` over a job whose members call back and ask for tasks.

Each worker has a thread here that hands it one task after the other. `inside.work` is the other end.
"""

from __future__ import annotations

import concurrent.futures
import os
import pickle
import queue
import secrets
import socket
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from typing import TYPE_CHECKING, Any

from volcano.sdk import functions, results
from volcano.sdk.errors import JobError, SdkError, WrongArgument
from volcano.sdk.planning import plan_workers

if TYPE_CHECKING:
    from volcano.sdk.options import Options
    from volcano.sdk.sync import Client

LOSSES = 3
"""So many workers a task may take down before it is given up."""
BACKLOG = 128
GOODBYE = b""


class WorkerLost(SdkError, BrokenExecutor):
    """The workers that ran a task ended before the task did."""


@dataclass(eq=False)
class _Task:
    order: bytes
    future: Future[Any] = field(default_factory=Future)
    losses: int = 0


class Executor(concurrent.futures.Executor):
    """Runs functions on `workers` members of one job.

    They are processes of their own, on other nodes perhaps: functions, arguments and results are pickled. The task of
    a worker that is lost is given to another. `host` is where workers find this program; in local mode and in a pod
    that is known.
    """

    def __init__(self, client: Client, workers: int, options: Options, *, host: str = "") -> None:
        if workers < 1:
            raise WrongArgument(f"workers={workers}: give at least 1")
        place = client.connection().place
        host = host or ("127.0.0.1" if place.local else own_address())
        self._elsewhere = not place.local
        self._key = secrets.token_bytes(32)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._pending: set[Future[Any]] = set()
        self._shipped: dict[Callable[..., Any], bytes] = {}
        self._broken: BaseException | None = None
        self._finishing: threading.Thread | None = None
        self._listener = Listener((host if place.local else "0.0.0.0", 0), backlog=BACKLOG)
        self.address = (host, int(self._listener.address[1]))
        try:
            self.job = client.create(plan_workers(workers, self.address, self._key, options, place))
        except BaseException:
            self._listener.close()
            raise
        _thread(self._welcome)
        _thread(self._watch)

    def submit(self, function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Future[Any]:
        """Have a worker call the function. NotPicklable where it, or an argument, cannot be sent."""
        if self._broken is not None:
            raise WorkerLost(f"the workers of {self.job.name} are gone") from self._broken
        if self._finishing is not None:
            raise RuntimeError("cannot schedule new futures after shutdown")
        task = _Task(pickle.dumps((self._ship(function), functions.pack_call(args, keywords))))
        self._pending.add(task.future)
        task.future.add_done_callback(self._pending.discard)
        self._tasks.put(task)
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers go once nothing is left to do; their job is removed."""
        if cancel_futures:
            for future in list(self._pending):
                future.cancel()
        if self._finishing is None:
            self._finishing = _thread(self._finish)
        if wait:
            self._finishing.join()

    def _ship(self, function: Callable[..., Any]) -> bytes:
        shipped = self._shipped.get(function)
        if shipped is None:
            shipped = pickle.dumps(functions.pack(function, elsewhere=self._elsewhere))
            self._shipped[function] = shipped
        return shipped

    # In threads

    def _welcome(self) -> None:
        """Take in workers that call."""
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return  # closed
            _thread(self._serve, connection)

    def _serve(self, connection: Connection) -> None:
        """One worker: its tasks, one after the other, until there are none or it is lost."""
        with connection:
            try:
                deliver_challenge(connection, self._key)
                answer_challenge(connection, self._key)
            except (AuthenticationError, OSError, EOFError):
                return  # whoever called is none of ours
            while (task := self._tasks.get()) is not None:
                if task.future.done() or not (task.losses or task.future.set_running_or_notify_cancel()):
                    continue
                try:
                    connection.send_bytes(task.order)
                    answer = connection.recv_bytes()
                except (OSError, EOFError):
                    self._lost(task)
                    return
                _settle(task.future, answer)
            self._tasks.put(None)  # for the next one
            with suppress(OSError):
                connection.send_bytes(GOODBYE)

    def _lost(self, task: _Task) -> None:
        task.losses += 1
        if task.losses < LOSSES:
            self._tasks.put(task)
            return
        with suppress(InvalidStateError):
            task.future.set_exception(WorkerLost(f"{task.losses} workers ended while they ran this task"))

    def _watch(self) -> None:
        """When the job ends before its time, so do the tasks."""
        try:
            status = self.job.wait()
            error: BaseException = JobError(f"the workers have ended: {status}", job=self.job.name)
        except Exception as raised:  # noqa: BLE001 - whatever it was, it is passed on to those who wait
            error = raised
        if self._finishing is not None and not self._pending:
            return
        self._broken = error
        for future in list(self._pending):
            with suppress(InvalidStateError):
                future.set_exception(error)

    def _finish(self) -> None:
        concurrent.futures.wait(list(self._pending))
        self._tasks.put(None)
        self._listener.close()
        self.job.delete()


def _settle(future: Future[Any], answer: bytes) -> None:
    with suppress(InvalidStateError):
        try:
            value = results.value(answer)
        except BaseException as error:  # noqa: BLE001 - what the task raised is the future's
            future.set_exception(error)
        else:
            future.set_result(value)


def _thread(target: Callable[..., None], *args: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, name="volcano-executor", daemon=True)
    thread.start()
    return thread


def own_address() -> str:
    """This pod's own address: the one it would reach the API server from."""
    server = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not server:
        raise WrongArgument("workers call back to this program: give host=, an address of it that pods can reach")
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((server, 443))
        return str(probe.getsockname()[0])
