"""vcctl schedule: the real engine and job controller on manifests, with an ideal cluster in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from volcano.cli.main import run

CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: predicates}]
"""
Document = dict[str, Any]


def node(name: str, cpu: str = "2") -> Document:
    offer = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": offer, "capacity": offer},
    }


def queue(name: str = "default") -> Document:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}


def group(name: str, members: int, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members, "queue": "default", **spec},
    }


def pod(name: str, of: str, cpu: str = "1", **spec: Any) -> Document:
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {"scheduling.k8s.io/group-name": of}},
        "spec": {"schedulerName": "volcano", "containers": [container], **spec},
        "status": {"phase": "Pending"},
    }


def job(name: str = "train", replicas: int = 2, **spec: Any) -> Document:
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    task = {"name": "w", "replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"queue": "default", "tasks": [task], **spec},
    }


class Desk:
    """Files of one test, and what the command says about them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        (folder / "conf.yaml").write_text(CONF)

    def cycles(self, *documents: Document, flags: tuple[str, ...] = ()) -> list[Document]:
        assert self.status(*documents, flags=("-o", "json", *flags)) == 0
        cycles: list[Document] = json.loads(self.capsys.readouterr().out)["cycles"]
        return cycles

    def status(self, *documents: Document, flags: tuple[str, ...] = ()) -> int:
        path = self.folder / "world.yaml"
        path.write_text(yaml.safe_dump_all(documents))
        return run(["schedule", "-f", str(path), "--scheduler-conf", str(self.folder / "conf.yaml"), *flags])


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def test_a_gang_that_fits_is_placed_in_one_cycle(desk: Desk):
    [cycle] = desk.cycles(node("n1"), queue(), group("g", 2), pod("a", "g"), pod("b", "g"))

    assert cycle["binds"] == {"default/a": "n1", "default/b": "n1"}
    assert sorted(cycle["bindOrder"]) == [["default/a", "n1"], ["default/b", "n1"]]
    assert cycle["tasks"]["default/a"]["node"] == "n1"
    assert cycle["queues"]["default"]["allocated"]["cpu"] == "2"


def test_a_gang_that_does_not_fit_says_why_with_numbers(desk: Desk):
    pods = [pod(name, "g") for name in "abc"]

    [cycle] = desk.cycles(node("n1"), queue(), group("g", 3), *pods)

    assert cycle["binds"] == {}
    reason = cycle["reasons"]["default/g"]
    assert (reason["stage"], reason["need"], reason["have"]) == ("gang", 3, 2)


def test_a_vcjob_passes_admission_and_its_controller_and_then_runs(desk: Desk):
    first, second, third = desk.cycles(node("n1"), queue(), job(), flags=("--cycles", "3"))

    assert first["podgroups"]["default/train-default-train"]["phase"] == "Inqueue"
    assert second["binds"] == {"default/train-w-0": "n1", "default/train-w-1": "n1"}
    assert third["podgroups"]["default/train-default-train"]["phase"] == "Running"
    assert third["tasks"]["default/train-w-0"] == {"status": "Running", "node": "n1"}


def test_two_cycles_are_the_default_where_a_vcjob_needs_them(desk: Desk):
    assert len(desk.cycles(node("n1"), queue(), job())) == 2


def test_nobody_is_told_to_make_pods_that_the_job_controller_makes(desk: Desk):
    assert desk.status(node("n1"), queue(), job(), group("bare", 1)) == 0

    first, second = desk.capsys.readouterr().out.split("Cycle 2")
    assert "what would change it: nothing has to: its pods are made before the next cycle" in first
    assert first.count("create the missing pods") == second.count("create the missing pods") == 1


def test_queues_are_not_invented(desk: Desk):
    [cycle] = desk.cycles(node("n1"), group("g", 1), pod("a", "g"))

    assert cycle["binds"] == {}
    assert "default/g" in cycle["reasons"]


def test_a_vcjob_without_any_queue_finds_the_default_one(desk: Desk):
    _, second = desk.cycles(node("n1"), job(queue=""))

    assert second["binds"] == {"default/train-w-0": "n1", "default/train-w-1": "n1"}
    assert second["queues"].keys() >= {"default"}


def test_a_refused_vcjob_ends_the_command_with_the_rule_and_the_hint(desk: Desk):
    assert desk.status(node("n1"), job(queue="ml")) == 1

    said = desk.capsys.readouterr().err
    assert 'queue.scheduling.volcano.sh "ml" not found' in said
    assert "spec.queue" in said
    assert "give its manifest with -f FILE" in said


def test_the_flags_of_the_scheduler_are_taken(desk: Desk):
    other = pod("a", "g", schedulerName="other")

    [cycle] = desk.cycles(node("n1"), queue(), group("g", 1), other, flags=("--scheduler-name=other",))

    assert cycle["binds"] == {"default/a": "n1"}


def test_the_same_seed_decides_the_same(desk: Desk):
    world = [node(f"n{i}") for i in range(5)] + [queue(), group("g", 2), pod("a", "g"), pod("b", "g")]

    assert desk.cycles(*world, flags=("--seed=7",)) == desk.cycles(*world, flags=("--seed=7",))


def test_the_table_shows_decisions_and_reasons(desk: Desk):
    documents = [node("n1"), queue(), group("g", 1), pod("a", "g"), group("h", 2), pod("b", "h"), pod("c", "h")]

    assert desk.status(*documents) == 0

    said = desk.capsys.readouterr().out
    assert "bind       default/a   n1" in said
    assert "gang: NotEnoughResources (need 2, have 1)" in said
    assert "what would change it: ask for less cpu per pod, wait for room, or add nodes" in said


@pytest.mark.parametrize(
    ("documents", "flags", "words"),
    [
        ([node("n1"), node("n1")], (), "given twice"),
        ([{**node("n1"), "status": 7}], (), "Node n1"),
        ([node("n1")], ("--now=yesterday",), "--now"),
        ([node("n1")], ("--no-such-flag",), "unknown flag: --no-such-flag"),
    ],
)
def test_unusable_input_is_told(desk: Desk, documents: list[Document], flags: tuple[str, ...], words: str):
    assert desk.status(*documents, flags=flags) == 2
    assert words in desk.capsys.readouterr().err


def test_an_unusable_configuration_is_told(desk: Desk):
    (desk.folder / "conf.yaml").write_text("actions: [")

    assert desk.status(node("n1")) == 2
    assert "conf.yaml" in desk.capsys.readouterr().err


FRAGILE = """
from volcano.scheduler.framework.plugin import Plugin, ScoreTerm


