"""How pods share a node's network: limits, whose packets are batch traffic, and the lines of tc that say so. Pure.

All traffic that pods send passes one intermediate device. There, batch traffic is sure of its low bandwidth and may
borrow up to its high one, as long as all together stay below the watermark; online traffic is never held back.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.agent.qos import offline
from volcano.api import keys

if TYPE_CHECKING:
    from volcano.agent.configuration import NetworkQos
    from volcano.api.core.pods import Pod

DEVICE: Final = "volcano0"
"""The intermediate device."""
PREFERENCE: Final = 4242
"""By which the filters that lead to it are told from those of others."""
_ROOT, _ALL, _ONLINE, _OFFLINE = "1:", "1:1", "1:10", "1:20"
_UNLIMITED: Final = "rate 1tbit burst 1mb cburst 1mb"
_QUANTUM_BYTES: Final = 15_000
_UNITS: Final[Mapping[str, int]] = {
    f"{letter}{kind}": base**power
    for kind, base in (("bps", 1000), ("ibps", 1024))
    for power, letter in enumerate("KMGT", 1)
}
_SIZE: Final = re.compile(r"\s*(\d+)([A-Za-z]*)\s*")
_COUNTERS: Final = re.compile(r"^class htb (\S+) .*\n\s*Sent (\d+) bytes (\d+) pkt", re.MULTILINE)
_OTHERS_SHAPE: Final = ("kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth")


class Limits(msgspec.Struct, frozen=True):
    """Bytes per second; the interval, in nanoseconds, is kept for those who ask, the kernel needs none."""

    watermark: int = msgspec.field(name="online_bandwidth_watermark")
    interval: int
    low: int = msgspec.field(name="offline_low_bandwidth")
    high: int = msgspec.field(name="offline_high_bandwidth")


def bytes_per_second(text: str) -> int:
    """A bandwidth such as `800Mbps`; a bare number is in Kbps."""
    found = _SIZE.fullmatch(text)
    factor = _UNITS.get(found[2] or "Kbps") if found else None
    if found is None or factor is None:
        raise ValueError(f"bandwidth {text!r} is not a whole number with a unit: write one like 800Mbps")
    return int(found[1]) * factor // 8


def limits_of(rate: str, rules: NetworkQos) -> Limits:
    """What percentages mean on a node with this bandwidth, in Mbps."""
    if not rate.isdecimal() or not int(rate):
        raise ValueError(f"annotation {keys.NETWORK_BANDWIDTH_RATE} is {rate!r}: write the node's bandwidth in Mbps")
    watermark, low, high = (
        bytes_per_second(f"{int(rate) * percent * 10}Kbps") for percent in (rules.watermark, rules.low, rules.high)
    )
    return Limits(watermark, rules.interval, low, high)


# Whose packets


@dataclass(frozen=True, slots=True)
class Senders:
    """Addresses of pods: all that are shaped, and those of them that send batch traffic."""

    every: frozenset[str] = frozenset()
    offline: frozenset[str] = frozenset()


def shaped_by_others(pod: Pod) -> bool:
    """Whether the CNI's bandwidth plug-in holds this pod's interface."""
    return any(name in pod.metadata.annotations for name in _OTHERS_SHAPE)


def senders(pods: Iterable[Pod]) -> Senders:
    """Pods that have the node's own address cannot be told apart by it, and are left alone."""
    every: set[str] = set()
    batch: set[str] = set()
    for pod in pods:
        if pod.spec.host_network or shaped_by_others(pod) or pod.status.phase in ("Succeeded", "Failed"):
            continue
        addresses = {one.ip for one in pod.status.pod_ips} | {pod.status.pod_ip}
        every |= addresses
        if offline(pod):
            batch |= addresses
    return Senders(frozenset(every - {""}), frozenset(batch - {""}))


def devices(addresses: Iterable[str], routes: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The devices behind which these addresses are, by `ip -json route`: the narrowest route of each."""
    known = [
        (ipaddress.ip_network(route["dst"], strict=False), route["dev"])
        for route in routes
        if route.get("dst", "default") != "default" and "dev" in route and "gateway" not in route
    ]
    found = set()
    for text in addresses:
        address = ipaddress.ip_address(text)
        fitting = [(network.prefixlen, device) for network, device in known if address in network]
        if fitting:
            found.add(max(fitting)[1])
    return frozenset(found)


# Lines for tc -batch


def making() -> list[str]:
    """The queue of a new device."""
    return [f"qdisc add dev {DEVICE} root handle {_ROOT} htb default 10"]


def limiting(limits: Limits) -> list[str]:
    """Its classes, new or changed."""
    replace = f"class replace dev {DEVICE}"
    return [
        f"{replace} parent {_ROOT} classid {_ALL} htb rate {limits.watermark}bps quantum {_QUANTUM_BYTES}",
        f"{replace} parent {_ALL} classid {_ONLINE} htb {_UNLIMITED} prio 0 quantum {_QUANTUM_BYTES}",
        f"{replace} parent {_ALL} classid {_OFFLINE} htb rate {limits.low}bps ceil {limits.high}bps prio 1"
        f" quantum {_QUANTUM_BYTES}",
    ]


def classifying(addresses: Iterable[str]) -> list[str]:
    """The filters that tell batch traffic by its sender, instead of those there were."""
    lines = [f"filter del dev {DEVICE} parent {_ROOT}"]
    for text in sorted(addresses):
        address = ipaddress.ip_address(text)
        protocol, match, order = ("ip", "ip", 1) if address.version == 4 else ("ipv6", "ip6", 2)
        lines.append(
            f"filter add dev {DEVICE} parent {_ROOT} protocol {protocol} prio {order}"
            f" u32 match {match} src {address}/{address.max_prefixlen} flowid {_OFFLINE}"
        )
    return lines


def redirecting(device: str) -> str:
    """Send what enters by a pod's device through ours."""
    return (
        f"filter add dev {device} ingress protocol all prio {PREFERENCE}"
        f" u32 match u32 0 0 action mirred egress redirect dev {DEVICE}"
    )


def no_longer_redirecting(device: str) -> str:
    return f"filter del dev {device} ingress protocol all prio {PREFERENCE}"


# What tc shows


def counters(statistics: str) -> dict[str, int]:
    """Bytes and packets sent so far, of `tc -statistics class show`."""
    sent = {name: (int(size), int(packets)) for name, size, packets in _COUNTERS.findall(statistics)}
    online, batch = sent.get(_ONLINE, (0, 0)), sent.get(_OFFLINE, (0, 0))
    return {
        "offline_tx_bytes": batch[0],
        "online_tx_bytes": online[0],
        "online_tx_packages": online[1],
        "offline_tx_packages": batch[1],
    }
