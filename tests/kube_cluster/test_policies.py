"""The admission rules as policies, compiled and applied by a real kube-apiserver without any webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster import bare, control_plane
from tests.kube_cluster.judged import Question, answered, is_covered, lacking, questions, stored
from tests.waiting import until
from volcano.api import resources
from volcano.api.meta import JsonObject
from volcano.api.resource import DOCUMENTS, Resource
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, Forbidden, Invalid, ServiceUnavailable
from volcano.webhooks.policies import mutating_policies, validating_policies
from volcano.webhooks.rules.model import ResourceGroup, Settings

if TYPE_CHECKING:
    from tests.kube_cluster.control_plane import Address

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("policies")]

BETA = "admissionregistration.k8s.io/v1beta1"
OPTIONS = (f"--runtime-config={BETA}=true", "--disable-admission-plugins=ServiceAccount")
AFFINITY = (
    '{"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": '
    '{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}]}}'
)
GROUP = ResourceGroup(
    resource_group="ml",
    object=ResourceGroup.Match(key="namespace", value=("default",)),
    scheduler_name="other",
    labels={"pool": "ml", "example.com/x": "1"},
    tolerations=({"key": "ml", "operator": "Exists", "effect": "NoSchedule"},),
    affinity=AFFINITY,
)
SETTINGS = Settings(resource_groups=(GROUP,))
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
TASK = {"name": "t", "replicas": 2, "template": TEMPLATE}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    if why := control_plane.absence():
        pytest.skip(why)
    for server in bare.kube(tmp_path_factory.mktemp("policies"), OPTIONS):
        asyncio.run(apply_policies(server.address))
        yield server.address


async def apply_policies(address: Address) -> None:
    async with address.connected() as client:
        annotations = {"scheduling.volcano.sh/queue-name": "ml"}
        await client.create(resources.NAMESPACES.untyped, {"metadata": {"name": "team", "annotations": annotations}})
        for document in (*validating_policies(SETTINGS), *mutating_policies(SETTINGS)):
            await client.create(registration(document), document)
        await in_force(client)


def registration(document: JsonObject) -> Resource[JsonObject]:
    """The resource that a policy or binding is."""
    group, version = document["apiVersion"].split("/")
    kind = document["kind"]
    plural = f"{kind[:-1]}ies".lower() if kind.endswith("y") else f"{kind}s".lower()
    return Resource(group=group, version=version, plural=plural, kind=kind, namespaced=False, load=DOCUMENTS)


async def in_force(client: Client) -> None:
    """Wait until the policies of every kind work: the server reads them, and what the kinds are, now and then."""
    for case in DEFAULTED:
        await until(partial(is_given, client, *case))
    for resource, document, _ in {entry[0].plural: entry for entry in REFUSED}.values():
        await until(partial(is_refused, client, resource, document))
    await until(partial(is_refused, client, resources.PODS, with_budget("0"), "kube-public"))


async def is_given(
    client: Client, resource: Resource[Any], document: JsonObject, namespace: str | None, given: str
) -> bool:
    made = await judged(client, resource, document, namespace)
    return made is not None and given in made.get("spec", {})


async def is_refused(client: Client, resource: Resource[Any], document: JsonObject, namespace: str = "default") -> bool:
    return await judged(client, resource, document, namespace if resource.namespaced else None) == {}


async def judged(
    client: Client, resource: Resource[Any], document: JsonObject, namespace: str | None
) -> JsonObject | None:
    """What an object would be stored as: nothing where it is refused, None while its kind is not known."""
    try:
        return await client.create(resource.untyped, document, namespace, dry_run=True)
    except (Forbidden, Invalid):
        return {}
    except ServiceUnavailable:
        return None


def named(name: str, **spec: Any) -> JsonObject:
    return {"metadata": {"name": name}, "spec": spec}


def with_budget(value: str) -> JsonObject:
    """A pod of ours, for a namespace that no resource group takes to another scheduler."""
    meta = {"name": "p", "annotations": {"volcano.sh/jdb-min-available": value}}
    return {"metadata": meta, "spec": {**TEMPLATE["spec"], "schedulerName": "volcano"}}


def with_policies(*policies: JsonObject) -> JsonObject:
    return named("j", tasks=[TASK], policies=list(policies))


def on(event: str, action: str = "AbortJob") -> JsonObject:
    return {"event": event, "action": action}


BOTH_BOUNDS = {"highestTierAllowed": 1, "highestTierName": "x"}
MISMATCH = {"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/2/3"}
UNBALANCED = {"type": "Node", "selector": {"regexMatch": {"pattern": "a(b"}}}
ITSELF = {"name": "a", "dependsOn": {"targets": ["a"]}}
TOKYO = "TZ=Asia/Tokyo * * * * *"

REFUSED: list[tuple[Resource[Any], JsonObject, str]] = [
    (resources.JOBS, named("j", tasks=[TASK, TASK]), "duplicated task name"),
    (
        resources.JOBS,
        named("j", minAvailable=1, tasks=[{**TASK, "minAvailable": 3}]),
        "'minAvailable' is greater than 'replicas' in task: t, job: j;",
    ),
    (resources.JOBS, named("j", minAvailable=5, tasks=[TASK]), "should not be greater than total replicas"),
    (resources.JOBS, named("j", tasks=[TASK], plugins={"evn": []}), "unable to find job plugin"),
    (resources.JOBS, named("x" * 64, tasks=[TASK]), "qualified name"),
    (resources.JOBS, with_policies({**on("PodFailed"), "exitCode": 3}), "must not specify event and exitCode"),
    (resources.JOBS, with_policies({"action": "AbortJob"}), "either event and exitCode"),
    (resources.JOBS, with_policies(on("PodRunning")), "invalid policy event"),
    (resources.JOBS, with_policies(on("PodFailed", "Abort")), "invalid policy action"),
    (resources.JOBS, with_policies({"exitCode": 0, "action": "AbortJob"}), "0 is not a valid error code"),
    (
        resources.JOBS,
        with_policies({"events": ["PodFailed"], "action": "AbortJob"}, on("PodFailed", "RestartJob")),
        "duplicate event",
    ),
    (resources.JOBS, with_policies(on("*"), on("PodFailed")), "no other policy should be here"),
    (resources.JOBS, named("j", tasks=[TASK], volumes=[{"mountPath": "/a"}]), "either VolumeClaim or VolumeClaimName"),
    (resources.JOBS, named("j", tasks=[TASK], networkTopology=BOTH_BOUNDS), "highestTierName"),
    (resources.QUEUES, named("q", deserved={"cpu": 4}, capability={"cpu": "2"}), "must be <= capability"),
    (resources.QUEUES, named("q", guarantee={"resource": {"cpu": "2"}}), "must be >= guarantee"),
    (resources.QUEUES, named("q", capability={"cpu": "-1"}), "quantities of at least 0"),
    (
        resources.QUEUES,
        {"metadata": {"name": "q", "annotations": MISMATCH}, "spec": {}},
        "must have the same length",
    ),
    (resources.PODGROUPS, named("g", networkTopology=BOTH_BOUNDS), "highestTierName"),
    (resources.HYPERNODES, named("h", tier=1, members=[UNBALANCED]), "brackets do not match"),
    (resources.JOB_FLOWS, named("f", flows=[ITSELF]), "depends on itself"),
    (
        resources.CRON_JOBS,
        named("c", schedule=TOKYO, jobTemplate={"spec": {"tasks": [TASK]}}),
        "TZ should only be set in the timeZone field",
    ),
]

DEFAULTED: list[tuple[Resource[Any], JsonObject, str | None, str]] = [
    (resources.JOBS, named("j", tasks=[TASK]), "default", "minAvailable"),
    (resources.QUEUES, named("q"), None, "reclaimable"),
    (resources.PODGROUPS, named("g", minMember=1), "team", "queue"),
    (resources.PODS, named("p", **TEMPLATE["spec"]), "default", "nodeSelector"),
]
"""Objects, the namespace of each, and a field of its spec that only a policy gives."""


@pytest.mark.parametrize(("resource", "document", "message"), REFUSED, ids=[entry[2][:30] for entry in REFUSED])
def test_what_is_wrong_is_refused_with_our_words(
    address: Address, resource: Resource[Any], document: JsonObject, message: str
) -> None:
    async def main() -> None:
        async with address.connected() as client:
            namespace = "default" if resource.namespaced else None
            with pytest.raises((Invalid, Forbidden)) as refused:
                await client.create(resource.untyped, document, namespace, dry_run=True)
            assert message in refused.value.message

    asyncio.run(main())


def test_pods_with_bad_budgets_are_refused(address: Address) -> None:
    async def main() -> None:
        async with address.connected() as client:
            for value, good in (("2", True), ("50%", True), ("0", False), ("100%", False), ("x", False)):
                try:
                    await client.create(resources.PODS.untyped, with_budget(value), "kube-public", dry_run=True)
                except (Invalid, Forbidden) as refused:
                    assert not good, refused  # noqa: PT017
                    assert f'invalid value <"{value}">' in refused.message  # noqa: PT017
                else:
                    assert good

    asyncio.run(main())


def test_queues_that_must_stay_cannot_be_deleted(address: Address) -> None:
    async def main() -> None:
        async with address.connected() as client:
            for name in ("default", "other"):
                await client.create(resources.QUEUES.untyped, {"metadata": {"name": name}, "spec": {}})
            await client.delete(resources.QUEUES, "other")
            with pytest.raises((Invalid, Forbidden), match="`default` queue can not be deleted"):
                await client.delete(resources.QUEUES, "default")

    asyncio.run(main())


def test_defaults(address: Address) -> None:
    async def main() -> None:
        async with address.connected() as client:
            tasks = [{"replicas": 2, "template": TEMPLATE}, {**TASK, "minAvailable": 1}]
            wanted = named("j", tasks=tasks, plugins={"mpi": ["--master=t"]}, maxRetry=0)
            made = await client.create(resources.JOBS.untyped, wanted, "default", dry_run=True)
            spec = made["spec"]
            assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
                "default",
                "volcano",
                3,
                3,
            )
            assert [(task["name"], task["minAvailable"], task["maxRetry"]) for task in spec["tasks"]] == [
                ("default0", 2, 3),
                ("t", 1, 3),
            ]
            assert spec["plugins"].keys() == {"mpi", "svc", "ssh"}

            annotations = {"volcano.sh/hierarchy": "a/b", "volcano.sh/hierarchy-weights": "1/2"}
            queue = {"metadata": {"name": "q", "annotations": annotations}, "spec": {"weight": 0}}
            with_defaults = await client.create(resources.QUEUES.untyped, queue, dry_run=True)
            assert (with_defaults["spec"]["weight"], with_defaults["spec"]["reclaimable"]) == (1, True)
            assert with_defaults["metadata"]["annotations"] == {
                "volcano.sh/hierarchy": "root/a/b",
                "volcano.sh/hierarchy-weights": "1/1/2",
            }

    asyncio.run(main())


def test_podgroups_go_to_the_queue_of_their_namespace(address: Address) -> None:
    async def main() -> None:
        async with address.connected() as client:
            group = {"metadata": {"name": "g"}, "spec": {"minMember": 1}}
            made = await client.create(resources.PODGROUPS.untyped, group, "team", dry_run=True)
            assert made["spec"]["queue"] == "ml"

    asyncio.run(main())


@pytest.mark.parametrize("own", [{}, {"disk": "fast"}], ids=["no selector", "a selector"])
def test_pods_join_their_resource_group(address: Address, own: dict[str, str]) -> None:
    async def main() -> None:
        async with address.connected() as client:
            wanted = named("p", **TEMPLATE["spec"], nodeSelector=own)
            made = await client.create(resources.PODS.untyped, wanted, "default", dry_run=True)
            assert made["spec"]["schedulerName"] == "other"
            assert made["spec"]["nodeSelector"] == {**own, "pool": "ml", "example.com/x": "1"}
            assert {"key": "ml", "operator": "Exists", "effect": "NoSchedule"} in made["spec"]["tolerations"]
            terms = made["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
            assert terms[0]["weight"] == 5

    asyncio.run(main())


def test_every_policy_compiles_without_a_warning(address: Address) -> None:
    """What the server finds when it checks the types it knows is in the status."""

    async def main() -> None:
        async with address.connected() as client:
            first = registration(validating_policies(SETTINGS)[0])
            for policy in (await client.list(first)).items:
                assert not (policy.get("status") or {}).get("typeChecking", {}).get("expressionWarnings")

    asyncio.run(main())


def test_recorded_objects_are_judged_as_the_rules_judge_them(address: Address) -> None:
    """What the rules refuse is refused, as far as one object tells; what they allow no policy refuses."""
    recorded = questions("*-validate", "*-validate-derived")
    if not recorded:
        pytest.skip("VOLCANO_SHARED does not name a folder with recorded admissions")

    answers = asyncio.run(ask_all(address, recorded))

    refused = {question.id: question.refusal() for question in recorded}
    missed = [name for name, (said, _) in answers.items() if refused[name] and is_covered(refused[name]) and not said]
    too_strict = [name for name, (_, by_policy) in answers.items() if by_policy and not refused[name]]
    agreed = sum(1 for name, (said, _) in answers.items() if refused[name] and said)
    assert (missed, too_strict) == ([], [])
    assert agreed >= 0.7 * sum(1 for message in refused.values() if message)


def test_recorded_objects_get_the_defaults_that_the_rules_give_them(address: Address) -> None:
    recorded = questions("jobs-mutate*", "queues-mutate*")
    if not recorded:
        pytest.skip("VOLCANO_SHARED does not name a folder with recorded admissions")

    async def main() -> tuple[int, dict[str, list[str]]]:
        kept, wrong = 0, {}
        async with address.connected() as client:
            for question in recorded:
                try:
                    found = await stored(client, question)
                except ApiError:
                    continue  # refused by the schema or by a policy, which is asked elsewhere
                kept += 1
                wanted = question.defaults()
                parts = {key: wanted[key] for key in ("spec",) if key in wanted}
                parts["metadata"] = {"annotations": (wanted.get("metadata") or {}).get("annotations")}
                if differences := lacking(parts, found):
                    wrong[question.id] = differences
        return kept, wrong

    kept, wrong = asyncio.run(main())
    assert wrong == {}
    assert kept >= 30


async def ask_all(address: Address, recorded: list[Question]) -> dict[str, tuple[str, bool]]:
    async with address.connected() as client:
        return {question.id: await answered(client, question) for question in recorded}
