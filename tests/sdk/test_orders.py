"""Orders that take a moment, and names that are taken."""

from __future__ import annotations

import pytest

from tests.sdk import work
from volcano.api.resources import SECRETS
from volcano.kube.errors import AlreadyExists, NotFound
from volcano.sdk import Client, NameTaken, NoSuchJob, SdkError
from volcano.sdk.status import Phase

LONG = 120.0


def test_whoever_resumes_can_wait_at_once(client: Client) -> None:
    job = client.submit("sleep 60")
    job.wait(LONG, until="running")
    job.suspend()
    job.wait(LONG)
    job.resume()
    assert job.wait(LONG, until="running").phase is Phase.RUNNING
    job.delete()


def test_a_name_in_use_is_told_of_the_job_and_leaves_it_as_it_is(client: Client) -> None:
    first = client.submit(work.square, 3, name="taken")
    with pytest.raises(NameTaken, match=r"^job default/taken already exists: give another name") as taken:
        client.submit(work.square, 4, name="taken")
    assert first.result(LONG) == 9
    assert isinstance(taken.value, SdkError)
    assert isinstance(taken.value, AlreadyExists)


def test_a_job_that_is_not_there_is_told_as_by_the_server(client: Client) -> None:
    with pytest.raises(NoSuchJob, match='"missing" not found') as missing:
        client.job("missing")
    assert isinstance(missing.value, SdkError)
    assert isinstance(missing.value, NotFound)


def test_files_of_an_earlier_job_are_told_of(client: Client) -> None:
    left = {"metadata": {"name": "leaving-files", "namespace": "default"}}
    api = client.portal.run(client.asynchronous.connection()).api
    client.portal.run(api.create(SECRETS.untyped, left))
    with pytest.raises(AlreadyExists, match="the files of an earlier job default/leaving are still being removed"):
        client.submit(work.square, 4, name="leaving")
