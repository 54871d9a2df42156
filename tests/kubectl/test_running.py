"""Commands about things that run: logs, wait, rollout, delete with grace and cascades, drain."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster.programs import free_ports
from tests.kubectl.objects import deployment, pod, vcjob
from tests.kubectl.terminals import COLUMNS, ROWS
from tests.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kubectl.harness import Kubectl

pytestmark = pytest.mark.xdist_group("kubectl")


def test_a_pod_runs_to_its_end_and_leaves_its_log(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", "sh", "-c", "echo one; sleep 1; echo two"))
    followed = kubectl.start("logs", "-f", "p", "--pod-running-timeout=90s")
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/p", "--timeout=90s")
    out, _ = followed.communicate(timeout=120)
    whole = kubectl("logs", "p").out
    assert whole == "one\ntwo\n"
    assert out in ("", whole)
    assert kubectl("logs", "p", "--tail=1").out == "two\n"
    assert "Completed" in kubectl("get", "pod", "p").out


def test_logs_are_followed_while_they_are_written(kubectl: Kubectl, tmp_path: Path) -> None:
    script = f"echo 1; until [ -e '{tmp_path}/go' ]; do sleep 0.1; done; for i in 2 3; do sleep 0.3; echo $i; done"
    kubectl.create(pod("p", "sh", "-c", script))
    kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].started}=true", "pod/p", "--timeout=90s")
    (tmp_path / "go").touch()
    assert kubectl("logs", "-f", "p").out == "1\n2\n3\n"
    assert kubectl("logs", "-l", "app=p", "--prefix", "--timestamps").out.count("[pod/p/main]") == 3


def test_waiting_for_ready_and_for_the_end(kubectl: Kubectl) -> None:
    kubectl.create(pod("p"))
    assert "condition met" in kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=90s").out
    waiting = kubectl.start("wait", "--for=delete", "pod/p", "--timeout=90s")
    kubectl("delete", "pod", "p")
    waiting.communicate(timeout=120)
    assert waiting.returncode == 0
    assert "timed out" in kubectl("wait", "--for=create", "pod/never", "--timeout=1s", fails=True).err


def test_a_pod_is_killed_at_once_by_force(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", "sh", "-c", "trap '' TERM; sleep 100", terminationGracePeriodSeconds=60))
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=90s")
    kubectl("delete", "pod", "p", "--force", "--grace-period=0")
    assert "not found" in kubectl("get", "pod", "p", fails=True).err


def test_a_rollout_is_followed_to_its_end(kubectl: Kubectl) -> None:
    kubectl.create(deployment("d", replicas=2))
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/d", "--timeout=90s").out
    assert kubectl("get", "deploy", "d").column("READY") == ["2/2"]
    kubectl("rollout", "restart", "deploy/d")
    kubectl("rollout", "status", "deploy/d", "--timeout=90s")
    assert "REVISION" in kubectl("rollout", "history", "deploy/d").out
    kubectl("scale", "deploy", "d", "--replicas=0")
    eventually("the pods to go", lambda: not kubectl.get("pods", "-l", "app=d")["items"])


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_the_history_of_a_set_is_told_and_undone(kubectl: Kubectl, kind: str) -> None:
    made = deployment("s")
    spec = {key: made["spec"][key] for key in ("selector", "template")}
    spec |= {"serviceName": "s", "replicas": 1} if kind == "StatefulSet" else {}
    kubectl.create({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "s"}, "spec": spec})
    kubectl("rollout", "status", f"{kind}/s", "--timeout=90s")
    kubectl("set", "image", f"{kind}/s", "main=busybox:2")
    eventually("a second revision", lambda: kubectl("rollout", "history", f"{kind}/s").out.split()[-2:][0] == "2")
    assert "busybox:2" in kubectl("rollout", "history", f"{kind}/s", "--revision=2").out
    kubectl("rollout", "undo", f"{kind}/s")
    assert kubectl.get(kind, "s")["spec"]["template"]["spec"]["containers"][0]["image"] == "busybox"
    kubectl("delete", kind, "s")


def test_delete_cascades_as_it_is_told(kubectl: Kubectl) -> None:
    for name in ("background", "foreground", "orphan"):
        kubectl.create(deployment(name))
        kubectl("rollout", "status", f"deploy/{name}", "--timeout=90s")
        kubectl("delete", "deploy", name, f"--cascade={name}", "--timeout=90s")
    eventually("the pods to go", lambda: not kubectl.get("pods", "-l", "app in (background,foreground)")["items"])
    assert len(kubectl.get("rs", "-l", "app=orphan")["items"]) == 1
    assert len(kubectl.get("pods", "-l", "app=orphan")["items"]) == 1


def test_a_node_is_drained(kubectl: Kubectl) -> None:
    kubectl.create(pod("p"))
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=90s")
    try:
        drained = kubectl(
            "drain",
            "local",
            "--force",
            "--pod-selector=app=p",
            "--grace-period=1",
            "--timeout=90s",
            "--delete-emptydir-data",
        )
        assert "evicting pod" in drained.err + drained.out
        assert "not found" in kubectl("get", "pod", "p", fails=True).err
        assert "SchedulingDisabled" in kubectl("get", "node", "local").out
    finally:
        kubectl("uncordon", "local")
    assert "SchedulingDisabled" not in kubectl("get", "node", "local").out


def test_run_and_expose(kubectl: Kubectl) -> None:
    kubectl(
        "run", "p", "--image=busybox", "--command", "--overrides", '{"spec":{"nodeName":"local"}}', "--", "sleep", "600"
    )
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=90s")
    kubectl("expose", "pod", "p", "--port=80")
    assert kubectl.get("svc", "p")["spec"]["selector"] == {"run": "p"}


def test_a_gang_is_followed_to_its_end(kubectl: Kubectl) -> None:
    gang = vcjob("gang", minAvailable=3, plugins={"env": []})
    task = gang["spec"]["tasks"][0]
    task["replicas"] = 3
    task["policies"] = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    task["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "echo member $VC_TASK_INDEX; sleep 1"]
    task["template"]["spec"]["restartPolicy"] = "Never"
    kubectl.create(gang)
    with kubectl.start("get", "vcjob", "gang", "-w", "--no-headers") as watch:
        kubectl("wait", "--for=jsonpath={.status.state.phase}=Completed", "vcjob/gang", "--timeout=90s")
        assert watch.stdout is not None
        assert any("Completed" in line for line in watch.stdout)
        watch.terminate()
    assert kubectl("get", "pods", "--sort-by=.metadata.name", "-o", "name").out.split() == [
        f"pod/gang-work-{index}" for index in range(3)
    ]
    lines = kubectl("logs", "-l", "volcano.sh/job-name=gang", "--tail=-1").out.splitlines()
    assert sorted(lines) == ["member 0", "member 1", "member 2"]
    eventually("word of the action", lambda: "ExecuteAction" in kubectl("describe", "vcjob", "gang").out)
    of_pods = ("get", "events", "--field-selector=involvedObject.kind=Pod")
    eventually("word of the pods", lambda: "Scheduled" in kubectl(*of_pods).out)
    kubectl("delete", "vcjob", "gang", "--timeout=90s")
    eventually("the pods to go", lambda: not kubectl.get("pods")["items"])
    eventually("the podgroup to go", lambda: not kubectl.get("pg")["items"])


def test_top_shows_what_runs_and_where(kubectl: Kubectl) -> None:
    kubectl.create(pod("busy", "sh", "-c", "while :; do :; done"))
    kubectl("wait", "--for=condition=Ready", "pod/busy", "--timeout=90s")

    def shown() -> bool:
        seen = kubectl.run("top", "pods")
        assert "Metrics API not available" not in seen.err
        return seen.code == 0 and "busy" in seen.out and int(seen.column("CPU(cores)")[0].removesuffix("m")) > 10

    eventually("the load to be seen", shown)
    assert kubectl("top", "nodes").column("NAME")
    kubectl("delete", "pod", "busy", "--force", "--grace-period=0")


def test_commands_run_inside_a_container(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", "sh", "-c", "echo hello > note; echo written; sleep 600", hostname="inside"))
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=90s")
    eventually("the note to be written", lambda: "written" in kubectl("logs", "p").out)

    assert kubectl("exec", "p", "--", "cat", "note").out == "hello\n"
    assert kubectl("exec", "p", "--", "sh", "-c", "echo out; echo err >&2").err == "err\n"
    assert "exit code 3" in kubectl("exec", "p", "--", "sh", "-c", "exit 3", fails=True).err
    assert kubectl("exec", "-i", "p", "--", "cat", stdin="to and fro\n").out == "to and fro\n"
    assert "not found" in kubectl("exec", "p", "--", "no-such-program", fails=True).err
    kubectl("delete", "pod", "p", "--force", "--grace-period=0")


def test_output_is_attached_to_until_the_container_ends(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", "sh", "-c", "until test -e go; do echo tick; sleep 0.1; done; echo out; echo err >&2"))
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=90s")

    attached = kubectl.start("attach", "p")
    assert attached.stdout is not None
    assert attached.stdout.readline() == "tick\n"
    kubectl("exec", "p", "--", "touch", "go")

    out, err = attached.communicate(timeout=120)
    assert attached.returncode == 0
    assert out.endswith("tick\nout\n")
    assert err.endswith("err\n")


def test_a_container_reads_what_is_typed(kubectl: Kubectl) -> None:
    """With stdinOnce until the first who types has ended, as `kubectl run -i` wants it; else from everybody."""
    once = pod("once", "sh", "-c", "sort; echo done")
    many = pod("many", "sh", "-c", "read a; read b; echo $a and $b")
    for document, is_once in ((once, True), (many, False)):
        document["spec"]["containers"][0] |= {"stdin": True, "stdinOnce": is_once}
        document["spec"]["restartPolicy"] = "Never"
    kubectl.create(once, many)
    kubectl("wait", "--for=condition=Ready", "pod/once", "pod/many", "--timeout=90s")

    large = "".join(f"{number:06}\n" for number in reversed(range(30_000)))
    out = kubectl("attach", "-i", "once", stdin=large).out
    assert out.splitlines()[-1:] == ["done"]
    assert kubectl("logs", "once").out == "".join(sorted(large.splitlines(keepends=True))) + "done\n"

    with kubectl.start("attach", "-i", "many", stdin=subprocess.PIPE) as first:
        assert first.stdin is not None
        first.stdin.write("one\n")
        first.stdin.flush()
        with kubectl.start("attach", "-i", "many", stdin=subprocess.PIPE) as second:
            assert second.stdin is not None
            second.stdin.write("two\n")
            second.stdin.close()
            kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/many", "--timeout=90s")
        first.stdin.close()
    assert kubectl("logs", "many").out in ("one and two\n", "two and one\n")


def test_a_shell_is_run_at_a_terminal(kubectl: Kubectl) -> None:
    """It knows the size of the caller's, Ctrl-C goes to what it runs, and its exit code becomes kubectl's."""
    run = ("run", "p", "-it", "--rm", "--restart=Never", "--image=none", "--pod-running-timeout=90s", "--command")
    with kubectl.at_terminal(*run, "--", "sh") as terminal:
        sized = f"until stty size | grep -q '{ROWS} {COLUMNS}'; do sleep 0.1; done; echo si''zed"
        terminal.type(f"{sized}; sleep 600\r", until="sized")
        terminal.type("\x03", until="^C")
        terminal.type("exit 3\r", until="terminated (Error)")
        assert terminal.exit_code() == 3
    assert "not found" in kubectl("get", "pod", "p", fails=True).err


@pytest.mark.parametrize("over", ["websocket", "spdy"])
def test_ports_of_a_pod_are_forwarded(kubectl: Kubectl, over: str) -> None:
    """Many connections, one after the other and side by side; none to a port that only somebody outside the pod has."""
    [port] = free_ports(1)
    program = SERVES_BACKWARDS.format(port=port)
    kubectl.create(pod("p", "python3", "-c", program))
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=90s")
    eventually("the program to listen", lambda: "open" in kubectl("logs", "p").out)
    env = {"KUBECTL_PORT_FORWARD_WEBSOCKETS": "true" if over == "websocket" else "false"}
    outside = socket.create_server(("127.0.0.1", 0))
    foreign = outside.getsockname()[1]
    ports = [f":{port}", f":{foreign}"]
    with outside, kubectl.start("port-forward", "pod/p", *ports, "--address=127.0.0.1", env=env) as forward:
        try:
            assert forward.stdout is not None
            served, refused = (int(forward.stdout.readline().split(" -> ")[0].rpartition(":")[2]) for _ in ports)
            assert talk(served, b"abc") == b"cba"
            large = b"0123456789abcdef" * 65536
            with ThreadPoolExecutor(4) as callers:
                assert list(callers.map(lambda _: talk(served, large), range(4))) == [large[::-1]] * 4
            assert talk(refused, b"x") == b""
        finally:
            forward.terminate()
        assert forward.stderr is not None
        assert f"nothing listens on port {foreign} of the pod" in forward.stderr.read()
    kubectl("delete", "pod", "p", "--force", "--grace-period=0")


SERVES_BACKWARDS = """
import socketserver

class Talk(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.read()[::-1])

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

with Server(("127.0.0.1", {port}), Talk) as server:
    print("open", flush=True)
    server.serve_forever()
"""


def talk(port: int, said: bytes) -> bytes:
    """All that is answered, once all is said."""
    caller = socket.create_connection(("127.0.0.1", port), timeout=120)
    with caller, contextlib.suppress(OSError):  # where nobody listens, the caller is cut off
        caller.sendall(said)
        caller.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: caller.recv(65536), b""))
    return b""
