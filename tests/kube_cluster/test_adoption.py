"""What the Go Volcano left in flight goes on: nothing restarts, nothing is told anew, and what waits gets its turn."""

from __future__ import annotations

import asyncio
import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster import bare, chart, control_plane, volcano
from tests.kube_cluster.left_behind import (
    BATCH,
    NAMESPACE,
    NODE,
    PLUGINS,
    QUEUE,
    GoJob,
    leave_command,
    leave_job,
    leave_node,
    leave_queue,
    leave_replica_set,
    owned_by,
)
from tests.waiting import until
from volcano.api import resources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.control_plane import Address
    from volcano.api.resources import Resource
    from volcano.kube.client import Client

pytestmark = pytest.mark.xdist_group("adoption")

JsonObject = dict[str, Any]
CLAIM = "whole-pvc-7hq2m1xk0d3z"
RESTART = {"event": "PodFailed", "action": "RestartJob"}
FLOW = {f"volcano.sh/createdBy{kind}": f"{NAMESPACE}.{name}" for kind, name in (("JobTemplate", "a"), ("JobFlow", "f"))}
WAITS = ("Waits", "Waits")
OWNERS = {"Job", "JobFlow", "CronJob", "ReplicaSet"}
PHASES = {
    "Job": {
        *("Pending", "Running", "Restarting", "Aborting", "Aborted"),
        *("Completing", "Completed", "Terminating", "Terminated", "Failed"),
    },
    "PodGroup": {"Pending", "Inqueue", "Running", "Unknown", "Completed"},
}
"""Those that the Go Volcano knows."""
STAY = (
    GoJob("whole", plugins=PLUGINS, claim=CLAIM),
    GoJob("restarted", version=1, retries=1, policies=(RESTART,), history=("Restarting", "Pending", "Running")),
    GoJob("legacy", group_name="legacy"),
    GoJob("leaver", queue="leaving"),
    GoJob("half", pods=("Running", "Succeeded"), counts={"running": 1, "succeeded": 1}),
    GoJob("aborted", phase="Aborted", pods=(), group="", version=1, counts={}, history=("Running", "Aborted")),
    GoJob(
        "over",
        phase="Completed",
        pods=("Succeeded", "Succeeded"),
        group="",
        version=1,
        counts={"succeeded": 2},
        history=("Running", "Completed"),
    ),
)
"""jobs that need nothing"""
GO_ON = (
    GoJob("stopped"),
    GoJob("submitted", phase="Pending", pods=(), group="Pending", counts={}, history=("Pending",)),
    GoJob("admitted", phase="Pending", pods=WAITS, group="Inqueue", counts={"pending": 2}, history=("Pending",)),
    GoJob(
        "restarting",
        phase="Restarting",
        pods=("Goes", "Running"),
        version=1,
        retries=1,
        counts={"running": 1, "terminating": 1},
        history=("Pending", "Running", "Restarting"),
    ),
)
"""jobs with something left to do"""
ZEROED = GoJob(
    "zeroed",
    phase="Completed",
    pods=("Succeeded", "Succeeded"),
    group="",
    version=1,
    counts={},
    history=("Running", "Completed"),
)
"""an ended job whose counters were lost when its pods were spared"""
KINDS = (
    resources.JOBS,
    resources.PODS,
    resources.PODGROUPS,
    resources.QUEUES,
    resources.COMMANDS,
    resources.CONFIGMAPS,
    resources.SECRETS,
    resources.SERVICES,
    resources.NETWORK_POLICIES,
    resources.PERSISTENT_VOLUME_CLAIMS,
    resources.CRON_JOBS,
    resources.JOB_FLOWS,
    resources.REPLICA_SETS,
)

Seen = dict[tuple[str, str], JsonObject]


@dataclass(frozen=True)
class Handover:
    """Everything that there was before and after our daemons came."""

    address: Address
    before: Seen
    after: Seen

    def unchanged(self, kind: Resource[Any], name: str) -> bool:
        key = (kind.kind, name)
        return without_managers(self.before[key]) == without_managers(self.after[key])


