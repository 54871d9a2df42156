"""concurrent.futures on warm workers."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Iterator
from multiprocessing.connection import Client as Caller
from pathlib import Path

import pytest

from tests.sdk import work
from volcano.kube.errors import NotFound
from volcano.sdk import Client, Executor, NotPicklable, ResultTooLarge, WorkerLost
from volcano.sdk.planning import Place

LONG = 120.0


@pytest.fixture(scope="module")
def executor(client: Client) -> Iterator[Executor]:
    with client.executor(2, retries=20) as executor:
        yield executor


def test_results_come_in_order(executor: Executor) -> None:
    assert list(executor.map(work.square, range(200), timeout=LONG)) == [number**2 for number in range(200)]


def test_functions_defined_anywhere_run(executor: Executor) -> None:
    factor = 3
    assert executor.submit(lambda number: number * factor, 5).result(LONG) == 15
    assert executor.submit(work.square, number=4).result(LONG) == 16


def test_work_is_done_elsewhere_and_at_the_same_time(executor: Executor, tmp_path: Path) -> None:
    assert set(executor.map(work.meet, [str(tmp_path)] * 2, [0, 1], [2, 2], timeout=LONG)) == {2}
    assert executor.submit(os.getpid).result(LONG) != os.getpid()


def test_exceptions_come_back(executor: Executor) -> None:
    with pytest.raises(LookupError, match="no 3 here"):
        executor.submit(work.refuse, 3).result(LONG)
    with pytest.raises(NotPicklable):
        executor.submit(work.unpicklable).result(LONG)
    with pytest.raises(ResultTooLarge):
        executor.submit(work.large, 5_000_000).result(LONG)


def test_what_is_waiting_can_be_cancelled(executor: Executor, tmp_path: Path) -> None:
    running = [executor.submit(work.meet, str(tmp_path), number, 3) for number in range(2)]
    waiting = executor.submit(work.square, 2)
    assert waiting.cancel()
    (tmp_path / "2").touch()
    concurrent.futures.wait(running, LONG)
    assert executor.submit(work.square, 3).result(LONG) == 9


def test_a_task_of_a_lost_worker_is_given_to_another(executor: Executor, tmp_path: Path) -> None:
    assert executor.submit(work.die_once, str(tmp_path / "flag")).result(LONG) > 0


def test_a_task_that_takes_workers_down_is_given_up(executor: Executor) -> None:
    with pytest.raises(WorkerLost, match="3 workers ended"):
        executor.submit(work.die, 1).result(LONG)
    assert executor.submit(work.square, 5).result(LONG) == 25


def test_strangers_get_no_tasks(executor: Executor) -> None:
    from multiprocessing import AuthenticationError

    with pytest.raises(AuthenticationError), Caller(executor.address, authkey=b"guessed"):
        pass


def test_its_job_ends_with_it(client: Client) -> None:
    executor = client.executor(1)
    future = executor.submit(work.sleep, 0.2)
    executor.shutdown()
    assert future.result() == 0.2
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(work.square, 1)
    with pytest.raises(NotFound):
        executor.job.document()


def test_tasks_end_with_their_workers(client: Client) -> None:
    executor = client.executor(1)
    future = executor.submit(work.sleep, 60)
    executor.job.wait(LONG, until="running")
    executor.job.cancel()
    with pytest.raises(Exception, match=r"workers have ended|3 workers"):
        future.result(LONG)
    executor.shutdown()


def test_workers_that_never_start_say_why(client: Client) -> None:
    executor = client.executor(1, cpu=1000)
    with pytest.raises(Exception, match="can never start"):
        executor.submit(work.square, 1).result(LONG)
    executor.shutdown()


def test_workers_on_a_cluster_need_an_address_to_call(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    there = client.connection()
    monkeypatch.setattr(client, "connection", lambda: type(there)(there.api, Place(local=False)))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ValueError, match="give host="):
        client.executor(1)
