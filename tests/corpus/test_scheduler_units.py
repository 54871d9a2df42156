"""Single functions of the scheduler against recorded calls; what has no counterpart here is skipped, by function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.corpus import (
    scheduler_unit_accounts,
    scheduler_unit_devices,
    scheduler_unit_domains,
    scheduler_unit_nodes,
    scheduler_unit_resources,
)
from tests.corpus.loader import Record, cases, parameters
from tests.corpus.scheduler_unit_reasons import NO_COUNTERPART
from tests.corpus.scheduler_unit_resources import Answer
from volcano.api.core import Pod
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup, PodGroupSpec, SubGroupPolicySpec
from volcano.scheduler.cluster import resources, subgroups
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.requests import pod_request
from volcano.scheduler.cluster.resources import PODS, Dimensions
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework import conf
from volcano.scheduler.framework.arguments import WrongTypeError, coerce
from volcano.scheduler.framework.outcome import leaving_with_node
from volcano.scheduler.framework.reasons import FitError, Refusal
from volcano.scheduler.plugins.gang import Gang

AREAS = (
    "api",
    "api-helpers",
    "actions-gangpreempt",
    "actions-gangreclaim",
    "actions-utils",
    "cache",
    "framework",
    "plugins-capacity",
    "plugins-gang",
    "plugins-network-topology-aware",
    "root",
    "util",
)
FAILED = object()


def _records() -> list[tuple[str, Record]]:
    found = []
    for area in AREAS:
        for name, record in cases("scheduler-units", area):
            calls = record["cases"] if isinstance(record, dict) else record
            found += [(f"{area}-{name}-{number}", call) for number, call in enumerate(calls)]
    return found


def _amounts(recorded: dict[str, float] | None, dimensions: Dimensions) -> resources.Vector:
    """A recorded resource in our units: its own are thousandths for everything but memory and pods."""
    vector = dimensions.zeros()
    for name, value in (recorded or {}).items():
        if name != "maxTaskNum":
            dimension = dimensions.intern(name)
            in_thousandths = name not in ("cpu", "memory", "pods")
            scale = resources.unit_scale(name) / 1000 if in_thousandths else 1
            vector = resources.pad(vector, dimensions.width)
            vector[dimension] = round(value * scale)
    return vector


def _recorded(vector: resources.AnyVector, dimensions: Dimensions) -> dict[str, float]:
    """Our vector in recorded form."""
    shown = {}
    for dimension, name in enumerate(dimensions.names):
        scale = 1 if name in ("cpu", "memory", "pods") else 1000 / resources.unit_scale(name)
        if vector[dimension] or name in ("cpu", "memory"):
            shown[name] = float(vector[dimension]) * scale
    return shown


def _job(recorded: dict[str, Any]) -> Job:
    cluster = Cluster()
    group = PodGroup(
        metadata=ObjectMeta(name="job", namespace="ns"),
        spec=PodGroupSpec(
            min_member=recorded.get("MinAvailable", 0), min_task_member=recorded.get("TaskMinAvailable") or {}
        ),
    )
    job = cluster.put_pod_group(group)
    for uid, entry in (recorded.get("Tasks") or {}).items():
        requests = {"cpu": f"{int(entry.get('Resreq', {}).get('cpu', 0))}m"}
        document = {
            "metadata": {"name": uid, "namespace": "ns", "uid": uid},
            "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
        }
        pod = msgspec.convert(document, Pod)
        task = Task(pod, cluster.profiles.intern(pod))
        context = entry.get("TransactionContext") or {}
        task.status = Status[context.get("Status", "Pending").upper()]
        task.node_name = context.get("NodeName", "")
        task.role = entry.get("TaskRole", "")
        cluster.add_task(task, job.key)
    return job


def _new_resource(args: Record) -> Any:
    dimensions = Dimensions()
    return _recorded(dimensions.vector(args["rl"]), dimensions)


def _pod_request(args: Record) -> Any:
    dimensions = Dimensions()
    spec = {name: value for name, value in args["pod"]["spec"].items() if name != "initContainers"}
    amounts = pod_request(msgspec.convert({**args["pod"], "spec": spec}, Pod), dimensions)
    del amounts[PODS]
    return _recorded(dimensions.from_amounts(amounts), dimensions)


def _is_empty(args: Record) -> Any:
    return resources.is_empty(_amounts(args["receiver"], Dimensions()))


def _exceeding(args: Record) -> Any:
    if args.get("req") is None or args.get("receiver") is None or args.get("rr") is None:
        pytest.skip("our quota checks always have a request")
    dimensions = Dimensions(width=32)
    request, used, limit = (_amounts(args[name], dimensions) for name in ("req", "receiver", "rr"))
    names = [dimensions.names[d] for d in resources.exceeding(request, used, limit)]
    return [not names, names]


def _float_argument(args: Record) -> Any:
    value = (args["receiver"] or {}).get(args["key"])
    if value is None:
        return args["ptr"]
    try:
        return coerce(value, float)
    except WrongTypeError:
        return args["ptr"]


def _conf(args: Record) -> Any:
    parsed = conf.parse(args["confStr"], ("enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle"))
    tiers = [
        {"plugins": [{**dict.fromkeys(option.switches, True), "name": option.name} for option in tier]}
        for tier in parsed.tiers
    ]
    return [list(parsed.actions), tiers]


def _fit_error(args: Record) -> Any:
    recorded = args["receiver"]
    if recorded["err"] and not recorded["err"].startswith("0/"):
        pytest.skip("we have no error text that is set by hand beside nodes' refusals")
    texts = Counter(status["Reason"] for node in recorded["nodes"].values() for status in node["Status"])
    refusals = tuple((Refusal("", text), count) for text, count in texts.items())
    return str(FitError(refusals, hypernode=recorded["hyperNode"]))


def _match_values(args: Record) -> Any:
    policy = dict(args["policy"])
    selector = policy["LabelSelector"] or {}
    document: dict[str, Any] = {"name": policy["Name"], "matchLabelKeys": policy["MatchLabelKeys"] or []}
    if policy["LabelSelector"] is not None:
        document["labelSelector"] = {
            "matchLabels": selector.get("matchLabels") or selector.get("MatchLabels") or {},
            "matchExpressions": selector.get("matchExpressions") or selector.get("MatchExpressions") or [],
        }
    job = Cluster().put_pod_group(
        PodGroup(
            metadata=ObjectMeta(name="job", namespace="ns"),
            spec=PodGroupSpec(sub_group_policy=[msgspec.convert(document, SubGroupPolicySpec)]),
        )
    )
    return subgroups.match(job, args["pod"]["metadata"].get("labels") or {})[1] or None


ADAPTERS: dict[str, Callable[[Record], Any]] = {
    "NewResource": _new_resource,
    "GetPodResourceWithoutInitContainers": _pod_request,
    "Resource.IsEmpty": _is_empty,
    "Resource.LessEqualWithDimensionAndResourcesName": _exceeding,
    "Arguments.GetFloat64": _float_argument,
    "UnmarshalSchedulerConf": _conf,
    "FitErrors.Error": _fit_error,
    "getSubJobMatchValues": _match_values,
    "JobInfo.IsReady": lambda args: _job(args["receiver"]).is_ready,
    "JobInfo.IsPipelined": lambda args: _job(args["receiver"]).is_pipelined,
    "JobInfo.IsStarving": lambda args: _job(args["receiver"]).is_starving,
    "JobInfo.PendingBestEffortTaskNum": lambda args: _job(args["receiver"]).tally.best_effort_pending,
    "JobInfo.ScheduledTaskNum": lambda args: _job(args["receiver"]).tally.scheduled,
    "JobInfo.ReleasingScheduledTaskNum": lambda args: leaving_with_node(_job(args["receiver"])),
    "shouldSkipUnschedulableForReleasing": lambda args: Gang()._is_only_terminating(_job(args["job"])),
}

ANSWERS: dict[str, Callable[[Record], Answer]] = {
    **scheduler_unit_accounts.ADAPTERS,
    **scheduler_unit_devices.ADAPTERS,
    **scheduler_unit_domains.ADAPTERS,
    **scheduler_unit_nodes.ADAPTERS,
    **scheduler_unit_resources.ADAPTERS,
}


@pytest.mark.parametrize("call", parameters(_records()))
def test_call(call: Record) -> None:
    operation = call["op"]
    if operation in ANSWERS:
        got, recorded = ANSWERS[operation](call)
        assert got == recorded
        return
    adapter = ADAPTERS.get(operation)
    if adapter is None:
        pytest.skip(f"{operation}: {NO_COUNTERPART[operation]}")
    want: Any = call.get("want")
    if "argsAfter" in call and "want" not in call:
        want = call["argsAfter"]["ptr"]
    elif call["op"] == "Arguments.GetFloat64":
        want = call["args"]["ptr"]
    if call["op"] == "UnmarshalSchedulerConf":
        want = want[:2]

    assert adapter(call["args"]) == want
