"""Verdicts on manifests without a cluster, and `vcctl validate` around them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.webhooks.documents import Document, job, queue_document, task
from volcano.api.installed import required_queues
from volcano.cli.main import run
from volcano.webhooks.offline import Result, UnusableObject, validate

DEFAULT = queue_document("default")


def one(document: Document, *existing: Document) -> Result:
    [result] = validate([document], [DEFAULT, *existing])
    return result


def test_an_allowed_job_is_shown_with_everything_it_would_be_stored_with():
    given = job(task(replicas=3), minAvailable=0)
    before = copy.deepcopy(given)

    result = one(given)

    assert result.allowed
    assert result.object is not None
    assert result.object["spec"]["minAvailable"] == 3
    assert result.object["spec"]["tasks"][0]["maxRetry"] == 3
    assert given == before


def test_the_order_of_documents_is_that_of_creation():
    verdicts = [result.allowed for result in validate([job(queue="ml"), queue_document("ml"), job(queue="ml")])]

    assert verdicts == [False, True, True]


def test_a_missing_queue_is_not_invented_and_the_hint_says_what_to_do():
    [result] = validate([job()])

    assert result.message == 'unable to find job queue: queue.scheduling.volcano.sh "default" not found;'
    assert "--with FILE" in result.causes[0].hint


def test_an_object_that_exists_is_updated():
    old = job(task(replicas=3))
    new = job(task(replicas=5), queue="elsewhere")

    result = one(new, old)

    assert result.operation == "UPDATE"
    assert result.message.startswith("job updates may not change fields")
    assert result.causes[0].field == "spec.queue"


@pytest.mark.parametrize(
    ("spec", "field", "hint"),
    [
        ({"minAvaliable": 1}, "spec.minAvaliable", 'did you mean "minAvailable"?'),
        (
            {"tasks": [task(template={"spec": {"containres": []}})]},
            "spec.tasks[0].template.spec.containres",
            "containers",
        ),
    ],
)
def test_unknown_fields_are_named_with_a_suggestion(spec: dict[str, Any], field: str, hint: str):
    result = one(job(**spec))

    assert not result.allowed
    [cause] = [cause for cause in result.causes if cause.field == field]
    assert hint in cause.hint


def test_a_wrong_type_is_the_schemas_to_tell():
    result = one(job(task(replicas="three")))

    assert result.message == (
        'Job.batch.volcano.sh "train" is invalid: spec.tasks[0].replicas: Invalid value: "string": '
        'spec.tasks[0].replicas in body must be of type integer: "string"'
    )


def test_a_kind_of_another_version_is_told_where_it_is():
    result = one({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PriorityClass", "metadata": {"name": "p"}})

    assert result.message == 'no matches for kind "PriorityClass" in version "scheduling.k8s.io/v1beta1"'
    assert result.causes[0].hint == "PriorityClass exists in scheduling.k8s.io/v1"


def test_existing_objects_must_be_usable():
    with pytest.raises(UnusableObject, match="Queue 'bad'"):
        validate([job()], [queue_document("bad", weight="heavy")])


def written(folder: Path, *documents: Document) -> str:
    path = folder / f"{len(list(folder.iterdir()))}.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def test_the_command_ends_with_0_1_or_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    queue, good, bad = written(tmp_path, DEFAULT), written(tmp_path, job()), written(tmp_path, job(tasks=[]))
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [")

    assert run(["validate", "-f", good, "--with", queue]) == 0
    assert run(["validate", "-f", good, "-f", bad, "--with", queue]) == 1
    assert "No task specified in job spec" in capsys.readouterr().out
    assert run(["validate", "-f", str(broken)]) == 2
    assert run(["validate", "-f", str(tmp_path / "gone.yaml")]) == 2
    said = capsys.readouterr().err
    assert "broken.yaml" in said
    assert "gone.yaml" in said


def test_the_command_knows_the_queues_that_every_installation_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    unnamed = written(tmp_path, {**job(), "spec": {"tasks": [task()]}})
    others = written(tmp_path, queue_document("ml"))

    assert run(["validate", "-f", unnamed]) == 0
    assert run(["validate", "-f", written(tmp_path, job(queue="root"))]) == 1
    assert "can not submit job to root queue" in capsys.readouterr().out
    assert run(["validate", "-f", unnamed, "--with", others]) == 1
    assert 'queue.scheduling.volcano.sh "default" not found' in capsys.readouterr().out


def test_a_queue_that_is_assumed_is_still_created_when_it_is_given():
    [result] = validate([DEFAULT], assumed=required_queues())

    assert (result.operation, result.allowed) == ("CREATE", True)


def test_the_command_reads_standard_input_and_writes_json(tmp_path: Path):
    from volcano.cli.validate import validate as command

    manifest = yaml.safe_dump_all([DEFAULT, job(queue="nowhere")])

    outcome = CliRunner().invoke(command, ["-f", "-", "-o", "json"], input=manifest, standalone_mode=False)

    assert outcome.return_value == 1
    results = json.loads(outcome.output)["results"]
    assert [result["allowed"] for result in results] == [True, False]
    assert results[1]["causes"][0]["field"] == "spec.queue"
