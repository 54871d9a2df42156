"""From pods to plans: commands, mounts, rewriting where there are no namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.node.pods import container, facts, pod
from volcano.api.meta import JsonObject
from volcano.local.node.layout import Layout
from volcano.local.node.plan import Machine, make_plan
from volcano.local.node.rewriting import rewrite
from volcano.local.node.sources import PlanError, Sources
from volcano.local.node.supervisor.documents import Mount, PodPlan

LAYOUT = Layout(Path("/data"))


def planned(document: JsonObject, *, isolate: bool = True) -> PodPlan:
    return make_plan(document, facts(document), Sources(), Machine(LAYOUT, {"PATH": "/bin"}, isolate), 1000.0)


def test_command_and_args_join_and_expand() -> None:
    plan = planned(pod(container("echo", "$(WHO)", args=["$(HOSTNAME)"], env=[{"name": "WHO", "value": "me"}])))

    assert plan["containers"][0]["argv"] == ["echo", "me", "p"]


def test_an_image_without_command_is_refused_with_advice() -> None:
    with pytest.raises(PlanError, match=r"container 'main' has no command.*volcano.sh/simulate") as caught:
        planned(pod(container()))

    assert caught.value.reason == "NeedsContainerRuntime"
    assert caught.value.is_final


def test_who_gave_args_for_a_command_is_told_so() -> None:
    with pytest.raises(
        PlanError, match=r'has args and no command.*set spec.containers\[\].command \("kubectl run" does with'
    ):
        planned(pod(container(args=["echo", "hi"])))


def test_times_and_policies_come_from_the_spec() -> None:
    plan = planned(pod(restartPolicy="OnFailure", activeDeadlineSeconds=60, terminationGracePeriodSeconds=0))

    assert plan["deadline_at"] == 1060.0
    assert plan["grace_seconds"] == 0.0
    assert plan["containers"][0]["restart"] == "OnFailure"


def test_mounts_lead_to_the_pod_folder_and_hosts_to_the_namespace() -> None:
    main = container("true", volumeMounts=[{"name": "v", "mountPath": "/cache/", "subPath": "a", "readOnly": True}])
    plan = planned(pod(main, volumes=[{"name": "v", "emptyDir": {}}]))

    assert plan["containers"][0]["mounts"] == [
        {"source": "/data/pods/u1/volumes/v/a", "target": "/cache", "read_only": True},
        {"source": "/data/hosts/default", "target": "/etc/hosts", "read_only": True},
    ]


def test_without_namespaces_mount_paths_are_replaced_where_they_are_named() -> None:
    main = container(
        "sh",
        "-c",
        "cat /etc/volcano/ps.host > /etc/volcano-other",
        env=[{"name": "CONF", "value": "/etc/volcano"}],
        workingDir="/etc/volcano/sub",
        volumeMounts=[{"name": "v", "mountPath": "/etc/volcano"}],
    )
    plan = planned(pod(main, volumes=[{"name": "v", "emptyDir": {}}]), isolate=False)["containers"][0]

    assert plan["argv"][2] == "cat /data/pods/u1/volumes/v/ps.host > /etc/volcano-other"
    assert plan["env"]["CONF"] == "/data/pods/u1/volumes/v"
    assert plan["env"]["VOLCANO_VOLUME_V"] == "/data/pods/u1/volumes/v"
    assert plan["folder"] == "/data/pods/u1/volumes/v/sub"
    assert plan["mounts"] == []


def test_the_longest_mount_path_wins() -> None:
    mounts: list[Mount] = [
        {"source": "/x", "target": "/a", "read_only": False},
        {"source": "/y", "target": "/a/b", "read_only": False},
    ]

    assert rewrite("/a/b/c:/a/c /b/a", mounts) == "/y/c:/x/c /b/a"


def test_an_unknown_volume_and_a_bad_sub_path_are_refused() -> None:
    with pytest.raises(PlanError, match=r"mounts volume 'v', which is not in spec\.volumes"):
        planned(pod(container("true", volumeMounts=[{"name": "v", "mountPath": "/v"}])))
    main = container("true", volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "../x"}])
    with pytest.raises(PlanError, match="must not contain"):
        planned(pod(main, volumes=[{"name": "v", "emptyDir": {}}]))


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_names_never_lead_out_of_the_data_folder(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a folder"):
        LAYOUT.pod(name)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (pod(container("echo", "a\0b")), "command or args"),
        (pod(container("echo", env=[{"name": "A", "value": "\0"}])), "env"),
        (pod(container("echo", workingDir="/a\0")), "workingDir"),
        (pod(container("echo", livenessProbe={"exec": {"command": ["\0"]}})), "probes"),
        (pod(container("echo", lifecycle={"preStop": {"exec": {"command": ["\0"]}}})), "lifecycle.preStop"),
    ],
)
def test_a_nul_byte_fails_the_pod_and_names_its_place(document: JsonObject, field: str) -> None:
    with pytest.raises(PlanError, match=f"container 'main': {field} holds a NUL byte") as caught:
        planned(document)

    assert caught.value.is_final
