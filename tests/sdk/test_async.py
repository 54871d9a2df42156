"""The asynchronous client: the same core, awaited. And clients in the situations programs are in."""

from __future__ import annotations

import asyncio
import datetime
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.sdk import work
from tests.waiting import eventually
from volcano.api.resources import CRON_JOBS
from volcano.kube.errors import Forbidden, NotFound
from volcano.sdk import AsyncClient, AsyncJob, Client, Failed, Flow, Job, NoCluster
from volcano.sdk.portal import Portal


def test_jobs_are_awaited(kubeconfig: Path) -> None:
    async def main() -> None:
        async with AsyncClient(str(kubeconfig)) as client:
            first, second = await asyncio.gather(client.submit(work.square, 3), client.map(work.square, range(3)))
            assert await first == 9
            assert await second.result(100) == [0, 1, 4]
            failing = await client.submit("exit 2")
            with pytest.raises(Failed):
                await failing
            finished = [job async for job in client.as_completed([first, second, failing])]
            assert set(finished) == {first, second, failing}
            lines = [line.text async for line in (await client.submit("echo said")).logs(follow=True)]
            assert lines == ["said"]

    asyncio.run(main())


@pytest.mark.parametrize(("sync", "asynchronous"), [(Client, AsyncClient), (Job, AsyncJob)])
def test_twins_have_the_same_verbs_and_arguments(sync: type, asynchronous: type) -> None:
    """Each public method of the asynchronous one is there, with its parameters."""
    for name, method in inspect.getmembers(asynchronous, inspect.isfunction):
        if name.startswith("_"):
            continue
        twin = getattr(sync, name)
        assert inspect.signature(twin).parameters.keys() == inspect.signature(method).parameters.keys(), name


def test_a_flow_runs_in_order(client: Client, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    flow = Flow("etl")
    first = flow.add(f"sleep 0.3; echo first >> {trace}", name="first")
    flow.add(f"echo second >> {trace}", name="second", after=[first])
    flow.add(work.square, 6, name="compute", after=[first])

    run = client.run(flow)
    run.wait(120)

    assert trace.read_text() == "first\nsecond\n"
    assert run["compute"].result(100) == 36
    assert run.phase() == "Succeed"
    with pytest.raises(KeyError, match="there are first, second, compute"):
        run["third"]


def test_a_flow_fails_with_what_its_step_failed_with(client: Client) -> None:
    flow = Flow("broken")
    flow.add(work.refuse, 5, after=[flow.add("true", name="fine")])
    with pytest.raises(LookupError, match="no 5 here"):
        client.run(flow).wait(120)


def test_a_schedule_is_kept_suspended_resumed_and_removed(client: Client) -> None:
    cron = client.schedule("0 3 * * *", work.square, 2, time_zone="Europe/Berlin", name="nightly")
    assert cron.jobs() == []
    api, portal = client.connection().api, client.portal
    for order, suspended in ((cron.suspend, True), (cron.resume, False)):
        order()
        spec = portal.run(api.get(CRON_JOBS.untyped, "nightly", "default"))["spec"]
        assert (spec["suspend"], spec["schedule"], spec["timeZone"]) == (suspended, "0 3 * * *", "Europe/Berlin")
    cron.delete()
    with pytest.raises(NotFound):
        portal.run(api.get(CRON_JOBS, "nightly", "default"))


def test_a_schedule_starts_what_it_missed_and_gives_its_result(client: Client) -> None:
    """A minute is too long to wait for: the last start is moved back, so that one is due at once."""
    cron = client.schedule("* * * * *", work.square, 7, name="minutely")
    api, portal = client.connection().api, client.portal
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=70)
    status = {"status": {"lastScheduleTime": f"{before:%Y-%m-%dT%H:%M:%SZ}"}}
    cron.suspend()
    portal.run(api.patch(CRON_JOBS.untyped, "minutely", status, "default", subresource="status"))
    cron.resume()

    eventually("a job", lambda: bool(cron.jobs()))

    assert cron.jobs()[0].result(100) == 49
    cron.delete()
    eventually("its jobs to go", lambda: not cron.jobs())


def test_the_portal_ends_what_is_interrupted_and_iterates_to_the_end() -> None:
    portal, ended = Portal(), []

    async def count() -> object:
        try:
            for number in range(100):
                yield number
        finally:
            ended.append("closed")

    for number in portal.iterate(count()):  # type: ignore[arg-type]
        if number == 2:
            break
    eventually("the end", lambda: ended == ["closed"])

    async def inside() -> None:
        portal.run(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="use AsyncClient"):
        portal.run(inside())
    portal.close()
    portal.close()


def run(code: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program on a machine where no cluster was ever."""
    clean = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "VOLCANO_HOME")}
    script = tmp_path / "program.py"
    script.write_text(code)
    return subprocess.run(
        [sys.executable, str(script)],
        env={**clean, "HOME": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_three_lines_run_a_gang_on_a_machine_without_any_cluster(tmp_path: Path) -> None:
    code = "import os, volcano\ndef hello(): return os.environ['VC_TASK_INDEX']\n"
    code += "if __name__ == '__main__': print(volcano.Client().submit(hello, nodes=4).result())\n"
    try:
        done = run(code, tmp_path)
        assert done.stdout == "['0', '1', '2', '3']\n", done.stderr
        assert run(code, tmp_path).stdout == done.stdout, "the cluster that runs is used"
    finally:
        stop = "from volcano.local import cluster, home, layout\ncluster.stop(layout.Layout(home.local_root()))"
        assert run(stop, tmp_path).returncode == 0


def test_importing_the_package_costs_nothing_that_is_not_asked_for(tmp_path: Path) -> None:
    done = run("import sys, volcano; print('volcano.sdk' in sys.modules, 'asyncio' in sys.modules)", tmp_path)
    assert done.stdout == "False False\n"


def test_a_cluster_that_cannot_be_reached_says_where_it_was_sought(tmp_path: Path) -> None:
    with pytest.raises(NoCluster, match="nowhere"), Client(str(tmp_path / "nowhere")) as client:
        client.jobs()


def test_a_folder_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("import volcano; volcano.Client(local=True).jobs()", tmp_path, VOLCANO_HOME=str(tmp_path / "file"))
    assert "NoCluster: no cluster is configured, and a local one cannot be started" in done.stderr


def test_the_example_sweep_stops_at_a_good_result(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    example = Path(__file__).parents[2] / "examples" / "sdk_sweep.py"
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.endswith("loss 0.0000\n"), done.stderr


def test_a_caller_without_rights_is_told_which_are_missing(client: Client, kubeconfig: Path, tmp_path: Path) -> None:
    api = client.connection().api
    request = b'{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}'
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    token = json.loads(client.portal.run(api.raw("POST", path, (), request)).content)["status"]["token"]
    document = yaml.safe_load(kubeconfig.read_text())
    document["users"][0]["user"] = {"token": token}
    (tmp_path / "weak").write_text(yaml.safe_dump(document))

    with Client(str(tmp_path / "weak")) as weak:
        with pytest.raises(Forbidden, match='cannot create resource "jobs"'):
            weak.submit("true")
        with pytest.raises(Forbidden, match='cannot list resource "jobs"'):
            weak.jobs()
