"""A controller in a simulated world: its process, which is killed and replaced, and a network with bad luck.

Subclasses say what else happens (`acts`) and what must hold in the end (`end`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from random import Random
from typing import Any, cast

from tests.controllers.simulation.clock import JumpingLoop
from tests.controllers.simulation.server import Client, Server, Trouble
from volcano.api.meta import JsonObject
from volcano.controllers.runtime import Context, Controller, Informers, Loop, LoopMetrics, Waits
from volcano.http.metrics import Registry
from volcano.kube.errors import ApiError

PAUSES = (0.0, 0.0, 0.001, 0.05, 0.5, 2.0, 20.0)
SHORT_PAUSES = (0.0, 0.0, 0.01, 0.5, 3.0)
IN_A_ROUND = 6
LAG_SECONDS = 5.0
LONGEST_BACK_OFF_SECONDS = 60.0
MAX_REQUEUES = 15


class Silent:
    """Takes the place of the recorder of Kubernetes events."""

    def record(self, *_words: object) -> None: ...


class Overheard(logging.Handler):
    """What is logged with a traceback: an exception that nobody expected."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.tracebacks: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, ApiError | OSError | Waits):
            self.tracebacks.append(error)


class World:
    kinds: tuple[str, ...] = ()
    """whose watches break"""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.server = Server(self.random, self.observe)
        self.kills = 0
        self.told: list[str] = []

    # What subclasses say

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        """What may happen, and how often."""
        raise NotImplementedError

    def controller(self, context: Context) -> Controller:
        raise NotImplementedError

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None) -> None:
        """Told of each change of a document."""

    async def begin(self) -> None:
        """What is there before anything happens."""

    async def end(self) -> None:
        """Let everybody cooperate, and check what came of it."""

    async def comes_to_rest(self) -> None:
        """Wait until nobody writes any more, and check what is true then."""
        raise NotImplementedError

    # A history

    async def play(self, steps: int) -> None:
        odds = {**LUCK, **self.acts}
        acts, weights = list(odds), list(odds.values())
        await self.begin()
        self.start()
        for _ in range(steps):
            act = self.random.choices(acts, weights)[0]
            self.told.append(f"{asyncio.get_running_loop().time():.3f} {act.__name__}")
            await act(self)
            await self.pause(self.random.choice(PAUSES))
        self.server.trouble = Trouble()
        await self.end()
        await self.stop()

    async def rests(self) -> None:
        """Nothing is written any more."""
        await self.pause(5 * LONGEST_BACK_OFF_SECONDS)
        writes = self.server.writes
        await self.pause(5 * LONGEST_BACK_OFF_SECONDS)
        assert self.server.writes == writes, "writes though nothing changes"

    async def hears_late(self, rounds: int) -> None:
        """Nothing is refused any more, but each kind of thing is heard of at another time, and many changes at once.

        What is not put right then never is: nothing else happens, and no controller starts anew.
        """
        acts, weights = list(self.acts), list(self.acts.values())
        for _ in range(rounds):
            self.server.trouble = Trouble(lags=LAG_SECONDS)
            for act in self.random.choices(acts, weights, k=IN_A_ROUND):
                self.told.append(act.__name__)
                await act(self)
                await self.pause(self.random.choice(SHORT_PAUSES))
            await self.comes_to_rest()
        await self.is_as_a_fresh_controller_would_have_it()

    async def is_as_a_fresh_controller_would_have_it(self) -> None:
        """One that sees nothing but what there is finds nothing left to do."""
        writes = self.server.writes
        await self.controller_is_killed()
        await self.rests()
        assert self.server.writes == writes, "a fresh controller finds something left to do"

    # The controller's process

    def start(self) -> None:
        self.informers = Informers(cast("Any", Client(self.server)), self.random)
        self.lead()

        async def follow() -> None:
            async with asyncio.TaskGroup() as group:
                for task in self.informers.tasks():
                    group.create_task(task)

        self.following = asyncio.get_running_loop().create_task(follow())

    def lead(self) -> None:
        """Begin to reconcile on what is known."""
        followed = self.informers.followed_from_now()
        client = cast("Any", Client(self.server))
        context = Context(client, self.informers, cast("Any", Silent()), Registry(), now=self.server.now)
        self.leader = self.controller(context)
        self.informers.attach()
        loop = Loop(self.leader, LoopMetrics(Registry()), MAX_REQUEUES)

        async def reconcile() -> None:
            for informer in followed:
                await informer.synced()
            await loop.run()

        self.leading = asyncio.get_running_loop().create_task(reconcile())

    async def stop(self) -> None:
        await ended(self.leading)
        await ended(self.following)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        for task in (self.following, self.leading):
            assert not task.done(), task

    def some(self, plural: str) -> str | None:
        keys = list(self.server.objects[plural])
        return self.random.choice(keys) if keys else None

    # Bad luck

    async def controller_is_killed(self) -> None:
        """Between two writes, or between a write and its answer."""
        self.kills += 1
        await self.stop()
        self.start()

    async def standby_takes_over(self) -> None:
        """It has followed the server all along, though perhaps not up to the last write of the one that led."""
        self.kills += 1
        await ended(self.leading)
        self.informers.detach()
        self.lead()

    async def network_changes(self) -> None:
        random = self.random
        self.server.trouble = Trouble(
            refuses=random.choice((0.0, 0.0, 0.1, 0.5, 1.0)),
            loses_answer=random.choice((0.0, 0.0, 0.1, 0.5)),
            answers_within=random.choice((0.0, 0.01, 1.0)),
            lags=random.choice((0.0, 0.1, 5.0)),
        )

    async def watch_breaks(self) -> None:
        self.server.break_watches(self.random.choice(self.kinds), forget=self.random.random() < 0.5)


LUCK: Mapping[Callable[[Any], Awaitable[None]], int] = {
    World.controller_is_killed: 1,
    World.standby_takes_over: 1,
    World.network_changes: 2,
    World.watch_breaks: 1,
}


async def ended(task: asyncio.Task[None]) -> None:
    """As abruptly as a process that is killed."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def lived(world: type[World], seed: int, steps: int) -> None:
    """The history of a seed, checked; who fails tells how to see it again."""
    life = world(seed)
    try:
        run(life.play(steps))
    except BaseException as error:
        error.add_note(f"lived({world.__name__}, {seed}, {steps}) after " + "; ".join(life.told[-8:]))
        raise


def run(story: Coroutine[Any, Any, None]) -> None:
    """To its end, on a clock that jumps; no controller may meet with an exception that nobody expected."""
    overheard = Overheard()
    logger = logging.getLogger("volcano")
    logger.addHandler(overheard)
    logger.propagate = False  # whoever collects records would keep every world that they speak of
    try:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            runner.run(story)
        if overheard.tracebacks:
            raise overheard.tracebacks[0]
    finally:
        logger.removeHandler(overheard)
        logger.propagate = True
