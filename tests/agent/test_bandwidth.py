"""What limits mean, and whose packets are batch traffic."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tests.agent.pods import pod
from volcano.agent.bandwidth import Limits, Senders, bytes_per_second, counters, devices, limiting, limits_of, senders
from volcano.agent.configuration import NetworkQos
from volcano.agent.networkcommand import COMMANDS, Flags, changed, run
from volcano.agent.shaper import Shaper
from volcano.api.core.pods import Pod
from volcano.kube.flags import FlagError


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("8", 1000), ("8Kbps", 1000), ("800Mbps", 100_000_000), (" 1Gibps ", 134_217_728), ("1Tbps", 125_000_000_000)],
)
def test_sizes(text: str, wanted: int) -> None:
    assert bytes_per_second(text) == wanted


@pytest.mark.parametrize("text", ["", "Mbps", "1.5Mbps", "-1Mbps", "1mbps", "1 Mbps x"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="write one like 800Mbps"):
        bytes_per_second(text)


@given(st.integers(1, 1_000_000), st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 1000))
def test_percentages_of_the_rate(rate: int, watermark: int, low: int, high: int) -> None:
    limits = limits_of(str(rate), NetworkQos(watermark=watermark, low=low, high=high))
    for part, percent in ((limits.watermark, watermark), (limits.low, low), (limits.high, high)):
        assert part == rate * 1_000_000 * percent // 100 // 8 > 0


@pytest.mark.parametrize("rate", ["", "0", "1G", "-5"])
def test_a_node_must_say_its_bandwidth(rate: str) -> None:
    with pytest.raises(ValueError, match=r"network-bandwidth-rate is .*: write the node's bandwidth in Mbps"):
        limits_of(rate, NetworkQos())


def test_batch_traffic_borrows_below_the_watermark_only() -> None:
    every, online, batch = limiting(Limits(watermark=800, interval=1, low=100, high=400))
    assert "classid 1:1 htb rate 800bps" in every
    assert "parent 1:1 classid 1:10 htb rate 1tbit" in online
    assert "parent 1:1 classid 1:20 htb rate 100bps ceil 400bps prio 1" in batch


# Whose packets


def addressed(name: str, qos: str, address: str, **annotations: str) -> Pod:
    found = pod(name, qos, annotations=annotations)
    found.status.pod_ip = address
    return found


def test_senders_are_told_by_their_address() -> None:
    host = addressed("host", "BE", "192.0.2.1")
    host.spec.host_network = True
    done = addressed("done", "BE", "10.0.0.9")
    done.status.phase = "Succeeded"
    by_others = addressed("b", "BE", "10.0.0.8", **{"kubernetes.io/egress-bandwidth": "1M"})
    pods = [addressed("on", "LC", "10.0.0.1"), addressed("off", "BE", "10.0.0.2"), addressed("none", "BE", "")]
    found = senders([*pods, host, done, by_others])
    assert found == Senders(frozenset({"10.0.0.1", "10.0.0.2"}), frozenset({"10.0.0.2"}))


def test_the_narrowest_route_leads_to_the_pod() -> None:
    routes = [
        {"dst": "default", "gateway": "192.0.2.254", "dev": "eth0"},
        {"dst": "10.0.0.0/16", "gateway": "192.0.2.9", "dev": "eth0"},
        {"dst": "10.0.1.0/24", "dev": "cni0"},
        {"dst": "10.0.1.7", "dev": "cali7"},
        {"dst": "10.0.2.0/24", "type": "blackhole"},
        {"dst": "fd00::/64", "dev": "cni6"},
    ]
    assert devices(["10.0.1.5", "10.0.1.7", "10.0.2.2", "10.0.3.1", "fd00::5"], routes) == {"cni0", "cali7", "cni6"}


def test_counters_of_what_tc_shows() -> None:
    shown = (
        "class htb 1:10 parent 1:1 prio 0 rate 1Tbit ceil 1Tbit burst 1000000b cburst 1000000b \n"
        " Sent 3580482818 bytes 2400673 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n\n"
        "class htb 1:20 parent 1:1 prio 1 rate 10Mbit ceil 40Mbit burst 1600b cburst 1600b \n"
        " Sent 2570450 bytes 1701 pkt (dropped 0, overlimits 75 requeues 0) \n"
    )
    assert counters(shown) == {
        "offline_tx_bytes": 2570450,
        "online_tx_bytes": 3580482818,
        "online_tx_packages": 2400673,
        "offline_tx_packages": 1701,
    }
    assert set(counters("").values()) == {0}


# The command line


def test_flags_change_what_they_name() -> None:
    before = Limits(watermark=1000, interval=5, low=100, high=400)
    assert changed(before, Flags(offline_high_bandwidth="8Kbps")) == Limits(1000, 5, 100, 1000)
    assert changed(before, Flags(check_interval="7")) == Limits(1000, 7, 100, 400)
    named = Flags("80", "8", "16")
    assert changed(None, named) == Limits(10_000, 10_000_000, 1000, 2000)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (Flags(offline_low_bandwidth="1Mbps"), "nothing is in force yet: give --online-bandwidth-watermark"),
        (Flags("80", "16", "8"), "--offline-high-bandwidth at least --offline-low-bandwidth"),
        (Flags("80", "0", "8"), "bandwidths must be above 0"),
        (Flags("80", "8", "8", "soon"), "--check-interval=soon is not a positive number of nanoseconds"),
    ],
)
def test_flags_that_make_no_sense(flags: Flags, message: str) -> None:
    with pytest.raises(FlagError, match=message):
        changed(None, flags)


def test_commands_that_are_none_are_named_and_help_lists_those_there_are() -> None:
    said: list[str] = []
    assert run(["get"], Shaper(), said.append, said.append) == 1
    assert said.pop().startswith('unknown command "get" for "network-qos": write one of prepare, set, show,')
    assert run([], Shaper(), said.append, said.append) == 0
    text = said.pop()
    assert all(f"  {name} " in text for name in COMMANDS)
    assert "--offline-low-bandwidth" in text
    assert run(["version"], Shaper(), said.append, said.append) == 0
    assert said.pop().startswith("network-qos ")
    assert run(["set", "--speed=1"], Shaper(), said.append, said.append) == 1
    assert said.pop().startswith("execute command[set] failed, error:unknown flag: --speed")