@pytest.fixture(scope="module", params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def handover(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handover]:
    if request.param == "kube" and (why := control_plane.absence()):
        pytest.skip(why)
    root = tmp_path_factory.mktemp(request.param)
    options = ("--disable-admission-plugins=ServiceAccount",)
    for server in bare.kube(root, options) if request.param == "kube" else bare.local(root):
        before = asyncio.run(leave_everything(server.address))
        if request.param == "kube":
            chart.install_accounts(server.address)
        volcano.start_controllers(server.programs, server.address)
        volcano.start_scheduler(root, server.programs, server.address)
        yield Handover(server.address, before, asyncio.run(settled(server.address)))


async def leave_everything(address: Address) -> Seen:
    async with address.connected() as client:
        await leave_node(client)
        amounts = {"cpu": "1", "memory": "0", "pods": "10"}
        await leave_queue(client, "root", {"state": "Open", "allocated": amounts})
        await leave_queue(client, "default", {"state": "Open"}, parent="root")
        await leave_queue(client, QUEUE, {"state": "Open", "allocated": amounts}, parent="root")
        await leave_queue(client, "shut", {"state": "Closed"}, parent="root")
        await leave_queue(client, "leaving", {"state": "Open"}, parent="root")
        for job in (*STAY, *GO_ON, ZEROED):
            await leave_job(client, job)
        closing = {"status": {"state": "Closing"}}
        await client.patch(resources.QUEUES.untyped, "leaving", closing, subresource="status")
        await leave_command(client, "stopped", "AbortJob")
        await leave_replica_set(client)
        await leave_flow(client)
        await leave_cron_job(client)
        return await everything(client)


async def leave_flow(client: Client) -> None:
    [task] = GoJob("a").document()["spec"]["tasks"]
    template = {"metadata": {"name": "a", "namespace": NAMESPACE}, "spec": {"minAvailable": 2, "tasks": [task]}}
    await client.create(resources.JOB_TEMPLATES.untyped, template)
    flow = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": "f", "namespace": NAMESPACE},
        "spec": {"flows": [{"name": "a"}], "jobRetainPolicy": "retain"},
    }
    made = await client.create(resources.JOB_FLOWS.untyped, flow)
    await leave_job(client, GoJob("f-a", owner=tuple(owned_by(made)), labels=FLOW))
    status = {"runningJobs": ["f-a"], "state": {"phase": "Running"}}
    await client.patch(resources.JOB_FLOWS.untyped, "f", {"status": status}, NAMESPACE, subresource="status")


async def leave_cron_job(client: Client) -> None:
    now = datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)
    name = f"nightly-{int(now.timestamp()) // 60}"
    spec = {"schedule": "@every 48h", "jobTemplate": {"spec": GoJob("x").document()["spec"]}}
    cron = {"apiVersion": BATCH, "kind": "CronJob", "metadata": {"name": "nightly", "namespace": NAMESPACE}}
    made = await client.create(resources.CRON_JOBS.untyped, {**cron, "spec": {**spec, "concurrencyPolicy": "Forbid"}})
    job = await leave_job(client, GoJob(name, owner=tuple(owned_by(made))))
    reference = {
        "apiVersion": BATCH,
        "kind": "Job",
        "name": name,
        "namespace": NAMESPACE,
        "uid": job["metadata"]["uid"],
    }
    status = {"active": [reference], "lastScheduleTime": now.isoformat().replace("+00:00", "Z")}
    await client.patch(resources.CRON_JOBS.untyped, "nightly", {"status": status}, NAMESPACE, subresource="status")


async def everything(client: Client) -> Seen:
    seen: Seen = {}
    for kind in KINDS:
        for document in (await client.list(kind.untyped, NAMESPACE if kind.namespaced else None)).items:
            seen[kind.kind, document["metadata"]["name"]] = document
    return seen


async def settled(address: Address) -> Seen:
    """What there is once everything that was left to do has begun and a while has passed without a change."""
    async with address.connected() as client:
        await until(lambda: all_placed(client))
        await until(lambda: all_stopped(client))
        await until(lambda: is_counted(client))
        last: Seen = {}
        async with asyncio.timeout(120):
            while last != (last := await everything(client)):  # noqa: ASYNC110 - silence is what is waited for
                await asyncio.sleep(4)
        return last


