"""Others in the way of the daemons: they write the same objects, the server has no time for us, a kind is away."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster.background import Background
from tests.kube_cluster.chart import ACCOUNTS, NAMESPACE
from tests.kube_cluster.jobs import gang
from tests.waiting import eventually
from volcano.api.resources import JOBS, PODGROUPS, PODS
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, Conflict, NotFound
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from tests.kube_cluster.sites import Members, Site
    from volcano.api.resources import Resource

pytestmark = pytest.mark.xdist_group("clusters")

MEDDLED = (JOBS, PODGROUPS, PODS)
PATIENT = 4
TURNED_AWAY = 5
BUS = "bus.volcano.sh/v1alpha1"
COMMANDS = "commands.bus.volcano.sh"


class Meddler(Background):
    """Writes every object of a namespace anew, again and again, with a number that counts up."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.tried: Counter[tuple[str, str]] = Counter()
        self.written: dict[tuple[str, str], int] = {}
        self.conflicts = 0
        self._site = site

    async def _work(self) -> None:
        client = Client(HttpTransport(config.load(str(self._site.kubectl.kubeconfig))))
        try:
            while not self._stop.is_set():
                for kind in MEDDLED:
                    with suppress(ApiError, OSError, TimeoutError):
                        for found in (await client.list(kind.untyped, self._site.namespace)).items:
                            await self._write(client, kind, found)
        finally:
            await client.close()

    async def _write(self, client: Client, kind: Resource[Any], found: dict[str, Any]) -> None:
        key = kind.plural, found["metadata"]["name"]
        self.tried[key] += 1
        number = self.tried[key]
        found["metadata"].setdefault("annotations", {})["meddler"] = str(number)
        with suppress(NotFound):
            try:
                await client.update(kind.untyped, found)
            except Conflict:
                self.conflicts += 1
                return
            self.written[key] = number


def test_nobody_loses_what_another_wrote(site: Site) -> None:
    meddler = Meddler(site)
    with meddler.running():
        names: list[str] = []
        while not names or meddler.conflicts == 0:
            names += [f"job-{number}" for number in range(len(names), len(names) + 3)]
            site.kubectl.create(*(gang(name, 3, "sleep", "1") for name in names[-3:]))
            eventually("the jobs to complete", lambda made=tuple(names): all_complete(site, made), 200)

    assert "jobs" in {plural for plural, _ in meddler.written}
    for name in names:
        job = site.kubectl.get("vcjob", name)
        number = int((job["metadata"].get("annotations") or {}).get("meddler", 0))
        assert number >= meddler.written.get(("jobs", name), 0)  # more, where a write without an answer has arrived
        assert (job["status"]["succeeded"], job["status"].get("retryCount", 0)) == (3, 0)


def all_complete(site: Site, names: tuple[str, ...]) -> bool:
    return all(site.phase(name) == "Completed" for name in names)


@pytest.fixture
def members(site: Site) -> Members:
    if site.members is None:
        pytest.skip("local mode has neither priorities among clients nor kinds that may go")
    return site.members


def test_a_server_that_turns_most_requests_away_is_asked_again(site: Site, members: Members) -> None:
    subjects = [
        {"kind": "ServiceAccount", "serviceAccount": {"name": name, "namespace": NAMESPACE}} for name in ACCOUNTS
    ]
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    limited = {"nominalConcurrencyShares": 0, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"}}
    level = flow_control("PriorityLevelConfiguration", {"type": "Limited", "limited": limited})
    schema = flow_control(
        "FlowSchema",
        {
            "matchingPrecedence": 2,
            "priorityLevelConfiguration": {"name": "busy"},
            "rules": [{"subjects": subjects, "resourceRules": [everything]}],
        },
    )
    site.kubectl.create(level, schema)
    try:
        site.kubectl.create(*(gang(f"patient-{number}", 2) for number in range(PATIENT)))
        eventually("many requests to be turned away", lambda: turned_away(members) >= TURNED_AWAY)
    finally:
        site.kubectl("delete", "flowschema,prioritylevelconfiguration", "busy")

    eventually("the jobs to run", lambda: {site.phase(f"patient-{number}") for number in range(PATIENT)} == {"Running"})
    assert len(site.pods()) == 2 * PATIENT


def flow_control(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "busy"},
        "spec": spec,
    }


def turned_away(members: Members) -> int:
    """How many requests of our daemons the server has answered with 429."""
    counts = re.findall(
        r'^apiserver_flowcontrol_rejected_requests_total\{flow_schema="busy".*\} (\d+)$',
        members.address.get("/metrics") or "",
        re.MULTILINE,
    )
    return sum(map(int, counts))


def test_a_kind_that_goes_and_comes_back_is_found_again(site: Site, members: Members) -> None:
    site.kubectl.create(gang("before", 2))
    eventually("the job to run", lambda: site.phase("before") == "Running")
    definition = site.kubectl.get("crd", COMMANDS)
    site.kubectl("delete", "crd", COMMANDS, "--timeout=90s")
    commands = f"/apis/{BUS}/namespaces/{site.namespace}/commands"
    eventually("the kind to be gone", lambda: "NotFound" in site.kubectl.run("get", "--raw", commands).err)
    site.job("suspend", "before", fails=True)

    site.kubectl.create({**definition, "metadata": {"name": COMMANDS}, "status": {}})
    site.kubectl("wait", "--for=condition=Established", f"crd/{COMMANDS}", "--timeout=90s")
    eventually("the kind to be served", lambda: suspended(site, "before"))

    eventually("the job to be suspended", lambda: site.phase("before") == "Aborted")


def suspended(site: Site, job: str) -> bool:
    """Say that the job is to be suspended, to a server that may not know how to take it yet."""
    try:
        site.job("suspend", job)
    except AssertionError:
        return False
    return True
