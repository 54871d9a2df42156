"""What all tests share: signals that end a process end it, and a cluster of each kind for whoever needs one."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.differing import ON_KUBERNETES

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from tests.kube_cluster.sites import Site

ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""How long an example takes says something about the machine, and nothing about what is tested."""
settings.register_profile("any machine", ANY_MACHINE)
settings.register_profile("same examples", ANY_MACHINE, derandomize=True, database=None)
settings.load_profile("any machine")
DIED = pytest.StashKey[bool]()
"""Whether a process that ran tests has died."""


def pytest_configure(config: pytest.Config) -> None:
    """`make test` says the same of the same source each time; who runs one test, or soak, tries new examples."""
    if "not soak" in config.getoption("markexpr"):
        settings.load_profile("same examples")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What `differing` lists must fail where it says so."""
    for item in items:
        reason = ON_KUBERNETES.get(getattr(item, "originalname", ""))
        if reason and item.get_closest_marker("kube"):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Whoever reads of a failure on a cluster reads what its daemons said last."""
    report = yield
    if report.failed and item.get_closest_marker("kube"):
        from tests.kube_cluster import programs

        report.sections += [section for running in programs.RUNNING for section in running.last_words()]
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if error:
        node.config.stash[DIED] = True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The death of a process that ran tests is no failure like others, which `make test-kube` would try again."""
    if session.config.stash.get(DIED, False):
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


@pytest.fixture(autouse=True, scope="session")
def heed_signals() -> None:
    """`nohup` and background shells have signals ignored, and every child would inherit that.

    SIGTERM ends the run as Ctrl-C does: fixtures stop what they started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def local_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`vcctl local up`."""
    from tests.kube_cluster import sites

    yield from sites.local(tmp_path_factory.mktemp("local"), _kubectl())


@pytest.fixture(scope="session")
def kube_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Kubernetes' own control plane with our daemons and our node."""
    from tests.kube_cluster import control_plane, sites

    if why := control_plane.absence():
        pytest.skip(why)
    yield from sites.kube(tmp_path_factory.mktemp("kube"), _kubectl())


@pytest.fixture(scope="session", params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def any_site(request: pytest.FixtureRequest) -> Site:
    """Each of the two, one after the other."""
    site: Site = request.getfixturevalue(f"{request.param}_site")
    return site


def _kubectl() -> Path:
    from tests.kubectl import binaries

    try:
        return binaries.installed()
    except binaries.Absent as error:
        pytest.skip(str(error))
