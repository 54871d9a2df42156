"""Leader election by a Lease: of several copies of a daemon one works, and another takes over when it stops.

Whoever loses the lease, as in a long absence of the API server, stands by again: what it knows stays up to date.

Wall clocks are never compared: a lease has expired when it was not seen to change for its duration.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import random
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from volcano.api.core import Lease, LeaseSpec
from volcano.api.meta import ObjectMeta, format_micro_time
from volcano.api.resources import LEASES
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound

log = logging.getLogger(__name__)

JITTER = 1.2


class LeadershipLost(Exception):
    """The lease could not be renewed in time; another copy may lead by now."""


class ElectionFlags(Protocol):
    """What a daemon's command line says about its lease."""

    leader_elect: bool
    leader_elect_resource_name: str
    leader_elect_lease_duration: float
    leader_elect_renew_deadline: float
    leader_elect_retry_period: float

    @property
    def lease_namespace(self) -> str: ...


def default_identity() -> str:
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def steady_clock() -> float:
    """Seconds that go on while the machine sleeps, where the system offers such a clock."""
    boottime: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class LeaderElector:
    """One candidate for a lease. `run` waits for the leadership, works while it lasts, and gives it back."""

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        namespace: str,
        identity: str | None = None,
        lease_seconds: float = 15.0,
        renew_seconds: float = 10.0,
        retry_seconds: float = 2.0,
        clock: Callable[[], float] = steady_clock,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
        rng: random.Random | None = None,
        on_new_leader: Callable[[str], None] | None = None,
    ) -> None:
        check_durations(lease_seconds, renew_seconds, retry_seconds)
        if not name or not namespace:
            raise ValueError("leader election needs the name and the namespace of its lease")
        self.identity = identity or default_identity()
        self.leader = ""
        self._client = client
        self._name = name
        self._namespace = namespace
        self._lease_seconds = lease_seconds
        self._renew_seconds = renew_seconds
        self._retry_seconds = retry_seconds
        self._clock = clock
        self._now = now
        self._rng = rng or random.Random()
        self._on_new_leader = on_new_leader
        self._lease: Lease | None = None
        self._observed_at = 0.0
        self._renewed_at: float | None = None
        self._slow = False
        """The last attempt took long."""
        self._refused: str | None = None

    @property
    def is_leader(self) -> bool:
        """This candidate holds the lease and has renewed it in time."""
        return self._renewed_at is not None and self._clock() - self._renewed_at < self._lease_seconds

    def health(self) -> str | None:
        """A health check: a leader that fails to renew and yet goes on is ill."""
        if self._renewed_at is None or self._clock() - self._renewed_at < self._lease_seconds + self._renew_seconds:
            return None
        return f"the lease {self._namespace}/{self._name} was not renewed in time"

    def problem(self) -> str | None:
        """What the server has against this candidate's having or seeing the lease; nobody can lead then."""
        return self._refused

    async def run(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Do `work` whenever this candidate leads, until it ends by itself. It is cancelled when the lease is lost."""
        while True:
            await self.acquire()
            working = asyncio.ensure_future(work())
            holding = asyncio.ensure_future(self.hold())
            try:
                await asyncio.wait([working, holding], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (working, holding):
                    task.cancel()
                await asyncio.gather(working, holding, return_exceptions=True)
                await self.release()
            if not working.cancelled():
                working.result()
                return
            try:
                holding.result()
            except LeadershipLost as loss:
                log.warning("%s: standing by", loss)

    async def acquire(self) -> None:
        """Wait for the lease."""
        log.info("%s waits for the lease %s/%s", self.identity, self._namespace, self._name)
        while not await self._attempt():  # noqa: ASYNC110 - the attempt is a request to the server
            await asyncio.sleep(self._pause())
        log.info("%s leads with the lease %s/%s", self.identity, self._namespace, self._name)

    def _pause(self) -> float:
        """Until the next attempt: a retry period, or less if the lease of another runs out before."""
        pause = self._retry_seconds * self._rng.uniform(1.0, JITTER)
        if self._lease is None or not self._lease.spec.holder_identity:
            return pause
        duration = self._lease.spec.lease_duration_seconds or self._lease_seconds
        left = self._observed_at + duration - self._clock()
        return min(pause, left) if left > 0.0 else pause

    async def hold(self) -> None:
        """Keep renewing the lease. Raises `LeadershipLost` when it was not renewed for `renew_seconds`."""
        while True:
            await asyncio.sleep(self._retry_seconds)
            if await self._attempt():
                continue
            renewed_at = self._renewed_at
            if renewed_at is None or self._clock() - renewed_at >= self._renew_seconds:
                self._renewed_at = None
                raise LeadershipLost(
                    f"{self.identity} could not renew the lease {self._namespace}/{self._name} "
                    f"within {self._renew_seconds:g} s (held by {self.leader or 'nobody'})"
                )

    async def release(self) -> None:
        """Give the lease back, so that another candidate need not wait for it to expire."""
        held, self._renewed_at = self._renewed_at, None
        lease = self._lease
        if held is None or lease is None or lease.spec.holder_identity != self.identity:
            return
        moment = format_micro_time(self._now())
        lease.spec.holder_identity = ""
        lease.spec.lease_duration_seconds = 1
        lease.spec.acquire_time = lease.spec.renew_time = moment
        with suppress(ApiError, OSError, TimeoutError):
            async with asyncio.timeout(self._retry_seconds):
                await self._client.update(LEASES, lease)
        self._lease = None

    async def _attempt(self) -> bool:
        """Try once to get or to renew the lease.

        A request that hangs, as on a connection that died in silence, must leave time for another one; of a server
        that is slow to answer, giving up early would make nobody the leader.
        """
        started = self._clock()
        try:
            async with asyncio.timeout(self._renew_seconds if self._slow else self._renew_seconds / 2):
                renewed = await self._renew() or await self._take()
            self._refused = None
        except (ApiError, OSError, TimeoutError) as error:
            log.warning(
                "cannot renew the lease %s/%s: %s", self._namespace, self._name, str(error) or type(error).__name__
            )
            if isinstance(error, Forbidden | NotFound):  # the right, or the namespace
                self._refused = f"cannot have the lease {self._namespace}/{self._name}: {error}"
            return False
        finally:
            self._slow = self._clock() - started > self._renew_seconds / 4
        if renewed:
            self._renewed_at = started
        return renewed

    async def _renew(self) -> bool:
        """Renew a lease we hold without reading it first; its version guards against others."""
        lease = self._lease
        if self._renewed_at is None or lease is None or lease.spec.holder_identity != self.identity:
            return False
        spec = msgspec.structs.replace(lease.spec, renew_time=format_micro_time(self._now()))
        try:
            self._observe(await self._client.update(LEASES, msgspec.structs.replace(lease, spec=spec)))
        except (Conflict, NotFound):
            return False
        return True

    async def _take(self) -> bool:
        """Read the lease, and take it when it is free, ours, or expired."""
        try:
            lease = await self._client.get(LEASES, self._name, self._namespace)
        except NotFound:
            return await self._create()
        self._observe(lease)
        holder = lease.spec.holder_identity or ""
        ours = holder == self.identity
        if holder and not ours:
            duration = lease.spec.lease_duration_seconds or self._lease_seconds
            if self._clock() - self._observed_at < duration:
                self._renewed_at = None
                return False
        spec = self._spec(lease.spec, ours=ours)
        try:
            self._observe(await self._client.update(LEASES, msgspec.structs.replace(lease, spec=spec)))
        except (Conflict, NotFound):
            return False
        return True

    async def _create(self) -> bool:
        lease = Lease(
            metadata=ObjectMeta(name=self._name, namespace=self._namespace), spec=self._spec(LeaseSpec(), ours=False)
        )
        try:
            self._observe(await self._client.create(LEASES, lease))
        except AlreadyExists:
            return False
        return True

    def _spec(self, old: LeaseSpec, *, ours: bool) -> LeaseSpec:
        moment = format_micro_time(self._now())
        transitions = old.lease_transitions or 0
        first = old.holder_identity is None
        return msgspec.structs.replace(
            old,
            holder_identity=self.identity,
            lease_duration_seconds=max(1, round(self._lease_seconds)),
            acquire_time=old.acquire_time if ours else moment,
            renew_time=moment,
            lease_transitions=transitions if ours or first else transitions + 1,
        )

    def _observe(self, lease: Lease) -> None:
        """Note when the lease was last seen to change, and by whom it is held."""
        known = self._lease
        if known is None or known.spec != lease.spec:
            self._observed_at = self._clock()
        self._lease = lease
        holder = lease.spec.holder_identity or ""
        if holder != self.leader:
            self.leader = holder
            if holder and self._on_new_leader is not None:
                self._on_new_leader(holder)


def check_durations(lease_seconds: float, renew_seconds: float, retry_seconds: float) -> None:
    if not lease_seconds > renew_seconds > retry_seconds * JITTER > 0:
        raise ValueError(
            "leader election needs lease duration > renew deadline > retry period * 1.2 > 0, "
            f"got {lease_seconds:g} s, {renew_seconds:g} s, {retry_seconds:g} s"
        )


def elector_of(client: Client, flags: ElectionFlags) -> LeaderElector | None:
    """The candidate that the flags ask for; None where the daemon is to work without a lease."""
    if not flags.leader_elect:
        return None
    return LeaderElector(
        client,
        name=flags.leader_elect_resource_name,
        namespace=flags.lease_namespace,
        lease_seconds=flags.leader_elect_lease_duration,
        renew_seconds=flags.leader_elect_renew_deadline,
        retry_seconds=flags.leader_elect_retry_period,
    )
