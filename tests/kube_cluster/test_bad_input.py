"""What a real cluster can have wrong: named in the log, by /readyz, an event and the doctor, and cured by itself."""

from __future__ import annotations

import base64
import datetime
import http.client
import json
import os
import re
import subprocess
import sysconfig
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from tests.kube_cluster import chart, control_plane, crashing, volcano
from tests.kube_cluster.jobs import gang
from tests.waiting import PAUSE_SECONDS, eventually
from volcano.api.resources import HYPERNODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kube_cluster.disturbed import Place

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("recovery"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is a control plane"),
]

SCHEDULER = "volcano.scheduler.daemon.main"
CONTROLLERS = "volcano.controllers.manager"
ACCOUNT = volcano.ACCOUNTS[SCHEDULER]
CRD = f"{HYPERNODES.plural}.{HYPERNODES.group}"


@dataclass(frozen=True)
class Second:
    """Another scheduler or controller manager, which does not lead."""

    place: Place
    health: str

    def readiness(self) -> tuple[int, str]:
        """The status and the words of /readyz; 0 and why where it does not answer in time."""
        try:
            with urllib.request.urlopen(f"http://{self.health}/readyz?verbose", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)

    def says(self, words: str) -> None:
        """By /readyz, and in the log."""
        saying("/readyz", lambda: self.readiness()[1], words)
        saying("the log", lambda: self.place.programs.log("second"), words)

    def is_ready(self) -> None:
        eventually("the second daemon to be ready", lambda: self.readiness()[0] == 200)


@contextmanager
def second_of(
    place: Place, kubeconfig: Path, module: str = SCHEDULER, flags: tuple[str, ...] = crashing.LEASE
) -> Iterator[Second]:
    health = volcano.start_second(place.root, place.programs, module, kubeconfig, *flags)
    try:
        yield Second(place, health)
    finally:
        place.programs.stop("second")


def doctor(place: Place) -> str:
    """What it finds, as lines; what it complains of where it cannot look."""
    vcctl = f"{sysconfig.get_path('scripts')}/vcctl"
    environment = {**os.environ, "KUBECONFIG": str(place.address.kubeconfig)}
    command = [vcctl, "doctor", "-o", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90, check=False)
    if not done.stdout:
        return done.stderr
    found = json.loads(done.stdout)["findings"]
    return "\n".join(f"{each['severity']}: {each['subject']} {each['problem']}" for each in found)


def diagnosed(place: Place, words: str) -> None:
    saying("the doctor", lambda: doctor(place), words, pause=0.5)


def saying(who: str, look: Callable[[], str], words: str, pause: float = PAUSE_SECONDS) -> None:
    """Wait until what is said has these words in it; a failure quotes it."""
    said = ""

    def says() -> bool:
        nonlocal said
        said = look()
        return words in said

    try:
        eventually(f"{who} to say: {words}", says, pause=pause)
    except AssertionError as error:
        error.add_note(f"{who} said at last: {said[-4000:]}")
        raise


def healed(place: Place, words: str) -> None:
    eventually(f"the doctor to find no {words}", lambda: words not in doctor(place), pause=0.5)


def told(place: Place, namespace: str, words: str) -> None:
    """By an event on the scheduler's lease: of a server that could not be asked as soon as it can be."""

    def found() -> bool:
        events = place.kubectl.get("events", "--field-selector=involvedObject.kind=Lease", f"--namespace={namespace}")
        return {each["reason"] for each in events["items"] if words in each["message"]} == {"Waits", "Resumed"}

    eventually(f"an event that says {words}", found, 120)


def ended(place: Place) -> dict[str, str]:
    """The administrator's certificate, as it was signed for a time that is over."""
    pki = place.address.pki
    old = x509.load_pem_x509_certificate(pki.certificate("admin").read_bytes())
    authority = serialization.load_pem_private_key(pki.key("ca").read_bytes(), None)
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(old.issuer, old.subject, old.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=9))
    builder = builder.not_valid_after(now - datetime.timedelta(days=1))
    for extension in old.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    pem = builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)  # type: ignore[arg-type]
    key = pki.key("admin").read_bytes()
    pems = {"client-certificate-data": pem, "client-key-data": key}
    return {field: base64.b64encode(value).decode() for field, value in pems.items()}


def test_a_client_certificate_that_has_ended_and_then_a_second_installation(place: Place) -> None:
    """It waits without a restart until its kubeconfig is renewed. Then it leads, in a namespace of its own."""
    good = place.address.kubeconfig.read_text()
    document = yaml.safe_load(good)
    document["users"][0]["user"] = ended(place)
    kubeconfig = place.root / "ended.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(document))
    flags = (*crashing.LEASE, "--leader-elect-resource-namespace=default", "--scheduler-name=another")
    with second_of(place, kubeconfig, flags=flags) as second:
        second.says("the client certificate ended on ")
        kubeconfig.write_text(good)
        second.is_ready()
        told(place, "default", "the client certificate ended on ")
        diagnosed(place, "error: vc-scheduler leads in 2 namespaces at once: ")
    healed(place, "leads in 2 namespaces")


@pytest.mark.parametrize("renewed", ["authority", "token"])
def test_an_authority_or_a_token_of_another_cluster(place: Place, renewed: str) -> None:
    good = chart.kubeconfig_of(place.address, ACCOUNT).read_text()
    document = yaml.safe_load(good)
    if renewed == "token":
        document["users"][0]["user"] = {"token": "eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjEwMDAwMDAwMDB9.c2lnbmF0dXJl"}
    else:
        authority = base64.b64encode(foreign_authority()).decode()
        document["clusters"][0]["cluster"] = {"server": place.address.server, "certificate-authority-data": authority}
    kubeconfig = place.root / "foreign.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(document))
    with second_of(place, kubeconfig) as second:
        words = "the token ended on 2001-09-09" if renewed == "token" else "certificate verify failed"
        second.says(words)
        kubeconfig.write_text(good)
        second.is_ready()
        told(place, volcano.NAMESPACE, words)