async def all_placed(client: Client) -> bool:
    pods = (await client.list(resources.PODS.untyped, NAMESPACE)).items
    mine = [pod for pod in pods if pod["metadata"]["name"].startswith(("submitted-", "admitted-"))]
    return len(mine) == 4 and all(pod["spec"].get("nodeName") for pod in mine)


async def all_stopped(client: Client) -> bool:
    """The command was obeyed: what was there for the job to run goes."""
    left = [*(await client.list(resources.COMMANDS, NAMESPACE)).items]
    left += [one for one in (await client.list(resources.PODGROUPS, NAMESPACE)).items if is_of_stopped(one)]
    pods = (await client.list(resources.PODS, NAMESPACE)).items
    left += [pod for pod in pods if is_of_stopped(pod) and pod.metadata.deletion_timestamp is None]
    return not left and await has_phase(client, "stopped", "Aborting")


def is_of_stopped(found: Any) -> bool:
    return str(found.metadata.name).startswith("stopped-")


async def is_counted(client: Client) -> bool:
    return (await client.get(resources.JOBS, ZEROED.name, NAMESPACE)).status.succeeded > 0


def without_managers(document: JsonObject) -> JsonObject:
    meta = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    return {**document, "metadata": meta}


def names(seen: Seen, kind: Resource[Any]) -> set[str]:
    return {name for found, name in seen if found == kind.kind}


def test_no_pod_is_made_twice_and_none_is_taken_away(handover: Handover) -> None:
    made = names(handover.after, resources.PODS) - names(handover.before, resources.PODS)

    assert made == {"submitted-worker-0", "submitted-worker-1"}
    for name in names(handover.before, resources.PODS):
        key = ("Pod", name)
        assert handover.after[key]["metadata"]["uid"] == handover.before[key]["metadata"]["uid"]
        if name.startswith("admitted-"):
            assert handover.after[key]["spec"]["nodeName"] == NODE
        elif not name.startswith("stopped-"):
            assert handover.unchanged(resources.PODS, name), name


def test_what_needs_nothing_is_not_written(handover: Handover) -> None:
    """Jobs, their podgroups and what the plugins keep beside them: not one resource version differs."""
    assert handover.unchanged(resources.REPLICA_SETS, "web")
    for job in (*STAY, GoJob("f-a")):
        assert handover.unchanged(resources.JOBS, job.name), job.name
        uid = handover.before["Job", job.name]["metadata"]["uid"]
        if job.group:
            assert handover.unchanged(resources.PODGROUPS, job.group_name or f"{job.name}-{uid}"), job.name
    for kind in (resources.CONFIGMAPS, resources.SECRETS, resources.SERVICES, resources.NETWORK_POLICIES):
        for name in names(handover.before, kind):
            assert handover.unchanged(kind, name), name
    assert handover.unchanged(resources.PERSISTENT_VOLUME_CLAIMS, CLAIM)
    assert handover.unchanged(resources.CRON_JOBS, "nightly")


def test_an_ended_job_is_counted_again(handover: Handover) -> None:
    status = handover.after["Job", ZEROED.name]["status"]

    assert status["state"] == handover.before["Job", ZEROED.name]["status"]["state"]
    assert (status["succeeded"], status["version"], status["runningDuration"]) == (2, 1, "4m7.2s")


def test_a_command_that_waits_is_obeyed_once(handover: Handover) -> None:
    before, after = (seen["Job", "stopped"]["status"] for seen in (handover.before, handover.after))

    assert (after["state"]["phase"], after["version"], after.get("retryCount", 0)) == ("Aborting", 1, 0)
    assert after["minAvailable"] == before["minAvailable"]
    assert names(handover.after, resources.COMMANDS) == set()
    assert all(handover.after["Pod", f"stopped-worker-{index}"]["metadata"]["deletionTimestamp"] for index in range(2))


def test_podgroups_stay(handover: Handover) -> None:
    """All but that of the job that was to be stopped."""
    gone = names(handover.before, resources.PODGROUPS) - names(handover.after, resources.PODGROUPS)
    assert {name.rpartition("-")[0].startswith("stopped-") for name in gone} == {True}
    assert names(handover.after, resources.PODGROUPS) <= names(handover.before, resources.PODGROUPS)
    for name in names(handover.after, resources.PODGROUPS):
        before, after = handover.before["PodGroup", name], handover.after["PodGroup", name]
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        if before["status"]["phase"] == "Running":
            assert after["status"]["phase"] == "Running"


