"""Policies and CPU hints of numa-aware against recorded calls."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.corpus.loader import Record, cases, parameters
from volcano.api import quantity
from volcano.api.core import Container
from volcano.api.nodeinfo import CpuInfo
from volcano.scheduler.plugins.numa_aware import bits, cpus, policies
from volcano.scheduler.plugins.numa_aware.cpus import Layout
from volcano.scheduler.plugins.numa_aware.plugin import whole_cpus
from volcano.scheduler.plugins.numa_aware.policies import Hint

AREAS = ("plugins-numaaware", "plugins-numaaware-policy", "plugins-numaaware-provider-cpumanager")
POLICIES = {
    "policyBestEffort.Predicate": policies.BEST_EFFORT,
    "policyRestricted.Predicate": policies.RESTRICTED,
    "policySingleNumaNode.Predicate": policies.SINGLE_NUMA_NODE,
}


def _records() -> list[tuple[str, Record]]:
    found = []
    for area in AREAS:
        for name, record in cases("scheduler-units", area):
            found += [(f"{area}-{name}-{number}", call) for number, call in enumerate(record["cases"])]
    return found


def _shown(hint: Hint) -> Record:
    return {"NUMANodeAffinity": hint.cells, "Preferred": hint.preferred}


def _hints(recorded: Any) -> list[Hint] | None:
    return None if recorded is None else [Hint(h["NUMANodeAffinity"], h["Preferred"]) for h in recorded]


def _chosen(call: Record) -> Any:
    providers = [{name: _hints(hints) for name, hints in entry.items()} for entry in call["args"]["providersHints"]]
    best, admitted = policies.choose(POLICIES[call["op"]], providers, call["args"]["receiver"]["numaNodes"])
    return [_shown(best), admitted]


def _topology_hints(args: Record) -> Any:
    info = args["topoInfo"]
    detail = {
        name: CpuInfo(numa=cpu["NUMANodeID"], socket=cpu["SocketID"], core=cpu["CoreID"])
        for name, cpu in info["CPUDetail"].items()
    }
    layout = Layout.of(detail)
    kept = (info["ResReserved"] or {}).get("cpu", "0")
    reserved = cpus.take(layout, layout.all, -(-quantity.milli(kept) // 1000)) or 0
    available = bits.parse(args["resNumaSets"]["cpu"]) & ~reserved
    container = msgspec.convert(args["container"], Container)
    return {"cpu": [_shown(hint) for hint in cpus.hints(layout, available, whole_cpus(container))]}


@pytest.mark.parametrize("call", parameters(_records()))
def test_call(call: Record) -> None:
    if call["op"] in POLICIES:
        assert _chosen(call) == call["want"]
    elif call["op"] == "cpuMng.GetTopologyHints":
        got, want = _topology_hints(call["args"]), call["want"]
        assert sorted(map(str, got["cpu"])) == sorted(map(str, want["cpu"]))
    else:
        pytest.skip(f"{call['op']}: free CPUs are read from the reports of nodes, not from nodes")