def foreign_authority() -> bytes:
    from volcano.webhooks.certificates import issue

    return issue(["elsewhere"], datetime.datetime.now(datetime.UTC)).authorities


def test_a_verb_that_the_role_lacks(place: Place) -> None:
    role = place.kubectl.get("clusterrole", ACCOUNT)
    rules = [rule for rule in role["rules"] if "nodes" not in rule["resources"]]
    assert rules != role["rules"]
    place.kubectl("patch", "clusterrole", ACCOUNT, "--type=merge", "-p", json.dumps({"rules": rules}))
    words = f'nodes (nodes is forbidden: User "system:serviceaccount:volcano-system:{ACCOUNT}" cannot list'
    try:
        with second_of(place, chart.kubeconfig_of(place.address, ACCOUNT)) as second:
            second.says(words)
            diagnosed(place, f"error: vc-scheduler says: waits for {words}")
            place.kubectl("patch", "clusterrole", ACCOUNT, "--type=merge", "-p", json.dumps({"rules": role["rules"]}))
            second.is_ready()
            healed(place, words)
    finally:
        place.kubectl("patch", "clusterrole", ACCOUNT, "--type=merge", "-p", json.dumps({"rules": role["rules"]}))


def test_a_definition_of_a_newer_version_and_one_that_is_missing(place: Place) -> None:
    """Whoever needs the kind waits; those that run go on, and nobody is restarted."""
    good = next(each for each in chart.parts() if each["metadata"]["name"] == CRD)
    (ours,) = good["spec"]["versions"]
    newer = json.loads(json.dumps(good))
    newer["spec"]["versions"] = [ours | {"served": False, "storage": False}, ours | {"name": "v9"}]
    words = f"hyperNode-controller waits for {CRD} (not served as {HYPERNODES.api_version}: install the CustomResource"
    pids = place.pids()
    replace(place, newer)
    try:
        with second_of(place, chart.kubeconfig_of(place.address, volcano.ACCOUNTS[CONTROLLERS]), CONTROLLERS) as second:
            second.says(words)
            diagnosed(place, f"error: vc-controller-manager says: {words}")
            diagnosed(place, f"error: CRD {CRD} does not serve {ours['name']}")
            diagnosed(place, f"warning: CRD {CRD} has objects stored as v9, which this version does not know")
            place.kubectl("delete", "crd", CRD)
            diagnosed(place, f"error: CRD {CRD} does not exist")
            eventually("the second daemon to be unready", lambda: second.readiness()[0] == 500)
            replace(place, good)
            second.is_ready()
            healed(place, CRD)
    finally:
        place.kubectl("delete", "crd", CRD, "--ignore-not-found")
        replace(place, good)
    place.runs("after-the-definition")
    assert place.pids() == pids


def replace(place: Place, definition: dict[str, Any]) -> None:
    chart.apply(place.address.kubeconfig, [definition], "--force-conflicts")


def test_a_queue_that_is_deleted_under_running_jobs(place: Place) -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "research"}}
    place.kubectl.create(queue | {"spec": {"weight": 1}})
    eventually("the queue to be open", lambda: place.kubectl.get("queue", "research")["status"]["state"] == "Open")
    job = gang("studies", 2, "sleep", "600")
    job["spec"]["queue"] = "research"
    place.kubectl.create(job)
    eventually("the job to run", lambda: place.phase("studies") == "Running")
    place.kubectl(
        "patch", "queue", "research", "--subresource=status", "--type=merge", "-p", '{"status":{"state":"Closed"}}'
    )
    place.kubectl("delete", "queue", "research", "--wait=false")
    try:
        diagnosed(place, "error: queue research does not exist, and podgroup default/studies-")
        eventually(
            "the scheduler to tell", lambda: "queue research does not exist" in place.programs.log("vc-scheduler")
        )
        eventually("an event", lambda: any("queue 'research' does not exist" in words for words in lost_queues(place)))
        assert place.phase("studies") == "Running"
    finally:
        place.kubectl.create(queue | {"spec": {"weight": 1}})
    eventually(
        "the scheduler to go on", lambda: "no job waits for queue research" in place.programs.log("vc-scheduler")
    )
    assert place.phase("studies") == "Running"
    place.kubectl("delete", "vcjob", "studies")
    healed(place, "queue research")


def lost_queues(place: Place) -> list[str]:
    """What events say of queues that are not there."""
    events = place.kubectl.get("events", "--field-selector=reason=QueueNotFound")["items"]
    return [each["message"] for each in events]


def test_a_node_object_that_is_deleted_and_made_again(place: Place) -> None:
    """The node registers itself again; its pods are Kubernetes' own collector's to judge, their job starts anew."""
    place.kubectl.create(gang("stays", 2, "sleep", "600"))
    eventually("the job to run", lambda: place.phase("stays") == "Running")
    place.kubectl("delete", "node", volcano.NODE)
    eventually("the node to be back", lambda: place.kubectl("get", "node", "--ignore-not-found", volcano.NODE).out)
    said = rf"node {volcano.NODE} was deleted with \d+ pods on it"  # those of earlier jobs may still be ending
    [told, *_] = eventually("the scheduler to tell", lambda: re.findall(said, place.programs.log("vc-scheduler")))
    diagnosed(place, f"warning: {told}")
    place.runs("beside", 1)
    place.kubectl("delete", "vcjob", "stays")