class Fragile(Plugin):
    name = "fragile"

    def score_terms(self, profile):
        return (ScoreTerm(lambda profile, rows: 1 / 0),)
"""


def test_a_plugin_that_fails_or_is_not_known_is_told(desk: Desk):
    (desk.folder / "conf.yaml").write_text(CONF.replace("{name: priority}", "{name: fragile}, {name: priorty}"))
    plugins = desk.folder / "plugins"
    plugins.mkdir()
    (plugins / "fragile.py").write_text(FRAGILE)
    flags = (f"--plugins-dir={plugins}", "-o", "json")

    assert desk.status(node("n1"), node("n2"), queue(), group("g", 1), pod("a", "g"), flags=flags) == 0

    said = desk.capsys.readouterr()
    failed, unknown = "ZeroDivisionError: division by zero", "plugin 'priorty' is not known"
    assert failed in said.err
    assert said.err.count(unknown) == 1
    warnings = "\n".join(json.loads(said.out)["warnings"])
    assert failed in warnings
    assert unknown in warnings


@pytest.mark.parametrize("words", [["schedule", "-f", "x.yaml"], ["config", "lint", "x.conf"], ["local", "up"]])
def test_a_folder_of_plugins_that_is_missing_is_named(words: list[str], capsys: pytest.CaptureFixture[str]):
    if words[0] == "schedule":
        words = ["schedule", "-f", str(Path(__file__).parents[2] / "examples" / "what-if.yaml")]

    assert run([*words, "--plugins-dir", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (pod("a", "g", cpu="lots"), "spec.containers[0].resources.requests.cpu"),
        (node("n1", cpu="lots"), "status.allocatable.cpu"),
        ({**queue(), "spec": {"capability": {"cpu": "lots"}}}, "spec.capability.cpu"),
        (group("g", 1, minResources={"cpu": "lots"}), "spec.minResources.cpu"),
    ],
    ids=["pod", "node", "queue", "podgroup"],
)
def test_an_amount_that_is_none_is_refused_as_admission_does(desk: Desk, document: Document, field: str):
    queues = [] if document["kind"] == "Queue" else [queue()]
    assert desk.status(*queues, document) == 1

    schedule = desk.capsys.readouterr().err
    assert run(["validate", "-f", str(desk.folder / "world.yaml")]) == 1
    sentence = next(line for line in desk.capsys.readouterr().out.splitlines() if field in line)
    assert sentence.strip() in schedule
    assert "Traceback" not in schedule
