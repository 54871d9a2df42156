"""Pods and job plugins against recorded ones: what a pod says, what plugins add, what they keep beside the job."""

from __future__ import annotations

import copy
import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from tests.corpus.controller_records import Document, argument, names_written, plain, pruned, typed
from tests.corpus.loader import Record, cases, parameters
from volcano.api import keys
from volcano.api.batch import Job, TaskSpec
from volcano.controllers.job.plugins import builtin_factories, builtin_plugins
from volcano.controllers.job.plugins.hcclrank import first_value
from volcano.controllers.job.plugins.interface import JobPlugin, PluginError, marker
from volcano.controllers.job.plugins.pytorch import PyTorch
from volcano.controllers.job.plugins.ssh import Ssh, client_config
from volcano.controllers.job.pods import Draft, base

BUILT = [case for area in ("job-createpod", "job-createpod-*") for case in cases("controllers", area)]
PLUGIN_CALLS = [case for area in ("job-plugin-*", "job-plugins*") for case in cases("controllers", area)]
SHAPED = [case for case in PLUGIN_CALLS if case[1]["function"].lower().endswith("onpodcreate")]
ATTACHED = [case for case in PLUGIN_CALLS if case[1]["function"].lower().endswith("onjobadd")]
DETACHED = [case for case in PLUGIN_CALLS if case[1]["function"].lower().endswith("onjobdelete")]
SEEN = {case[0] for case in (*SHAPED, *ATTACHED, *DETACHED)}
UNITS = [case for case in PLUGIN_CALLS if case[0] not in SEEN]


@pytest.mark.parametrize("record", parameters(BUILT))
def test_pod(record: Record) -> None:
    template = argument(record, "template")
    task = typed(argument(record, "ts"), TaskSpec)
    task.name = template["metadata"]["name"]  # upstream names the template after the task before this call
    task.template = template
    job = typed(argument(record, "job"), Job)

    pod = base(job, task, forwarding=argument(record, "jobForwarding")).finish().document(argument(record, "ix"))

    assert comparable(pod) == comparable(record["output"]["results"][0])


@pytest.mark.parametrize("record", parameters(SHAPED))
def test_shape(record: Record) -> None:
    if argument(record, "job") is None:
        pytest.skip("no pod is shaped without its job")
    job = typed(argument(record, "job"), Job)
    given: Document = argument(record, "pod")
    index = index_of(given)
    draft = Draft(job, task_of(job, given), copy.deepcopy(given))
    if "-" not in draft.name:
        draft.index = ""  # upstream reads the index off the name
    elif draft.name.endswith(f"-{index}"):
        draft.pod["metadata"]["name"] = draft.name.removesuffix(str(index)) + draft.index

    with refusal(record):
        for plugin in plugins_of(record, job):
            plugin.shape(draft)

    expected = (record["output"].get("argsAfter") or {}).get("pod") or given
    assert comparable(draft.finish().document(index)) == comparable(expected)


