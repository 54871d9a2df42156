"""What is submitted for what is asked: jobs as documents, without any cluster."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kubernetes.client import V1Container, V1PodSpec, V1PodTemplateSpec
from lightkube.models import core_v1, meta_v1

from tests.sdk import work
from volcano.api import keys
from volcano.api.batch import Job, JobSpec, TaskSpec
from volcano.api.meta import ObjectMeta
from volcano.sdk.errors import SdkError, WrongArgument
from volcano.sdk.flow import Flow, plan_flow
from volcano.sdk.planning import Place, plan, plan_map

HERE = Place(local=True)
CLUSTER = Place(local=False, namespace="team")


def spec_of(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["tasks"][0]["template"]["spec"]
    return spec


def container_of(job: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = spec_of(job)["containers"][0]
    return container


def test_a_command_line_goes_through_the_shell_and_words_do_not() -> None:
    assert container_of(plan("echo $HOME", (), {}, HERE).job)["command"] == ["sh", "-c", "echo $HOME"]
    assert container_of(plan(["echo", "$HOME"], ("x",), {}, HERE).job)["command"] == ["echo", "$HOME", "x"]


def test_a_gang_starts_whole_and_ends_whole() -> None:
    spec = plan("train", (), {"nodes": 4}, HERE).job["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["replicas"]) == (4, 4)
    assert spec["policies"] == [{"event": "PodFailed", "action": "TerminateJob"}]
    assert set(spec["plugins"]) == {"env", "svc"}
    assert "minSuccess" not in spec


def test_an_elastic_gang_outlives_members() -> None:
    spec = plan("train", (), {"nodes": 4, "min_nodes": 2}, HERE).job["spec"]
    assert spec["minAvailable"] == 2
    assert "policies" not in spec


def test_an_array_says_how_many_of_it_run_at_once() -> None:
    job = plan("task", (), {"array": 10, "at_once": 4}, HERE).job

    assert job["metadata"]["annotations"] == {"volcano.sh/at-once": "4"}


def test_the_members_of_an_array_are_independent_and_all_must_succeed() -> None:
    spec = plan("task", (), {"array": 10, "retries": 2}, HERE).job["spec"]
    assert (spec["minAvailable"], spec["minSuccess"], spec["maxRetry"]) == (1, 10, 21)
    assert spec["policies"] == [{"event": "PodFailed", "action": "RestartPod"}]


def test_wishes_arrive_where_they_belong() -> None:
    options: Any = {
        "name": "train",
        "queue": "ml",
        "priority": "high",
        "cpu": 2,
        "memory": "4Gi",
        "gpus": 1,
        "time_limit": datetime.timedelta(minutes=5),
        "ttl": "1h",
        "env": {"A": "b"},
        "labels": {"team": "x"},
        "annotations": {"note": "y"},
        "after": ["one", plan("x", (), {"name": "two"}, HERE)],
        "on_eviction": "fail",
        "plugins": {"pytorch": ["--port=1"]},
    }
    job = plan("run", (), options, HERE).job
    spec = job["spec"]
    assert job["metadata"]["labels"] == {"team": "x"}
    assert job["metadata"]["annotations"] == {"note": "y", keys.AFTER: "afterok:one:two"}
    assert (spec["queue"], spec["priorityClassName"], spec["ttlSecondsAfterFinished"]) == ("ml", "high", 3600)
    assert spec_of(job)["activeDeadlineSeconds"] == 300
    assert container_of(job)["resources"]["requests"] == {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "1"}
    assert container_of(job)["resources"]["limits"] == {"nvidia.com/gpu": "1"}  # without, no API server takes it
    assert {"name": "A", "value": "b"} in container_of(job)["env"]
    assert {"event": "PodEvicted", "action": "TerminateJob"} in spec["policies"]
    assert spec["plugins"]["pytorch"] == ["--port=1"]


def test_a_function_runs_in_this_interpreter_here_and_in_an_image_elsewhere() -> None:
    here, there = plan(work.square, (2,), {}, HERE), plan(work.square, (2,), {}, CLUSTER)
    assert container_of(here.job)["command"][0] == sys.executable
    assert {entry["name"] for entry in container_of(here.job)["env"]} == {"PYTHONPATH"}
    assert container_of(there.job)["command"][0] == "python3"
    assert container_of(there.job)["image"].startswith("python:3.")
    assert "workingDir" not in container_of(there.job)
    secret = there.secret()
    assert secret is not None
    assert secret["metadata"] == {"name": f"{there.name}-files", "namespace": "team"}
    assert spec_of(there.job)["volumes"][0]["secret"]["secretName"] == f"{there.name}-files"


def test_a_script_travels_to_a_cluster_and_stays_here(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("print(1)")
    assert container_of(plan(script, ("--fast",), {}, HERE).job)["command"] == [sys.executable, str(script), "--fast"]
    there = plan(script, (), {}, CLUSTER)
    assert container_of(there.job)["command"] == ["python3", "/volcano/train.py"]
    assert there.files == {"train.py": b"print(1)"}


def test_a_script_is_run_by_what_its_first_line_says(tmp_path: Path) -> None:
    script = tmp_path / "train"
    script.write_text("#!/usr/bin/env bash\n")
    assert container_of(plan(script, (), {}, HERE).job)["command"][:2] == ["/usr/bin/env", "bash"]


@pytest.mark.parametrize(
    "template",
    [
        {"spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "x", "image": "mine", "tty": True}]}},
        V1PodTemplateSpec(
            spec=V1PodSpec(node_selector={"disk": "ssd"}, containers=[V1Container(name="x", image="mine", tty=True)])
        ),
        core_v1.PodTemplateSpec(
            metadata=meta_v1.ObjectMeta(),
            spec=core_v1.PodSpec(
                nodeSelector={"disk": "ssd"}, containers=[core_v1.Container(name="x", image="mine", tty=True)]
            ),
        ),
    ],
    ids=["document", "kubernetes", "lightkube"],
)
def test_templates_of_other_libraries_are_built_upon(template: Any) -> None:
    job = plan("run", (), {"template": template, "env": {"A": "b"}}, CLUSTER).job
    assert spec_of(job)["nodeSelector"] == {"disk": "ssd"}
    assert container_of(job)["image"] == "mine"
    assert container_of(job)["tty"] is True
    assert container_of(job)["env"] == [{"name": "A", "value": "b"}]


@pytest.mark.parametrize(
    "given",
    [
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {tasks: [{name: t, future: 1}]}",
        {"metadata": {"name": "a"}, "spec": {"tasks": [{"name": "t", "future": 1}]}},
        Job(metadata=ObjectMeta(name="a"), spec=JobSpec(tasks=[TaskSpec(name="t")])),
    ],
    ids=["yaml", "document", "typed"],
)
def test_a_whole_job_is_taken_as_it_is(given: Any) -> None:
    job = plan(given, (), {"queue": "ml", "labels": {"a": "b"}}, CLUSTER).job
    head = job["metadata"]
    assert (head["name"], head["namespace"], head["labels"]) == ("a", "team", {"a": "b"})
    assert job["spec"]["queue"] == "ml"
    if not isinstance(given, msgspec.Struct):
        assert job["spec"]["tasks"][0]["future"] == 1


@pytest.mark.parametrize(
    ("work_", "options", "message"),
    [
        ("x", {"node": 2}, "node is no option: did you mean nodes"),
        ("x", {"nodes": 2, "array": 2}, "give one of them"),
        ("x", {"at_once": 2}, "give both"),
        ("x", {"array": 3, "at_once": 0}, "at least 1"),
        ("x", {"nodes": 0}, "at least 1"),
        ("x", {"nodes": 2, "min_nodes": 3}, "between 1 and nodes=2"),
        ("x", {"on_eviction": "cry"}, "say 'restart' or 'fail'"),
        ("  ", {}, "the command is empty"),
        ({"kind": "Queue", "apiVersion": "scheduling.volcano.sh/v1beta1"}, {}, "expected one batch.volcano.sh"),
        ({"metadata": {"name": "a"}, "spec": {}}, {"cpu": 1}, "given whole already says that"),
        ("x", {"time_limit": "abc"}, "invalid time 'abc'"),
        (Path("missing.yaml"), {}, "missing.yaml"),
        (42, {}, "a int is no object of the API"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(work_: Any, options: Any, message: str) -> None:
    with pytest.raises((TypeError, WrongArgument), match=message):
        plan(work_, (), options, HERE)


def test_wrong_arguments_are_errors_of_the_package_and_of_python() -> None:
    assert issubclass(WrongArgument, SdkError)
    assert issubclass(WrongArgument, ValueError)


def test_map_needs_items() -> None:
    with pytest.raises(ValueError, match="nothing to map"):
        plan_map(work.square, [], {}, HERE)


def test_a_flow_has_a_template_for_each_step_and_their_order() -> None:
    flow = Flow("etl")
    load = flow.add(work.rank, name="load")
    flow.add("train", name="train", after=[load], nodes=2)

    planned = plan_flow(flow, CLUSTER)

    first, second = planned.flow["spec"]["flows"]
    assert second == {"name": second["name"], "dependsOn": {"targets": [first["name"]]}}
    assert [template["metadata"]["name"] for template in planned.templates] == [first["name"], second["name"]]
    assert first["name"].startswith("load-")
    assert planned.templates[1]["spec"]["tasks"][0]["replicas"] == 2


def test_flows_refuse_strangers_twins_and_emptiness() -> None:
    flow = Flow("etl")
    with pytest.raises(ValueError, match="has no steps"):
        plan_flow(flow, HERE)
    flow.add(work.rank)
    with pytest.raises(ValueError, match="has a step rank already"):
        flow.add(work.rank)
    with pytest.raises(ValueError, match="name steps of flow etl"):
        flow.add(work.square, after=[Flow("other").add(work.rank)])