def test_queues_stay_as_they_were(handover: Handover) -> None:
    states = {
        name: handover.after["Queue", name]["status"]["state"] for name in names(handover.before, resources.QUEUES)
    }

    assert states == {"root": "Open", "default": "Open", QUEUE: "Open", "shut": "Closed", "leaving": "Closing"}
    assert names(handover.after, resources.QUEUES) == names(handover.before, resources.QUEUES)


def test_lives_go_on_where_they_stood(handover: Handover) -> None:
    """A job ends as it would have, and a restart counts from where the counting was."""

    async def main() -> None:
        async with handover.address.connected() as client:
            for name in ("whole-worker-0", "whole-worker-1", "half-worker-0"):
                await say(client, name, "Succeeded")
            await say(client, "restarted-worker-0", "Failed")
            await until(lambda: has_phase(client, "whole", "Completed"))
            await until(lambda: has_phase(client, "half", "Completed"))

            await until(lambda: has_phase(client, "restarted", "Restarting", "Pending"))
            status = (await client.get(resources.JOBS.untyped, "restarted", NAMESPACE))["status"]
            assert (status["version"], status["retryCount"]) == (2, 2)

    asyncio.run(main())


def test_the_go_volcano_finds_what_it_looks_for(handover: Handover) -> None:
    """Back is the same step: what we made has the names, versions and marks by which its controllers know their own."""
    job = handover.after["Job", "submitted"]
    uid = job["metadata"]["uid"]
    pod = handover.after["Pod", "submitted-worker-1"]
    meta = pod["metadata"]
    [owner] = meta["ownerReferences"]

    assert owner == owned_by(job)[0]
    assert meta["labels"] == {
        "volcano.sh/task-index": "1",
        "volcano.sh/job-name": "submitted",
        "volcano.sh/task-spec": "worker",
        "volcano.sh/job-namespace": NAMESPACE,
        "volcano.sh/queue-name": QUEUE,
    }
    assert meta["annotations"] == {
        "volcano.sh/task-index": "1",
        "volcano.sh/task-spec": "worker",
        "volcano.sh/job-name": "submitted",
        "volcano.sh/queue-name": QUEUE,
        "volcano.sh/job-version": "0",
        "volcano.sh/job-retry-count": "0",
        "volcano.sh/template-uid": "submitted-worker",
        "scheduling.k8s.io/group-name": f"submitted-{uid}",
    }
    assert job["status"]["minAvailable"] == 2
    assert [one["status"] for one in job["status"]["conditions"]] == ["Pending"]
    group = handover.after["PodGroup", f"submitted-{uid}"]
    assert group["status"]["phase"] in {"Inqueue", "Running"}


def test_nothing_of_ours_is_in_the_way_back(handover: Handover) -> None:
    """No finalizer, gate, owner or schedulerName, and no phase, that its daemons would not take away or know."""
    for key, document in handover.after.items():
        before = handover.before.get(key, {"metadata": {}})
        for held in ("finalizers", "ownerReferences"):
            kept = [entry for entry in before["metadata"].get(held, ()) if entry in document["metadata"].get(held, ())]
            ours = [entry for entry in document["metadata"].get(held, ()) if entry not in kept]
            assert held == "ownerReferences" or not ours, key
            assert all(owner["controller"] and owner["kind"] in OWNERS for owner in ours), key
        assert not document.get("spec", {}).get("schedulingGates"), key
    for kind, phases in PHASES.items():
        found = [document for (of, _), document in handover.after.items() if of == kind]
        assert {document["status"].get("phase") or document["status"]["state"]["phase"] for document in found} <= phases
    pods = [document for (kind, _), document in handover.after.items() if kind == "Pod"]
    assert {pod["spec"]["schedulerName"] for pod in pods if pod["metadata"]["name"].startswith("submitted-")} == {
        "volcano"
    }


async def say(client: Client, pod: str, phase: str) -> None:
    body = {"status": {"phase": phase}}
    await client.patch(resources.PODS.untyped, pod, body, NAMESPACE, subresource="status")


async def has_phase(client: Client, job: str, *phases: str) -> bool:
    found = await client.get(resources.JOBS, job, NAMESPACE)
    return found.status.state.phase in phases