@pytest.mark.parametrize("record", parameters(ATTACHED))
def test_attachments(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    before = dict(job.status.controlled_resources)
    kept, markers = [], dict(before)
    with refusal(record):
        for plugin in plugins_of(record, job):
            if marker(plugin) not in before:
                kept += plugin.attachments(job)
                markers |= {marker(plugin): plugin.name} if plugin.is_marked else {}

    created = [write["object"] for write in record["output"].get("writes") or [] if write["verb"] == "create"]
    assert by_kind(attachment.manifest for attachment in kept) == by_kind(created)
    after = (record["output"].get("argsAfter") or {}).get("job") or argument(record, "job")
    assert markers == ((after.get("status") or {}).get("controlledResources") or {})


@pytest.mark.parametrize("record", parameters(DETACHED))
def test_leftovers(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    marked = []
    with refusal(record):
        marked = [plugin for plugin in plugins_of(record, job) if marker(plugin) in job.status.controlled_resources]

    gone = {(reference.kind, reference.name) for plugin in marked for reference in plugin.leftovers(job)}

    plurals = {
        "ConfigMap": "configmaps",
        "Secret": "secrets",
        "Service": "services",
        "NetworkPolicy": "networkpolicies",
    }
    for kind, plural in plurals.items():
        assert {name for found, name in gone if found == kind} == names_written(record, "delete", plural)


@pytest.mark.parametrize("record", parameters(UNITS))
def test_unit(record: Record) -> None:
    results = record["output"].get("results")
    match record["function"].rpartition(".")[2]:
        case "OnJobUpdate":
            job = typed(argument(record, "job"), Job)
            assert [item for plugin in plugins_of(record, job) for item in plugin.refreshed(job)] == []
        case "getEnv":
            pod = argument(record, "pod")
            assert first_value(pod["spec"]["containers"], argument(record, "envName")) == results[0]
        case "generateWaitForMasterScript":
            plugin = PyTorch(record["input"]["plugin"]["arguments"])
            assert plugin.wait_script(argument(record, "masterAddr")) == results[0]
        case "generateSSHConfig":
            job = typed(argument(record, "job"), Job)
            assert client_config(job, argument(record, "port")) == results[0]
        case "validateSSHPort":
            recorded = record["input"]["plugin"]
            valid = 1 <= recorded["settings"]["sshPort"] <= 65535
            assert Ssh(recorded["arguments"]).port == (recorded["settings"]["sshPort"] if valid else 22)
        case other:
            pytest.skip(f"{other} is internal to upstream's plugin")


def refusal(record: Record) -> AbstractContextManager[Any]:
    """What the recorded call failed with, ours must fail with as well."""
    error = record["output"].get("error")
    return pytest.raises(PluginError, match=re.escape(error)) if error else nullcontext()


def plugins_of(record: Record, job: Job) -> list[JobPlugin]:
    recorded = record["input"].get("plugin")
    if recorded is None:
        return builtin_plugins().of(job)
    plugin = builtin_factories()[recorded["name"]](recorded["arguments"] or ())
    settings = recorded.get("settings") or {}
    for ours, theirs in (("master", "masterName"), ("worker", "workerName"), ("port", "port")):
        if theirs in settings and hasattr(plugin, ours):
            setattr(plugin, ours, settings[theirs])  # upstream's tests fill the fields behind the flags
    if recorded["name"] == "ray":
        vars(plugin).update(
            head=settings["headName"],
            head_container=settings["headContainerName"],
            worker_container=settings["workerContainerName"],
            dashboard_port=settings["dashboardPort"],
            client_port=settings["clientPort"],
        )
    if recorded["name"] == "ssh":
        vars(plugin).update(private_key=settings["sshPrivateKey"], public_key=settings["sshPublicKey"])
        vars(plugin).update(path=settings["sshKeyFilePath"], port=settings["sshPort"])
    if recorded["name"] == "tensorflow":
        plugin.task_of_role = {role: settings[f"{role}Name"] for role in plugin.task_of_role}  # type: ignore[attr-defined]
    return [plugin]


def index_of(pod: Document) -> int:
    meta = pod["metadata"]
    text = (meta.get("labels") or {}).get(keys.TASK_INDEX) or meta["name"].rpartition("-")[2]
    return int(text) if text.isdecimal() else 0


def task_of(job: Job, pod: Document) -> TaskSpec:
    name = (pod["metadata"].get("annotations") or {}).get(keys.TASK_SPEC, "")
    return next((task for task in job.spec.tasks if task.name == name), TaskSpec(name=name))


def by_kind(documents: Any) -> dict[tuple[str, str], Any]:
    found = {}
    for document in documents:
        document = pruned(plain(document))
        document.pop("status", None)
        if document["kind"] == "Secret":  # keys are drawn at creation
            document["data"] = {"config": document["data"]["config"]}
        found[document["kind"], document["metadata"]["name"]] = document
    return found


def comparable(pod: Document) -> Document:
    """Plugins' entries in any order (upstream's is random), drawn volume names replaced."""
    pod = pruned(rename_drawn_volumes(copy.deepcopy(pod)))
    for group in ("containers", "initContainers"):
        for container in (pod.get("spec") or {}).get(group) or []:
            for entries in ("env", "volumeMounts", "ports"):
                if entries in container:
                    container[entries] = sorted(container[entries], key=lambda item: str(sorted(item.items(), key=str)))
    spec = pod.get("spec") or {}
    if "volumes" in spec:
        spec["volumes"] = sorted(spec["volumes"], key=lambda volume: str(sorted(volume.items(), key=str)))
    return pod


def rename_drawn_volumes(pod: Document) -> Document:
    names = {
        volume["name"]: f"claim of {volume['persistentVolumeClaim']['claimName']}"
        for volume in (pod.get("spec") or {}).get("volumes") or []
        if re.search(r"-[0-9a-z]{12}$", volume["name"]) and "persistentVolumeClaim" in volume
    }
    for volume in (pod.get("spec") or {}).get("volumes") or []:
        volume["name"] = names.get(volume["name"], volume["name"])
    for container in (pod.get("spec") or {}).get("containers") or []:
        for mount in container.get("volumeMounts") or []:
            mount["name"] = names.get(mount["name"], mount["name"])
    return pod
