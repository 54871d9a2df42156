"""Shapes the traffic of pods by iproute2's `ip` and `tc`, as `bandwidth` says, and leaves the node as it was after.

The state is the kernel's alone: the limits stand in the alias of the intermediate device.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from volcano.agent import bandwidth
from volcano.agent.bandwidth import DEVICE, PREFERENCE, Limits, Senders

Run = Callable[[Sequence[str], str], str]
"""Runs a command with a text for its standard input, gives its output, raises `ShapingError`."""

_TIMEOUT_SECONDS: Final = 5.0
_QUEUE_PACKETS: Final = 1000
_QUEUES_OF_ARRIVALS: Final = ("clsact", "ingress")


class ShapingError(OSError):
    """The network cannot be shaped here; the message says which command failed and why."""


def run_command(command: Sequence[str], text: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
        )
    except FileNotFoundError as problem:
        raise ShapingError(f"{command[0]} is not installed: network QoS needs iproute2") from problem
    except subprocess.TimeoutExpired as problem:
        raise ShapingError(f"{' '.join(command)}: no answer within {_TIMEOUT_SECONDS:.0f} s") from problem
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if line.strip()), f"exit status {done.returncode}")
        raise ShapingError(f"{' '.join(command)}: {reason}")
    return done.stdout


class Shaper:
    def __init__(self, run: Run = run_command) -> None:
        self._run = run
        self._offline: frozenset[str] | None = None
        self._led: frozenset[str] = frozenset()
        """Devices that lead here, so that not all filters of all pods are read in every round."""

    def limits(self) -> Limits | None:
        """What is in force; None when nothing is shaped, or not in full."""
        device = self._device()
        try:
            return None if device is None else msgspec.json.decode(device.get("ifalias", ""), type=Limits)
        except msgspec.DecodeError:
            return None

    def shape(self, limits: Limits) -> None:
        """Put limits in force, or change them. On failure nothing is left half-made."""
        if self.limits() is None:
            self._make()
        try:
            self._tc(bandwidth.limiting(limits))
            self._ip("link", "set", DEVICE, "alias", msgspec.json.encode(limits).decode(), "up")
        except ShapingError:
            self.reset()
            raise

    def reset(self) -> bool:
        """Shape nothing any more. False when nothing was shaped."""
        self._offline, self._led = None, frozenset()
        led = [device for device in sorted(self._filtering()) if _leads_here(self._filters(device))]
        for device in led:
            self._release(device)
        if self._device() is None:
            return bool(led)
        self._ip("link", "delete", DEVICE)
        return True

    def counters(self) -> dict[str, int]:
        return bandwidth.counters(self._run(["tc", "-statistics", "class", "show", "dev", DEVICE], ""))

    def classify(self, senders: Senders) -> list[str]:
        """Lead the pods' traffic through the device, and tell batch traffic there; says what is left alone and why."""
        if self._offline != senders.offline:
            self._tc(bandwidth.classifying(senders.offline))
            self._offline = senders.offline
        wanted = bandwidth.devices(senders.every, self._routes()) if senders.every else frozenset()
        filtering = self._filtering()
        self._led &= filtering
        known = {device: self._filters(device) for device in sorted(wanted & filtering - self._led)}
        foreign = [device for device, filters in known.items() if filters and not _leads_here(filters)]
        for device in sorted(wanted - self._led - frozenset(foreign)):
            lines = [] if device in filtering else [f"qdisc add dev {device} clsact"]
            self._tc(lines if known.get(device) else [*lines, bandwidth.redirecting(device)])
            self._led |= {device}
        lost = ["no route of this node leads to its pods"] if senders.every and not wanted else []
        return [*lost, *(f"device {device} is left alone: others filter what arrives there" for device in foreign)]

    def _make(self) -> None:
        """A device of an earlier attempt, or filters that led to one that is gone, are cleared away first."""
        self.reset()
        self._ip("link", "add", DEVICE, "txqueuelen", str(_QUEUE_PACKETS), "type", "ifb")
        try:
            self._ip("link", "set", DEVICE, "addrgenmode", "none")
            self._tc(bandwidth.making())
        except ShapingError:
            self.reset()
            raise

    def _device(self) -> dict[str, Any] | None:
        links = self._json("ip", "-json", "link", "show", "type", "ifb")
        return next((link for link in links if link.get("ifname") == DEVICE), None)

    def _filtering(self) -> frozenset[str]:
        """Devices that may filter what arrives."""
        queues = self._json("tc", "-json", "qdisc", "show")
        return frozenset(str(queue.get("dev")) for queue in queues if queue.get("kind") in _QUEUES_OF_ARRIVALS)

    def _filters(self, device: str, way: str = "ingress") -> list[dict[str, Any]]:
        return self._json("tc", "-json", "filter", "show", "dev", device, way)

    def _release(self, device: str) -> None:
        self._tc([bandwidth.no_longer_redirecting(device)])
        if not self._filters(device) and not self._filters(device, "egress"):
            self._tc([f"qdisc del dev {device} clsact"])

    def _routes(self) -> list[dict[str, Any]]:
        return [*self._json("ip", "-json", "route", "show"), *self._json("ip", "-json", "-6", "route", "show")]

    def _ip(self, *arguments: str) -> None:
        self._run(["ip", *arguments], "")

    def _tc(self, lines: Sequence[str]) -> None:
        if lines:
            self._run(["tc", "-batch", "-"], "\n".join(lines) + "\n")

    def _json(self, *command: str) -> list[dict[str, Any]]:
        text = self._run(list(command), "").strip()
        return [entry for entry in msgspec.json.decode(text) if entry] if text else []


def _leads_here(filters: Sequence[dict[str, Any]]) -> bool:
    return any(one.get("pref") == PREFERENCE for one in filters)
