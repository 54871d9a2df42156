"""Shaping on interfaces in network namespaces, and by recorded commands where there are none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.agent import namespaces
from tests.agent.namespaces import Node
from tests.waiting import eventually
from volcano.agent.bandwidth import Limits, Senders
from volcano.agent.networkcommand import run
from volcano.agent.shaper import Shaper, ShapingError, run_command

ONLINE, BATCH = "10.99.0.2", "10.99.0.3"
MEGABIT = 125_000
LIMITS = Limits(watermark=80 * MEGABIT, interval=10_000_000, low=10 * MEGABIT, high=40 * MEGABIT)
SENDERS = Senders(frozenset({ONLINE, BATCH, "fd00::2", "192.0.2.1"}), frozenset({BATCH, "fd00::2"}))


def sent(node: Node, *addresses: str, seconds: float = 0.8) -> list[float]:
    """Megabits per second that each of these senders gets through, at the same time."""
    senders = [node.send(address, seconds) for address in addresses]
    return [int(sender.communicate(timeout=120)[0]) * 8 / seconds / 1e6 for sender in senders]


def gives_way(node: Node) -> bool:
    """Batch traffic does, with what still lies in buffers. A machine that is busy otherwise sends less of both."""
    online, batch = sent(node, ONLINE, BATCH)
    return online > 100 and batch < 20


@pytest.mark.parametrize("bridge", [False, True], ids=["routed", "bridged"])
def test_batch_traffic_gives_way_to_online_traffic(bridge: bool) -> None:
    with namespaces.node(ONLINE, BATCH, bridge=bridge) as node:
        shaper = Shaper(node.run)
        shaper.shape(LIMITS)
        assert shaper.classify(SENDERS) == []
        node.receive()
        eventually("its high bandwidth", lambda: 25 < sent(node, BATCH)[0] < 55)
        eventually("its low bandwidth, and online traffic that is not held back", lambda: gives_way(node))
        counters = shaper.counters()
        assert counters["online_tx_bytes"] > counters["offline_tx_bytes"] > 0
        assert shaper.reset()
        assert not shaper.reset()
        eventually("no bound", lambda: sent(node, BATCH, seconds=0.5)[0] > 100)
        assert "clsact" not in node.run(["tc", "qdisc", "show"])


def test_what_is_there_is_taken_over_and_changed() -> None:
    with namespaces.node(ONLINE, BATCH) as node:
        first = Shaper(node.run)
        first.shape(LIMITS)
        first.classify(SENDERS)
        second = Shaper(node.run)
        assert second.limits() == LIMITS
        more = Limits(LIMITS.watermark, 1, LIMITS.low, 2 * LIMITS.high)
        second.shape(more)
        second.classify(Senders(SENDERS.every, frozenset({ONLINE})))
        assert second.limits() == more
        assert second.classify(Senders(frozenset({"192.0.2.1"}))) == ["no route of this node leads to its pods"]
        second.classify(Senders(SENDERS.every, frozenset({ONLINE})))
        filters = node.run(["tc", "filter", "show", "dev", "volcano0", "parent", "1:"])
        assert filters.count("flowid 1:20") == 1
        assert node.run(["tc", "filter", "show", "dev", "v0", "ingress"]).count("Redirect to device volcano0") == 1


def test_a_device_that_was_left_half_made_is_made_anew() -> None:
    with namespaces.node(ONLINE, BATCH) as node:
        node.run(["ip", "link", "add", "volcano0", "type", "ifb"])
        shaper = Shaper(node.run)
        assert shaper.limits() is None
        shaper.shape(LIMITS)
        assert shaper.limits() == LIMITS


def test_a_device_that_vanished_is_made_anew() -> None:
    with namespaces.node(ONLINE, BATCH) as node:
        shaper = Shaper(node.run)
        shaper.shape(LIMITS)
        shaper.classify(SENDERS)
        node.run(["ip", "link", "delete", "volcano0"])
        shaper.shape(LIMITS)
        shaper.classify(SENDERS)
        node.receive()
        eventually("no bound", lambda: sent(node, ONLINE, seconds=0.3)[0] > 100)


def test_filters_of_others_are_left_alone() -> None:
    with namespaces.node(ONLINE, BATCH) as node:
        node.run(["tc", "qdisc", "add", "dev", "v0", "clsact"])
        node.run(["tc", "-batch", "-"], "filter add dev v0 ingress protocol all prio 7 u32 match u32 0 0 flowid 1:1\n")
        shaper = Shaper(node.run)
        shaper.shape(LIMITS)
        assert shaper.classify(SENDERS) == ["device v0 is left alone: others filter what arrives there"]
        shaper.reset()
        assert node.run(["tc", "filter", "show", "dev", "v0", "ingress"])


def test_the_command_in_a_namespace() -> None:
    with namespaces.node(ONLINE, BATCH) as node:
        assert command(node, "reset") == (0, "throttling config does not exist, reset successfully\n", "")
        status, _, errors = command(node, "show")
        assert (status, errors.partition(", error:")[0]) == (1, "execute command[show] failed")
        bandwidths = ["--online-bandwidth-watermark=80Mbps", "--offline-low-bandwidth=10Mbps"]
        assert command(node, "set", *bandwidths)[0] == 1
        bandwidths.append("--offline-high-bandwidth=40Mbps")
        in_force = (
            '{"online_bandwidth_watermark":10000000,"interval":10000000,'
            '"offline_low_bandwidth":1250000,"offline_high_bandwidth":5000000}'
        )
        told = command(node, "prepare", "--enable-network-qos=true", *bandwidths)
        assert told == (0, f"throttling config set: {in_force}\n", "")
        assert command(node, "set", "--offline-low-bandwidth=20Mbps")[0] == 0
        assert '"offline_low_bandwidth":"20000000bps"' in command(node, "show")[1]
        assert '"online_tx_bytes":0' in command(node, "status")[1]
        told = command(node, "prepare", "--enable-network-qos=false")
        assert told[1].startswith("throttling config reset: {")
        assert node.run(["ip", "link", "show", "type", "ifb"]) == ""


def command(node: Node, *arguments: str) -> tuple[int, str, str]:
    out: list[str] = []
    errors: list[str] = []
    status = run(arguments, Shaper(node.run), out.append, errors.append)
    return status, "".join(out), "".join(errors)


# Recorded


class Recorder:
    """Answers as a node without traffic control does, and keeps what it was asked."""

    def __init__(self, failing: str = "") -> None:
        self.asked: list[str] = []
        self._failing = failing

    def __call__(self, command: Sequence[str], text: str) -> str:
        self.asked.append(" ".join(command) + (f": {text.strip()}" if text else ""))
        if self._failing and self._failing in self.asked[-1]:
            raise ShapingError(f"{' '.join(command)}: Error: Specified qdisc kind is unknown.")
        made = any(one.startswith("ip link add") for one in self.asked)
        return '[{"ifname":"volcano0"}]' if made and "ifb" in command and "-json" in command else ""


def test_a_kernel_without_the_queue_leaves_nothing_behind() -> None:
    node = Recorder("htb default")
    with pytest.raises(ShapingError, match="Specified qdisc kind is unknown"):
        Shaper(node).shape(LIMITS)
    assert [one for one in node.asked if "json" not in one] == [
        "ip link add volcano0 txqueuelen 1000 type ifb",
        "ip link set volcano0 addrgenmode none",
        "tc -batch -: qdisc add dev volcano0 root handle 1: htb default 10",
        "ip link delete volcano0",
    ]


def test_a_node_without_iproute2_says_so() -> None:
    with pytest.raises(ShapingError, match="no-such-tc is not installed: network QoS needs iproute2"):
        run_command(["no-such-tc"])


def test_a_command_that_fails_is_named() -> None:
    with pytest.raises(ShapingError, match=r"^cat /missing: cat: /missing: No such file"):
        run_command(["cat", "/missing"])
