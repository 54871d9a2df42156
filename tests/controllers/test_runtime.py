"""The reconcile loop: failures come back, refusals are bounded, one bad object spoils only itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.waiting import until
from volcano.controllers.runtime import Loop, LoopMetrics
from volcano.http.metrics import Registry
from volcano.kube.errors import Conflict, Forbidden, TooManyRequests
from volcano.kube.workqueue import WorkQueue


class Scripted:
    """A controller whose reconciliations do what the test says."""

    name = "scripted"
    workers = 2

    def __init__(self, script: Callable[[str, int], Exception | None]) -> None:
        self.queue: WorkQueue[str] = WorkQueue(base_seconds=0.0001, max_seconds=0.001)
        self.script = script
        self.attempts: dict[str, int] = {}
        self.given_up: list[str] = []
        self.busy: set[str] = set()

    async def reconcile(self, key: str) -> None:
        assert key not in self.busy, "one worker per key"
        self.busy.add(key)
        await asyncio.sleep(0)
        self.busy.discard(key)
        self.attempts[key] = self.attempts.get(key, 0) + 1
        error = self.script(key, self.attempts[key])
        if error is not None:
            raise error

    async def gave_up(self, key: str, error: Exception) -> None:
        self.given_up.append(key)


def run(controller: Scripted, *keys: str, max_requeues: int = 3, seconds: float = 0.3) -> Registry:
    registry = Registry()

    async def main() -> None:
        loop = asyncio.create_task(Loop(controller, LoopMetrics(registry), max_requeues).run())
        for key in keys:
            controller.queue.add(key)
        await asyncio.sleep(seconds)
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)

    asyncio.run(main())
    return registry


def test_a_failing_key_comes_back_until_it_succeeds() -> None:
    controller = Scripted(lambda _key, attempt: Conflict("not yet", status=409) if attempt < 3 else None)
    run(controller, "a")
    assert controller.attempts == {"a": 3}
    assert controller.given_up == []


def test_a_key_that_is_refused_for_good_is_given_up() -> None:
    controller = Scripted(lambda _key, _attempt: ValueError("nonsense"))
    run(controller, "a", max_requeues=2)
    assert controller.attempts == {"a": 3}
    assert controller.given_up == ["a"]


def test_a_server_that_is_down_condemns_nobody() -> None:
    controller = Scripted(lambda _key, _attempt: ConnectionResetError("gone"))
    run(controller, "a", max_requeues=2)
    assert controller.attempts["a"] > 10
    assert controller.given_up == []


def test_a_negative_limit_never_gives_up() -> None:
    controller = Scripted(lambda _key, _attempt: ValueError("nonsense"))
    run(controller, "a", max_requeues=-1)
    assert controller.attempts["a"] > 10
    assert controller.given_up == []


def test_the_server_says_when_to_come_back() -> None:
    def busy(_key: str, _attempt: int) -> Exception:
        return TooManyRequests("slow down", status=429, retry_after=60.0)

    controller = Scripted(busy)
    run(controller, "a")
    assert controller.attempts == {"a": 1}


def test_one_bad_object_spoils_only_itself() -> None:
    controller = Scripted(lambda key, _attempt: KeyError("bug") if key == "bad" else None)
    registry = run(controller, "bad", "good", "better", max_requeues=1)
    assert controller.attempts == {"bad": 2, "good": 1, "better": 1}
    assert b'workqueue_retries_total{name="scripted"} 1' in registry.render()


DENIED = 'pods is forbidden: User "vc" cannot create resource "pods" in API group "" in the namespace "n"'


def test_a_right_that_is_missing_condemns_nobody_and_is_named_until_it_is_there() -> None:
    granted, named = 8, []

    def script(key: str, attempt: int) -> Exception | None:
        named.append(loop.problem())
        return Forbidden(DENIED) if attempt < granted else None

    controller = Scripted(script)
    loop = Loop(controller, LoopMetrics(Registry()), max_requeues=3)

    async def main() -> None:
        running = asyncio.create_task(loop.run())
        controller.queue.add("a")
        await until(lambda: controller.attempts == {"a": granted} and loop.problem() is None)
        await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
    assert controller.attempts == {"a": granted}
    assert controller.given_up == []
    assert named[1:] == [f"scripted lacks a right: {DENIED}"] * (granted - 1)
    assert loop.problem() is None


def test_admission_that_forbids_an_object_is_a_refusal() -> None:
    refusal = Forbidden('pods "p" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true')
    controller = Scripted(lambda _key, _attempt: refusal)
    run(controller, "a")
    assert controller.given_up[:1] == ["a"]
