"""Pod supervisors with real processes: exits, signals, namespaces, crashes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import volcano
from tests.kube_cluster.skewed import Skew
from tests.local.node.pods import container_plan, pod_plan
from tests.waiting import eventually
from volcano.local.node.attach import follow_size
from volcano.local.node.supervisor import record
from volcano.local.node.supervisor.documents import ActionPlan, Mount, PodPlan, PodReport, ProbePlan
from volcano.local.node.supervisor.isolation import available

SOURCE = str(Path(volcano.__file__).parents[1])
PROGRAM = f"import sys; sys.path.insert(0, {SOURCE!r}); from volcano.local.node.supervisor.zygote import main; main()"
TESTS = str(Path(__file__).parents[3])
ISOLATION_FAULT = available()


class Supervised:
    """A zygote and the pods it has forked supervisors for."""

    def __init__(self, root: Path, program: str = PROGRAM) -> None:
        self.root = root
        self._zygote = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.hello = json.loads(self._answer())

    def _answer(self) -> bytes:
        assert self._zygote.stdout is not None
        return self._zygote.stdout.readline()

    def start(self, plan: PodPlan) -> int:
        folder = self.root / "pods" / plan["uid"]
        (folder / "view").mkdir(parents=True, exist_ok=True)
        record.write_durably(str(folder / "plan.json"), plan)
        return self.fork(plan["uid"])

    def fork(self, uid: str) -> int:
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(json.dumps({"folder": str(self.root / "pods" / uid)}).encode() + b"\n")
        self._zygote.stdin.flush()
        return int(json.loads(self._answer())["pid"])

    def report(self, uid: str = "u1") -> PodReport:
        path = self.root / "pods" / uid / "report.json"
        return cast("PodReport", eventually("a report", lambda: record.read(str(path))))

    def finished(self, uid: str = "u1") -> PodReport:
        return cast("PodReport", eventually("the pod to end", lambda: (r := self.report(uid))["finished"] and r))

    def running(self, name: str = "main", uid: str = "u1") -> int:
        def pid() -> int:
            state = self.report(uid)["containers"][name]
            return state["pid"] if state["state"] == "running" else 0

        return eventually("the process", pid)

    def stop(self, pid: int, grace_seconds: float, uid: str = "u1") -> None:
        order = {"grace_seconds": grace_seconds, "reason": "Deleted"}
        record.write_durably(str(self.root / "pods" / uid / "stop.json"), order)
        os.kill(pid, signal.SIGTERM)

    def log(self, name: str = "main", run: int = 0, uid: str = "u1") -> str:
        path = self.root / "pods" / uid / "logs" / name / f"{run}.log"
        text = path.read_text() if path.exists() else ""
        return "".join(line.split(" ", 3)[3] + "\n" for line in text.splitlines())

    def end_zygote(self) -> None:
        assert self._zygote.stdin is not None
        self._zygote.stdin.close()
        self._zygote.wait()

    def close(self) -> None:
        self.end_zygote()
        for lock in self.root.glob("pods/*/lock"):
            claim = record.claim(str(lock))
            if claim is None:
                os.kill(int(lock.read_text()), signal.SIGKILL)
            else:
                os.close(claim)


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    node = Supervised(tmp_path)
    yield node
    node.close()


def gone(pid: int) -> bool:
    try:
        return not record.birth_of(pid) or Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # it has gone in between
        return True


def cpu_seconds(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def first_exit(report: PodReport, name: str = "main") -> tuple[int, str]:
    exit_ = report["containers"][name]["exit"]
    assert exit_ is not None
    return exit_["code"], exit_["reason"]


@pytest.mark.parametrize(
    ("command", "code", "reason"),
    [
        ("exit 0", 0, "Completed"),
        ("exit 3", 3, "Error"),
        ("kill -9 $$", 137, "Error"),
        ("kill -15 $$", 143, "Error"),
    ],
)
def test_exit_codes_and_signals(supervised: Supervised, command: str, code: int, reason: str) -> None:
    supervised.start(pod_plan(container_plan("sh", "-c", command)))

    assert first_exit(supervised.finished()) == (code, reason)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["no-such-program"], 'exec: "no-such-program": executable file not found in $PATH'),
        (["/no/such"], 'exec: "/no/such": no such file or directory'),
        (["/etc/passwd"], 'exec: "/etc/passwd": permission denied'),
    ],
)
def test_a_command_that_cannot_start_says_why(supervised: Supervised, argv: list[str], message: str) -> None:
    supervised.start(pod_plan(container_plan(*argv)))
    report = supervised.finished()

    assert first_exit(report) == (128, "StartError")
    assert (report["containers"]["main"]["exit"] or {})["message"].startswith(message)  # type: ignore[typeddict-item]


def test_a_missing_working_folder_says_so(supervised: Supervised) -> None:
    supervised.start(pod_plan(container_plan("true", folder="/no/such/folder")))
    exit_ = supervised.finished()["containers"]["main"]["exit"]
    assert exit_ is not None
    message = exit_["message"]

    assert str(message).startswith("workingDir '/no/such/folder' does not exist")


def test_both_streams_are_logged_with_time_and_name(supervised: Supervised) -> None:
    supervised.start(pod_plan(container_plan("sh", "-c", "echo out; echo err >&2; printf rest")))
    supervised.finished()
    records = (supervised.root / "pods/u1/logs/main/0.log").read_text().splitlines()

    assert sorted(record.split(" ", 1)[1] for record in records) == ["stderr F err", "stdout F out", "stdout F rest"]


def test_a_container_reads_from_its_pipe_until_the_pipe_has_no_name(supervised: Supervised) -> None:
    pid = supervised.start(pod_plan(container_plan("sh", "-c", "cat; echo end", input="once")))
    supervised.running()
    pipe = supervised.root / "pods/u1/inputs/main"
    for word in ("one\n", "two\n"):  # between the two nobody has it open
        pipe.write_text(word)
    os.kill(pid, signal.SIGTERM)
    eventually("what was typed", lambda: supervised.log() == "one\ntwo\n")

    pipe.unlink()
    os.kill(pid, signal.SIGTERM)

    assert first_exit(supervised.finished()) == (0, "Completed")
    assert supervised.log() == "one\ntwo\nend\n"


def test_a_container_without_input_reads_nothing(supervised: Supervised) -> None:
    supervised.start(pod_plan(container_plan("sh", "-c", "cat; echo end")))
    supervised.finished()
    assert supervised.log() == "end\n"


def test_a_container_that_runs_again_reads_from_a_new_pipe(supervised: Supervised) -> None:
    script = f"read word; echo $word; [ -e {supervised.root}/seen ] || {{ touch {supervised.root}/seen; exit 1; }}"
    supervised.start(pod_plan(container_plan("sh", "-c", script, restart="OnFailure", input="open")))
    pipe = supervised.root / "pods/u1/inputs/main"
    for run, word in enumerate(("one\n", "two\n")):
        eventually("the run", lambda run=run: supervised.report()["containers"]["main"]["restarts"] == run)
        eventually("the pipe", pipe.exists)
        supervised.running()
        pipe.write_text(word)
        eventually("what was typed", lambda run=run, word=word: supervised.log(run=run) == word)
    supervised.finished()
    assert not pipe.exists()


def test_a_container_with_a_terminal_is_typed_to_and_interrupted(supervised: Supervised) -> None:
    script = "printf 'ready? '; read word; trap 'stty size; exit 3' INT; echo heard; while :; do sleep 0.1; done"
    supervised.start(pod_plan(container_plan("sh", "-c", script, input="open", tty=True)))
    supervised.running()
    inputs = supervised.root / "pods/u1/inputs"
    records = supervised.root / "pods/u1/logs/main/0.log"
    eventually("the question, which ends no line", lambda: records.exists() and " P ready? " in records.read_text())

    (inputs / "main").write_text("yes\n")
    eventually("the answer", lambda: "heard" in supervised.log())
    follow_size(inputs / "main.terminal", b'{"Width": 100, "Height": 40}')
    (inputs / "main").write_text("\x03")

    assert first_exit(supervised.finished()) == (3, "Error")
    assert "40 100" in supervised.log()
    assert list(inputs.iterdir()) == []


def test_what_is_typed_ahead_waits_until_it_is_read(supervised: Supervised) -> None:
    script = f"stty -echo; echo quiet; until [ -e {supervised.root}/go ]; do sleep 0.1; done; wc -l"
    supervised.start(pod_plan(container_plan("sh", "-c", script, input="open", tty=True)))
    eventually("the echo to be off", lambda: "quiet" in supervised.log())
    pipe = supervised.root / "pods/u1/inputs/main"
    typing = threading.Thread(target=pipe.write_text, args=("word\n" * 40_000 + "\x04",), daemon=True)
    typing.start()
    (supervised.root / "go").touch()
    supervised.finished()
    assert supervised.log().split() == ["quiet", "40000"]


def test_a_container_may_close_its_terminal_and_open_it_again(supervised: Supervised) -> None:
    root = supervised.root
    script = f"""stty raw -echo; terminal=$(tty); exec < /dev/null > /dev/null 2>&1
        touch {root}/closed; until [ -e {root}/go ]; do sleep 0.1; done; echo again > $terminal"""
    supervisor = supervised.start(pod_plan(container_plan("sh", "-c", script, input="open", tty=True)))
    eventually("the terminal to be closed", (root / "closed").exists)
    typing = threading.Thread(target=(root / "pods/u1/inputs/main").write_text, args=("x" * 40_000,), daemon=True)
    typing.start()  # more than a terminal takes that nobody reads
    typing.join()
    before = cpu_seconds(supervisor)
    time.sleep(0.5)
    spent = cpu_seconds(supervisor) - before
    (root / "go").touch()
    supervised.finished()

    assert spent < 0.2  # it waits until there is room
    assert "again" in supervised.log()


def test_a_failing_container_runs_again_and_its_earlier_log_stays(supervised: Supervised) -> None:
    script = f"if [ -e {supervised.root}/seen ]; then echo again; else touch {supervised.root}/seen; exit 1; fi"
    supervised.start(pod_plan(container_plan("sh", "-c", script, restart="OnFailure")))
    report = supervised.finished()

    assert first_exit(report) == (0, "Completed")
    assert report["containers"]["main"]["restarts"] == 1
    last = report["containers"]["main"]["last"]
    assert last is not None
    assert last["code"] == 1
    assert supervised.log(run=1) == "again\n"


def test_stopping_sends_term_to_the_whole_group_then_kill(supervised: Supervised) -> None:
    polite = container_plan("sh", "-c", "sleep 100; exit 1", name="polite")
    ready = supervised.root / "ready"
    script = f"trap '' TERM; touch {ready}; sleep 100 & wait; sleep 100"
    pid = supervised.start(pod_plan(polite, container_plan("sh", "-c", script, name="stubborn")))
    supervised.running("polite")
    eventually("the trap", ready.exists)
    began = time.monotonic()
    supervised.stop(pid, 0.5)
    report = supervised.finished()

    assert 0.4 < time.monotonic() - began < 60
    assert report["containers"]["polite"]["exit"]["signal"] == signal.SIGTERM  # type: ignore[index]
    assert report["containers"]["stubborn"]["exit"]["signal"] == signal.SIGKILL  # type: ignore[index]


def test_a_deadline_ends_the_pod(supervised: Supervised) -> None:
    supervised.start(pod_plan(container_plan("sleep", "100"), deadline_at=time.time() + 0.3))

    assert supervised.finished()["stopping"] == "DeadlineExceeded"


@pytest.fixture
def skew(tmp_path: Path) -> Skew:
    return Skew(tmp_path / "skew")


@pytest.fixture
def skewed(tmp_path: Path, skew: Skew) -> Iterator[Supervised]:
    """Supervisors whose clock can be set."""
    program = f"import sys; sys.path.insert(0, {TESTS!r}); from pathlib import Path; "
    program += f"from tests.kube_cluster.skewed import install; install(Path({str(skew.file)!r})); {PROGRAM}"
    node = Supervised(tmp_path, program)
    yield node
    node.close()


@pytest.mark.parametrize("step", [3600.0, -3600.0], ids=["forward", "back"])
def test_a_clock_that_is_set_shortens_and_lengthens_no_wait(skewed: Supervised, skew: Skew, step: float) -> None:
    """Of a deadline, the grace of who is stopped, and the back-off of who fails; what is told has the new time."""
    seconds = 2.0
    ready = skewed.root / "ready"
    stubborn = container_plan("sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done")
    pid = skewed.start(pod_plan(stubborn, uid="stubborn"))
    failing = container_plan("false", restart="Always")
    fails = skewed.start(pod_plan(failing, uid="failing", backoff_base_seconds=0.2, backoff_cap_seconds=0.4))
    eventually("the trap", ready.exists)
    began = time.monotonic()
    skewed.start(pod_plan(container_plan("sleep", "100"), uid="limited", deadline_at=time.time() + seconds))
    eventually("its start", lambda: has_begun(skewed, "limited"))
    stopped = time.monotonic()
    skewed.stop(pid, seconds, uid="stubborn")
    eventually("the order", lambda: skewed.report("stubborn")["stopping"])
    skew.set(step)

    eventually("a failure at the new time", lambda: abs(last_failure(skewed) - time.time() - step) < 600)
    assert skewed.finished("limited")["stopping"] == "DeadlineExceeded"
    assert time.monotonic() - began > 0.9 * seconds
    assert first_exit(skewed.finished("stubborn")) == (137, "Error")
    assert time.monotonic() - stopped > 0.9 * seconds
    skewed.stop(fails, 0, uid="failing")
    skewed.finished("failing")


def has_begun(skewed: Supervised, uid: str) -> bool:
    """It runs; or, on a slow machine, its time was over before it could."""
    report = skewed.report(uid)
    return bool(report["stopping"]) or report["containers"]["main"]["state"] != "waiting"


def last_failure(skewed: Supervised) -> float:
    state = skewed.report("failing")["containers"]["main"]
    last = state["exit"] or state["last"]
    return last["finished_at"] if last is not None else 0.0


def test_processes_that_left_the_group_end_with_the_pod(supervised: Supervised) -> None:
    duration = f"1000.{os.getpid()}"  # so that others may sleep too
    script = f"setsid sleep {duration} & echo $!; sleep 0.2"
    supervised.start(pod_plan(container_plan("sh", "-c", script)))
    supervised.finished()
    eventually("the sleepers to end", lambda: not _sleepers(duration))


def _sleepers(duration: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", duration.encode()]:
            found.append(b" ".join(words).decode())
    return found


def test_a_pod_whose_folder_was_removed_ends(supervised: Supervised) -> None:
    supervisor = supervised.start(pod_plan(container_plan("sh", "-c", "sleep 60 & wait")))
    pid = supervised.running()
    (supervised.root / "pods").rename(supervised.root / "elsewhere")
    os.kill(supervisor, signal.SIGTERM)  # instead of waiting until it looks
    eventually("the supervisor to end", lambda: gone(supervisor))
    eventually("the process to end", lambda: gone(pid))


def test_a_killed_supervisor_takes_its_containers_along_and_its_successor_reports_them_lost(
    supervised: Supervised,
) -> None:
    pid = supervised.start(pod_plan(container_plan("sh", "-c", "echo once; sleep 100")))
    child = supervised.running()
    eventually("output", lambda: supervised.log())
    os.kill(pid, signal.SIGKILL)
    eventually("the process to end", lambda: gone(child))
    assert not supervised.report()["finished"]

    supervised.fork("u1")

    assert first_exit(supervised.finished()) == (137, "SupervisorLost")
    assert supervised.log() == "once\n"


def test_the_successor_restarts_what_the_policy_asks_for(supervised: Supervised) -> None:
    pid = supervised.start(pod_plan(container_plan("sleep", "100", restart="Always")))
    child = supervised.running()
    os.kill(pid, signal.SIGKILL)
    eventually("the process to end", lambda: gone(child))
    second = supervised.fork("u1")

    eventually("a restart", lambda: supervised.report()["containers"]["main"]["restarts"] == 1)
    supervised.stop(second, 0)
    assert supervised.finished()["containers"]["main"]["last"]["reason"] == "SupervisorLost"  # type: ignore[index]


def test_a_pod_has_one_supervisor_at_most(supervised: Supervised) -> None:
    go = supervised.root / "go"
    script = f"echo run; until [ -e {go} ]; do sleep 0.05; done"
    first = supervised.start(pod_plan(container_plan("sh", "-c", script)))
    supervised.running()
    more = [supervised.fork("u1") for _ in range(3)]
    eventually("the others to end", lambda: all(gone(pid) for pid in more))
    go.touch()
    report = supervised.finished()

    assert report["pid"] == first
    assert supervised.log() == "run\n"


def test_supervisors_outlive_their_parent(supervised: Supervised) -> None:
    go = supervised.root / "go"
    supervised.start(pod_plan(container_plan("sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done; echo done")))
    supervised.running()
    supervised.end_zygote()
    go.touch()

    assert first_exit(supervised.finished()) == (0, "Completed")
    assert supervised.log() == "done\n"


def test_the_next_record_is_written_before_the_command_runs(supervised: Supervised) -> None:
    report = supervised.root / "pods/u1/report.json"
    supervised.start(pod_plan(container_plan("grep", "-c", '"state": "running"', str(report))))
    supervised.finished()

    assert supervised.log() == "1\n"


@pytest.mark.skipif(bool(ISOLATION_FAULT), reason=f"no mount namespaces here: {ISOLATION_FAULT}")
def test_mounts_host_name_and_folders_of_an_isolated_container(supervised: Supervised) -> None:
    source = supervised.root / "volume"
    source.mkdir()
    (source / "f").write_text("content\n")
    mounts: list[Mount] = [
        {"source": str(source), "target": "/volcano-test/a/b", "read_only": True},
        {"source": str(source), "target": "/volcano-test/c", "read_only": False},
        {"source": str(source / "f"), "target": "/etc/volcano-test/file", "read_only": False},
    ]
    script = (
        "hostname; pwd; cat /volcano-test/a/b/f /etc/volcano-test/file; "
        "touch /volcano-test/a/b/g 2>/dev/null || echo read-only; touch /volcano-test/c/new; test -e /etc/passwd"
    )
    main = container_plan("sh", "-c", script, mounts=mounts, folder="/volcano-test/work")
    supervised.start(pod_plan(main, isolate=True, hostname="peer-0"))

    assert first_exit(supervised.finished()) == (0, "Completed")
    assert supervised.log() == "peer-0\n/volcano-test/work\ncontent\ncontent\nread-only\n"
    assert (source / "new").exists()
    assert not Path("/volcano-test").exists()
    assert not Path("/etc/volcano-test").exists()


def probing(*command: str, **more: Any) -> ProbePlan:
    action: ActionPlan = {
        "kind": "exec",
        "argv": list(command),
        "host": "127.0.0.1",
        "port": 0,
        "path": "/",
        "scheme": "HTTP",
        "headers": [],
        "seconds": 1.0,
    }
    probe: ProbePlan = {
        "action": {**action, **more},  # type: ignore[typeddict-item]
        "initial_delay": 0.0,
        "period": 0.05,
        "timeout": 1.0,
        "success_threshold": 1,
        "failure_threshold": 2,
    }
    return probe


def test_readiness_follows_its_probe(supervised: Supervised) -> None:
    probe = probing("test", "-e", f"{supervised.root}/ready")
    pid = supervised.start(pod_plan(container_plan("sleep", "100", probes={"readiness": probe})))
    supervised.running()
    assert not supervised.report()["containers"]["main"]["is_ready"]
    (supervised.root / "ready").touch()
    eventually("readiness", lambda: supervised.report()["containers"]["main"]["is_ready"])
    (supervised.root / "ready").unlink()
    eventually("readiness to end", lambda: not supervised.report()["containers"]["main"]["is_ready"])
    supervised.stop(pid, 0)
    supervised.finished()


def test_a_container_that_fails_to_live_is_restarted(supervised: Supervised) -> None:
    probe = probing("test", "!", "-e", f"{supervised.root}/sick")
    main = container_plan("sleep", "100", restart="Always", probes={"liveness": probe})
    pid = supervised.start(pod_plan(main))
    supervised.running()
    (supervised.root / "sick").touch()
    eventually("a restart", lambda: supervised.report()["containers"]["main"]["restarts"] >= 1)
    supervised.stop(pid, 0)
    supervised.finished()


def test_ports_and_urls_are_probed(supervised: Supervised) -> None:
    server = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
    server += "print(s.server_port, flush=True); s.serve_forever()"
    supervised.start(pod_plan(container_plan(sys.executable, "-c", server), uid="server"))
    port = int(eventually("output", lambda: supervised.log(uid="server")))
    for kind, target, ready in (("tcp", port, True), ("http", port, True), ("tcp", 1, False)):
        uid = f"{kind}-{target}"
        probe = probing(kind=kind, port=target)
        supervised.start(pod_plan(container_plan("sleep", "100", probes={"readiness": probe}), uid=uid))
        supervised.running(uid=uid)
        if ready:
            eventually("readiness", lambda uid=uid: supervised.report(uid)["containers"]["main"]["is_ready"])
        else:
            time.sleep(0.3)
            assert not supervised.report(uid)["containers"]["main"]["is_ready"]


def test_hooks_run_after_the_start_and_before_the_end(supervised: Supervised) -> None:
    hooks: dict[str, Any] = {
        "post_start": probing("touch", f"{supervised.root}/started")["action"],
        "pre_stop": probing("touch", f"{supervised.root}/stopping")["action"],
    }
    ready = supervised.root / "ready"
    script = f"trap 'test -e {supervised.root}/stopping && exit 5' TERM; touch {ready}; while true; do sleep 0.02; done"
    pid = supervised.start(pod_plan(container_plan("sh", "-c", script, **hooks)))
    eventually("the hook to run", (supervised.root / "started").exists)
    eventually("the trap", ready.exists)
    supervised.stop(pid, 60)

    assert first_exit(supervised.finished())[0] == 5


@pytest.mark.skipif(bool(ISOLATION_FAULT), reason=f"no mount namespaces here: {ISOLATION_FAULT}")
def test_a_probe_sees_the_files_of_its_container(supervised: Supervised) -> None:
    source = supervised.root / "volume"
    source.mkdir()
    (source / "f").touch()
    mounts: list[Mount] = [{"source": str(source), "target": "/volcano-test/v", "read_only": True}]
    probe = probing("test", "-e", "/volcano-test/v/f")
    main = container_plan("sleep", "100", mounts=mounts, probes={"readiness": probe})
    supervised.start(pod_plan(main, isolate=True, hostname="p"))

    eventually("readiness", lambda: supervised.report()["containers"]["main"]["is_ready"])


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc/PID/smaps_rollup")
def test_supervisors_are_small_and_start_fast(supervised: Supervised) -> None:
    began = time.monotonic()
    pids = [supervised.start(pod_plan(container_plan("sleep", "100"), uid=f"u{n}")) for n in range(50)]
    for number in range(50):
        supervised.running(uid=f"u{number}")
    seconds = time.monotonic() - began
    sizes = [_pss_kib(pid) for pid in pids]
    for number, pid in enumerate(pids):
        supervised.stop(pid, 0, uid=f"u{number}")

    assert seconds < 60
    assert sum(sizes) / len(sizes) < 6 * 1024


def _pss_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
