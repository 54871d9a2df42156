"""Pod statuses made from reports: phases, conditions, container states."""

from __future__ import annotations

from tests.local.node.pods import container, container_plan, pod, pod_plan
from tests.local.node.test_lifecycle import Story
from volcano.api.meta import JsonObject
from volcano.local.node.status import Place, failed_status, has_run, pod_status, waiting_status

PLACE = Place("127.0.0.1", "127.1.2.3", "1970-01-01T00:16:40Z")


def shown(story: Story, document: JsonObject | None = None, now: float = 5.0) -> JsonObject:
    document = document or pod(*(container("true", name=c["name"]) for c in story.plan["containers"]))
    return pod_status(document, story.plan, story.report, PLACE, now)


def condition(status: JsonObject, kind: str) -> str:
    return next(c["status"] for c in status["conditions"] if c["type"] == kind)


def test_a_running_pod_is_ready_and_has_an_address() -> None:
    story = Story(pod_plan(container_plan(name="a")))
    story.start("a", 2.0)
    status = shown(story)

    assert status["phase"] == "Running"
    assert status["podIP"] == "127.1.2.3"
    assert condition(status, "Ready") == "True"
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": "1970-01-01T00:00:02Z"}}
    assert status["containerStatuses"][0]["ready"]


def test_exit_codes_decide_between_succeeded_and_failed() -> None:
    for code, phase in ((0, "Succeeded"), (3, "Failed")):
        story = Story(pod_plan(container_plan(name="a"), container_plan(name="b")))
        for name, result in (("a", 0), ("b", code)):
            story.start(name)
            story.end(name, result)
        story.report["finished"] = True
        status = shown(story)

        assert status["phase"] == phase
        assert status["containerStatuses"][1]["state"]["terminated"]["exitCode"] == code
        assert condition(status, "Ready") == "False"


def test_a_container_in_back_off_waits_and_shows_its_last_run() -> None:
    story = Story(pod_plan(container_plan(name="a", restart="Always")))
    for _ in range(2):
        story.start("a")
        story.end("a", 1)
    first = shown(story)["containerStatuses"][0]

    assert first["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert first["state"]["waiting"]["message"].startswith("back-off 10s restarting failed container=a")
    assert first["lastState"]["terminated"]["exitCode"] == 1
    assert shown(story)["phase"] == "Running"


def test_a_pod_in_its_init_containers_is_pending_and_not_initialized() -> None:
    story = Story(pod_plan(container_plan(name="a"), init=(container_plan(name="i"),)))
    story.start("i")
    document = pod(container("true", name="a"), initContainers=[container("true", name="i")])
    status = shown(story, document)

    assert status["phase"] == "Pending"
    assert condition(status, "Initialized") == "False"
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert "running" in status["initContainerStatuses"][0]["state"]


def test_a_deadline_fails_the_pod_with_its_reason() -> None:
    story = Story(pod_plan(container_plan(name="a")))
    story.start("a")
    story.end("a", 0)
    story.report |= {"stopping": "DeadlineExceeded", "finished": True}

    assert shown(story)["phase"] == "Failed"
    assert shown(story)["reason"] == "DeadlineExceeded"


def test_transition_times_change_only_with_the_status() -> None:
    story = Story(pod_plan(container_plan(name="a")))
    story.start("a")
    document = pod(container("true", name="a"))
    document["status"] = shown(story, document, now=5.0)
    document["status"]["conditions"].append({"type": "PodScheduled", "status": "True"})

    later = shown(story, document, now=99.0)

    assert later["conditions"] == document["status"]["conditions"]


def test_refused_and_waiting_pods_say_why() -> None:
    document = pod()
    failed = failed_status(document, PLACE, "OutOfcpu", "too big", 5.0)
    waiting = waiting_status(document, PLACE, "CreateContainerConfigError", "no map", 5.0)

    assert (failed["phase"], failed["reason"], failed["message"]) == ("Failed", "OutOfcpu", "too big")
    assert waiting["phase"] == "Pending"
    assert waiting["containerStatuses"][0]["state"] == {
        "waiting": {"reason": "CreateContainerConfigError", "message": "no map"}
    }
    assert has_run({**document, "status": failed})
    assert not has_run({**document, "status": waiting})
