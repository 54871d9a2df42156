"""Single functions of plugins against recorded calls; what has no counterpart here is skipped, by function."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.corpus import scheduler_unit_loads, scheduler_unit_nodes
from tests.corpus.loader import Record, cases, parameters
from tests.corpus.scheduler_unit_reasons import NO_COUNTERPART
from volcano.api import duration
from volcano.api.core import Node, Pod
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup, PodGroupSpec
from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.resources import CPU, MEMORY, PODS, pad
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.arguments import decode
from volcano.scheduler.framework.reasons import FITS
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins import reservations
from volcano.scheduler.plugins.binpack import Binpack
from volcano.scheduler.plugins.cdp import cooldown_seconds
from volcano.scheduler.plugins.resource_strategy_fit import ResourceStrategyFit
from volcano.scheduler.plugins.resource_strategy_fit.strategy import Arguments, Strategy, strategies, strategy_for
from volcano.scheduler.plugins.tdm import window
from volcano.scheduler.plugins.usage import estimate
from volcano.scheduler.plugins.usage.plugin import is_unmeasured
from volcano.testing.world import World

AREAS = (
    "plugins",
    "plugins-binpack",
    "plugins-cdp",
    "plugins-predicates",
    "plugins-resource-strategy-fit",
    "plugins-tdm",
    "plugins-usage",
    "plugins-util",
    "plugins-util-nodescore",
)


def _records() -> list[tuple[str, Record]]:
    found = []
    for area in AREAS:
        for name, record in cases("scheduler-units", area):
            calls = record["cases"] if isinstance(record, dict) else record
            found += [(f"{area}-{name}-{number}", call) for number, call in enumerate(calls)]
    return found


def _one(function: Callable[..., Any], *floats: str, **rest: str) -> Callable[[Record], Any]:
    """A column function asked about one row."""

    def call(args: Record) -> float:
        columns = [np.array([args[name]], dtype=np.float64) for name in floats]
        return float(function(*columns, **{key: args[name] for key, name in rest.items()})[0])

    return call


def _session_with(*names: str) -> Session:
    world = World()
    for name in names:
        world.cluster.dimensions.intern(name)
    return world.session()


def _fitted(session: Session, arguments: Record) -> ResourceStrategyFit:
    plugin = ResourceStrategyFit(decode(Arguments, arguments, "test")[0])
    plugin.session, plugin.nodes = session, session.nodes
    plugin.open(session)
    return plugin


def _strategy_arguments(args: Record) -> Any:
    given = args["arguments"]
    session = _session_with(*given["sra"]["resourceWeight"])
    plugin, names = _fitted(session, given), session.cluster.dimensions.names
    resources, _ = strategies(plugin.arguments.resources)
    return {
        "Proportional": {
            names[d]: {"CPU": cores, "Memory": memory} for d, (cores, memory) in plugin._proportions.items()
        },
        "ResourceStrategyFit": {"Resources": _shown(resources), "Weight": plugin._weight},
        "Sra": {
            "Resources": {names[d]: weight for d, weight in plugin._scarce.items()},
            "ResourcesWeightSum": sum(plugin._scarce.values()),
            "Weight": plugin.arguments.sra.weight,
        },
    }


def _shown(resources: dict[str, Strategy]) -> dict[str, Any]:
    return {name: {"Type": strategy.kind, "Weight": strategy.weight} for name, strategy in resources.items()}


def _calculated_weight(args: Record) -> Any:
    arguments, _ = decode(Arguments, args["args"], "test")
    return {"Resources": _shown(strategies(arguments.resources)[0]), "Weight": arguments.weight}


def _found_config(args: Record) -> Any:
    configured = {name: Strategy(entry["Type"], entry["Weight"]) for name, entry in args["resources"].items()}
    found = strategy_for(args["resourceName"], configured)
    return [{"Type": "", "Weight": 0}, False] if found is None else [*_shown({"": found}).values(), True]


def _node_and_task(world: World, args: Record, offered: dict[str, float], used: dict[str, float]) -> tuple[Task, Rows]:
    """One node and one task with just these amounts; what is neither CPU nor memory is recorded in thousandths."""
    cluster = world.cluster
    request = args["task"]["Resreq"]
    for name in {*offered, *used, *request}:
        cluster.dimensions.intern(name)
    width = cluster.dimensions.width

    def vector(amounts: dict[str, float]) -> Any:
        found = pad(cluster.dimensions.zeros(), width)
        for name, value in amounts.items():
            found[cluster.dimensions.find(name)] = round(value)
        return found

    allocatable = vector(offered)
    row = cluster.nodes.put(Node(metadata=ObjectMeta(name="n")), allocatable, allocatable)
    cluster.nodes.used[row] = vector(used)
    cluster.nodes.idle[row] = allocatable - vector(used)
    pod = msgspec.convert(args["task"].get("Pod") or {}, Pod)
    profile = cluster.profiles.intern(pod)
    profile.request = vector(request)
    profile.wanted = tuple(d for d in range(width) if profile.request[d] > 0 and d != PODS)
    return Task(pod, profile), Rows(cluster.nodes, np.array([row], dtype=np.intp))


def _strategy_score(args: Record) -> Any:
    world = World()
    task, rows = _node_and_task(world, args, args["node"]["Allocatable"], args["node"].get("Used") or {})
    resources = {
        name: {"type": entry["Type"], "weight": entry["Weight"]} for name, entry in args["weight"]["Resources"].items()
    }
    plugin = _fitted(world.session(), {"resourceStrategyFitWeight": args["weight"]["Weight"], "resources": resources})
    plugin._configured = {name: Strategy(r["type"], r["weight"]) for name, r in resources.items()}
    return sum(float(term.raw(task.profile, rows)[0]) * term.weight for term in plugin.score_terms(task.profile))


def _proportional(args: Record) -> Any:
    world = World()
    task, rows = _node_and_task(world, args, args["node"]["Idle"], {})
    ratios = {
        f"{name}.{key.lower()}": value for name, entry in args["proportional"].items() for key, value in entry.items()
    }
    option = {"enable": True, "resources": ",".join(args["proportional"]), "resourceProportion": ratios}
    plugin = _fitted(world.session(), {"proportional": option})
    code = int(plugin.filter(task.profile, rows)[0])
    text = "" if code == FITS else plugin.session.refusals[code].text
    status = {"Code": 0 if code == FITS else 3, "Plugin": plugin.name, "Reason": text}
    return [status, {"error": text} if text else None]


def _binpack_arguments(args: Record) -> Any:
    given = args["aruguments"]
    session = _session_with("nvidia.com/gpu", "example.com/foo")
    plugin = Binpack(decode(Binpack.Arguments, given, "test")[0])
    plugin.open(session)
    names = session.cluster.dimensions.names
    return {
        "weight": {
            "BinPackingCPU": plugin.weights[CPU],
            "BinPackingMemory": plugin.weights[MEMORY],
            "BinPackingResources": {names[d]: weight for d, weight in plugin.weights.items()},
            "BinPackingWeight": plugin.arguments.weight,
        }
    }


def _cooldown(args: Record) -> Any:
    seconds = cooldown_seconds(msgspec.convert(args["pod"], Pod))
    return ["0s", False] if seconds is None else [duration.format_nanoseconds(int(seconds * 10**9)), True]


def _zone(args: Record) -> Any:
    """The recorded times are of the day of the run: only the times of day and the distance of the days count."""
    try:
        found = window.parse(args["rzRaw"])
    except window.WindowError:
        return None
    return [_clock(found.since), _clock(found.until)]


def _clock(seconds: int) -> str:
    days, rest = divmod(seconds, 24 * 3600)
    return f"{days} {rest // 3600:02}:{rest % 3600 // 60:02}"


def _zone_wanted(want: list[Any]) -> Any:
    since, until, error = want
    if error is not None:
        return None
    days = int(until[8:10]) - int(since[8:10])
    return [f"0 {since[11:16]}", f"{days % 29} {until[11:16]}"]


def _inqueue(args: Record) -> Any:
    world = World()
    spec = msgspec.convert({**args["job"]["PodGroup"]["spec"], "minMember": 0}, PodGroupSpec)
    group = PodGroup(metadata=ObjectMeta(name="g", namespace="ns"), spec=spec)
    group.status.phase = "Running"
    job = world.cluster.put_pod_group(group)
    dimensions = world.cluster.dimensions
    for name, value in args["allocated"].items():
        job.allocated[dimensions.intern(name)] = round(value)
    claimed = reservations._part(dimensions, job).claimed
    left = dimensions.zeros() if claimed is None else claimed
    return {name: float(left[d]) for d, name in enumerate(dimensions.names) if left[d] or d in (CPU, MEMORY)}


def _unmeasured(args: Record) -> Any:
    recorded = args["task"]
    pod = msgspec.convert(recorded.get("Pod") or {}, Pod)
    context = recorded["TransactionContext"]
    now = 0.0
    if pod.status.start_time is not None:  # recorded around this time; the two starts are a minute and ten before
        now = duration.parse_seconds("8m") + pod.status.start_time.timestamp()
        now -= duration.parse_seconds("7m") if pod.status.start_time.minute == 17 else 0
    task = SimpleNamespace(node_name=context["NodeName"], status=Status[context["Status"].upper()], pod=pod)
    return is_unmeasured(task, now, duration.parse_seconds(args["metricsDelay"]))  # type: ignore[arg-type]


def _limits(args: Record) -> Any:
    world = World()
    pod = msgspec.convert(args["pod"], Pod)
    profile = world.cluster.profiles.intern(pod)
    cpu, memory = estimate.pod_limits(pod)
    return [float(profile.request[CPU]), float(cpu), float(profile.request[MEMORY]), float(memory)]


ADAPTERS: dict[str, Callable[[Record], Any]] = {
    "CalcCompositeUtilization": _one(estimate.utilisation, "realLoadPercent", "shadowEstAbs", "capacity"),
    "CalcLoadCompositePercentage": _one(
        estimate.combined, "cpuComposite", "memComposite", cpu_weight="cpuWeight", memory_weight="memWeight"
    ),
    "CalcNodeScore": _one(
        estimate.node_score,
        "cpuComp",
        "memComp",
        cpu_weight="cpuWeight",
        memory_weight="memWeight",
        weight="usageWeight",
    ),
    "EstimatePodResource": lambda args: estimate.pod_estimate(
        args["request"], args["limit"], args["requestWeight"], args["burstWeight"], args["appliedRiskFactor"]
    ),
    "getPodResourceRequestLimit": _limits,
    "shouldAddToShadowCache": _unmeasured,
    "Score": _strategy_score,
    "calculateWeight": _calculated_weight,
    "findResourceConfigWithPrefix": _found_config,
    "checkNodeResourceIsProportional": _proportional,
    "CooldownProtectionPlugin.podCooldownTime": _cooldown,
    "parseRevocableZone": _zone,
    "GetInqueueResource": _inqueue,
}
ANSWERS = {**scheduler_unit_loads.ADAPTERS, **scheduler_unit_nodes.ADAPTERS}
BY_AREA = {"plugins-binpack": _binpack_arguments, "plugins-resource-strategy-fit": _strategy_arguments}


@pytest.mark.parametrize("call", parameters(_records()))
def test_call(call: Record, request: pytest.FixtureRequest) -> None:
    if call["op"] in ANSWERS:
        ours, recorded = ANSWERS[call["op"]](call)
        assert ours == recorded
        return
    adapter = ADAPTERS.get(call["op"])
    if call["op"] == "New":
        adapter = next((a for area, a in BY_AREA.items() if area in request.node.name), None)
    if adapter is None:
        pytest.skip(f"{call['op']}: {NO_COUNTERPART[call['op']]}")
    if call.get("want") is None:
        pytest.skip(f"{call['op']}: the record holds no result")
    want = _zone_wanted(call["want"]) if call["op"] == "parseRevocableZone" else call["want"]

    got = adapter(call["args"])

    assert got == (pytest.approx(want, abs=1e-6) if isinstance(want, float) else want)
