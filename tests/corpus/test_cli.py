"""vcctl against recorded command runs: the same requests to the API server, the same bytes on the terminal."""

from __future__ import annotations

import datetime
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.reaching import reach
from tests.corpus.loader import Record, cases, parameters
from volcano.api import duration, keys
from volcano.api.age import human_duration
from volcano.cli import main, pod, program, queue_table
from volcano.cli.slurm.vcancel import vcancel
from volcano.cli.slurm.vresume import vresume
from volcano.cli.slurm.vsuspend import vsuspend
from volcano.http.message import Request, Response
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport

ALL = cases("cli", ".")
COMMANDS = [case for case in ALL if case[1]["kind"] == "command"]
UNITS = [case for case in ALL if case[1]["kind"] == "unit"]
PROGRAMS = {"vcctl": main.vcctl, "vcancel": vcancel, "vresume": vresume, "vsuspend": vsuspend}


class Replay:
    """Answers as the recorded server did, and notes what it was asked."""

    def __init__(self, exchanges: list[dict[str, Any]]) -> None:
        self._waiting = list(exchanges)
        self.writes: list[tuple[str, str, Any]] = []
        self.unexpected: list[str] = []

    async def handle(self, request: Request) -> Response:
        if request.method != "GET":
            body = msgspec.json.decode(request.body) if request.body else None
            self.writes.append((request.method, request.path, body))
        for index, exchange in enumerate(self._waiting):
            if (exchange["method"], exchange["path"]) == (request.method, request.path):
                del self._waiting[index]
                body = msgspec.json.encode(exchange.get("response") or {})
                return Response(exchange["status"], {"content-type": "application/json"}, body)
        self.unexpected.append(f"{request.method} {request.path}")
        missing = {"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "not recorded"}
        return Response(404, {"content-type": "application/json"}, msgspec.json.encode(missing))

    @asynccontextmanager
    async def connected(self, master: str, kubeconfig: str) -> AsyncIterator[Client]:
        yield Client(InProcessTransport(self.handle), user_agent="vcctl")


@pytest.mark.parametrize("record", parameters(COMMANDS))
def test_command(
    record: Record, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record = stamped(record)
    replay = Replay(record["requests"])
    reach(monkeypatch, replay.connected)
    name = record["command"].split()[0]

    status = program.run(PROGRAMS[name], name, arguments_of(record, tmp_path))

    shown = capsys.readouterr()
    assert shown.out == record["stdout"]
    assert (status == 0) == (record["error"] is None)
    if record["error"]:
        subcommand = record["command"].partition(" ")[2]
        assert shown.err == f"Failed to {subcommand}: {record['error']}\n"
    assert replay.unexpected == []
    assert [write[:2] for write in replay.writes] == [write[:2] for write in recorded_writes(record)]
    for ours, theirs in zip(replay.writes, recorded_writes(record), strict=True):
        assert meaningful(ours[2]) == meaningful(theirs[2])


@pytest.mark.parametrize("record", parameters(UNITS))
def test_unit(record: Record) -> None:
    arguments = record["args"]
    match record["function"]:
        case "HumanDuration":
            assert human_duration(duration.parse_seconds(arguments["d"])) == record["results"]["r0"]
        case "PrintQueues":
            counts = arguments["queueStats"]
            text = queue_table.table(arguments["queues"]["items"], {name: counts[name] for name in counts})
            assert text == record["written"]
        case "PrintPods":
            pods = stamped(record)["args"]["pods"]["items"] or []
            assert pod.table(pods, show_namespace=arguments["showNamespace"]) == record["written"]
        case "sortPods":
            ordered = [place(each) for each in pod.in_order(arguments["pods"])]
            assert ordered == sorted(map(place, arguments["pods"]))
        case "appendIfNotExists":
            stored = {place(each): labelled(each, "q") for each in (*arguments["existing"], *arguments["toAppend"])}
            found = pod.of_queue(list(stored.values()), "q")  # a pod that two marks lead to is found once
            assert [place(each) for each in found] == [place(each) for each in record["results"]["r0"]]
        case function:
            pytest.fail(f"no test calls {function}")


def place(document: Record) -> tuple[str, str]:
    return document["metadata"]["namespace"], document["metadata"]["name"]


def labelled(document: Record, queue: str) -> Record:
    """The pod, found by the label of its queue and by the annotation as well."""
    marks = {"labels": {keys.QUEUE_NAME: queue}, "annotations": {keys.POD_QUEUE_NAME: queue}}
    return {**document, "metadata": {**document["metadata"], **marks}}


def arguments_of(record: Record, folder: Path) -> list[str]:
    """Every flag with its value: one that was empty must not fall back to its default."""
    for name, text in (record.get("files") or {}).items():
        (folder / Path(name).name).write_text(text)
    words = record["command"].split()[1:]
    for flag, value in record["flags"].items():
        if isinstance(value, bool):
            words += [f"--{flag}"] if value else []
        elif flag in ("file", "filename") and value:
            words.append(f"--{flag}={folder / Path(value).name}")
        else:
            words.append(f"--{flag}={value}")
    return words


THREE_DAYS = datetime.timedelta(days=3, minutes=1)


def stamped(record: Record) -> Record:
    """With a time that is as long ago as it was when the text was recorded."""
    told = str(record.get("written") or record.get("stdout"))
    moment = (datetime.datetime.now(datetime.UTC) - (THREE_DAYS if "3d " in told else datetime.timedelta())).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    stamped_record: Record = json.loads(json.dumps(record).replace('"NOW"', f'"{moment}"'))
    return stamped_record


def recorded_writes(record: Record) -> list[tuple[str, str, Any]]:
    """Delete options that choose nothing are the same as none."""
    writes = []
    for exchange in record["requests"]:
        body = exchange.get("body")
        if isinstance(body, dict) and body.keys() == {"apiVersion", "kind"} and body["kind"] == "DeleteOptions":
            body = None
        if exchange["method"] != "GET":
            writes.append((exchange["method"], exchange["path"], body))
    return writes


def meaningful(value: Any) -> Any:
    """A document without empty values: Go's encoder writes some of them and leaves out others."""
    if isinstance(value, dict):
        kept = {key: meaningful(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if inner not in (None, "", 0, [], {}, False)}
    if isinstance(value, list):
        return [meaningful(inner) for inner in value]
    return value
