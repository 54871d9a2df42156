"""The agent beside an API server in one process, on a recorded tree of cgroups."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agent import namespaces, trees
from tests.agent.pods import pod
from tests.agent.world import ENVIRONMENT, NODE, World, world
from tests.waiting import until
from volcano.agent import configuration, main, podwriter
from volcano.agent.bandwidth import Limits
from volcano.agent.cgroups import CgroupError, Hierarchy
from volcano.agent.main import Pace
from volcano.agent.options import hierarchy, parse
from volcano.agent.qos import BatchNames
from volcano.agent.shaper import Shaper, ShapingError
from volcano.agent.values import Version
from volcano.api import keys, resources
from volcano.kube.flags import FlagError


def test_offers_what_is_spare_and_takes_it_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await until(lambda: here.offers("4800"))  # 60 % of 10 cores without the 2 in use
            await here.make_pod("batch")
            await here.make_pod("online", "LC")
            await here.configure(overSubscriptionConfig={"enable": False})
            await until(lambda: here.offers(None))
            await until(lambda: here.gone("batch"))
            assert not await here.gone("online")

    asyncio.run(scenario())


def test_evicts_the_largest_batch_pod_under_pressure(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await here.make_pod("large", cpu="900")
            await here.make_pod("online", "LC", cpu="2000")
            await until(lambda: here.offers("4800"))
            here.milli = 9000
            await until(lambda: here.gone("large"))
            assert not await here.gone("online")
            node = await here.client.get(resources.NODES, NODE)
            assert [taint.key for taint in node.spec.taints if "offline" in taint.key] == [keys.OFFLINE_JOB_EVICTING]
            here.milli = 1000

            async def relaxed() -> bool:
                now = await here.client.get(resources.NODES, NODE)
                return all(taint.key != keys.OFFLINE_JOB_EVICTING for taint in now.spec.taints)

            await until(relaxed)

    asyncio.run(scenario())


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_nothing_stays_throttled_when_the_agent_stops(tmp_path: Path, version: Version) -> None:
    async def scenario() -> World:
        async with world(tmp_path, version, "--supported-features=*") as here:
            await here.make_pod("batch", cpu="700")
            listing = await here.client.list(resources.PODS, "default")
            pod = here.hierarchy.pod(listing.items[0].metadata.uid, "BestEffort")
            await until(lambda: here.shows_quota(f"{pod}/c0", "70000"))
            await here.configure(cpuThrottlingConfig={"enable": True})
            await until(lambda: here.shows_quota("kubepods/besteffort", "650000"))  # 80 % of 10 cores, less 1.5
            return here

    here = asyncio.run(scenario())
    unlimited = "-1" if version == "v1" else "max"
    files = trees.contents(tmp_path / "cgroup")
    quotas = [text.split()[0] for path, text in files.items() if path.endswith(("cpu.max", "cpu.cfs_quota_us"))]
    assert len(quotas) == 4
    assert set(quotas) == {unlimited}
    assert here.quota("kubepods/besteffort") == unlimited


def test_what_a_killed_agent_left_is_lifted_for_good(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path / "cgroup", "v2", "cgroupfs")

    async def scenario() -> None:
        async with world(tmp_path, "v2", label="false", besteffort_quota="1000 100000") as here:
            await until(lambda: here.shows_quota("kubepods/besteffort", "max"))

    asyncio.run(scenario())
    assert hierarchy.read("kubepods/besteffort", "cpu.max") == "max 100000"


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_batch_pods_yield_the_cpu(tmp_path: Path, version: Version) -> None:
    """By `cpu.idle` where the kernel has no `cpu.qos_level`; the share the kernel forgets then is put back after."""
    share = "cpu.shares" if version == "v1" else "cpu.weight"

    async def scenario() -> World:
        async with world(tmp_path, version, "--supported-features=CPUQoS") as here:
            pods = {name: await here.make_pod(name, qos) for name, qos in (("batch", "BE"), ("online", "LC"))}
            for pod in pods.values():
                here.hierarchy.file(pod, "cpu.qos_level").unlink(missing_ok=True)
                here.hierarchy.file(pod, "cpu.idle").write_text("0\n")
            await here.configure(cpuQosConfig={"enable": True})
            await until(lambda: here.says(pods["batch"], "cpu.idle", "1"))
            assert here.hierarchy.read(pods["online"], "cpu.idle") == "0"
            here.hierarchy.file(pods["batch"], share).write_text("3\n")  # as the kernel says of an idle cgroup
            await here.configure(cpuQosConfig={"enable": False})
            await until(lambda: here.says(pods["batch"], share, trees.SHARES[version]))
            assert here.hierarchy.read(pods["batch"], "cpu.idle") == "0"
            return here

    asyncio.run(scenario())


def test_files_that_cannot_be_written_are_told_and_the_rest_is_done(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path, "v2", "--supported-features=*") as here:
            broken, sound = await here.make_pod("broken", cpu="300"), await here.make_pod("sound", cpu="700")
            path = here.hierarchy.file(f"{broken}/c0", "cpu.max")
            path.unlink()
            path.mkdir()
            await until(lambda: here.told("CgroupWriteFailed", f"{path}: cannot read: Is a directory"))
            await until(lambda: here.shows_quota(f"{sound}/c0", "70000"))
            path.rmdir()
            path.write_text("max 100000\n")
            await until(lambda: here.shows_quota(f"{broken}/c0", "30000"))
            await here.configure(memoryQosConfig={"enable": True})
            message = "MemoryQoS has no effect on this node: it has cgroup v2, enable MemoryQoSV2"
            await until(lambda: here.told("FeatureUnavailable", message))
            listing = await here.client.list(resources.EVENTS, "default")
            assert [event.count for event in listing.items if event.message == message] == [1]

    asyncio.run(scenario())


def test_a_node_without_iproute2_is_healthy_and_says_so(tmp_path: Path) -> None:
    def nothing_there(command: Sequence[str], _text: str) -> str:
        raise ShapingError(f"{command[0]} is not installed: network QoS needs iproute2")

    async def scenario() -> None:
        async with world(tmp_path, "v2", "--supported-features=*", shaper=Shaper(nothing_there)) as here:
            rate = {"metadata": {"annotations": {keys.NETWORK_BANDWIDTH_RATE: "1000"}}}
            await here.client.patch(resources.NODES, NODE, rate)
            await here.configure(networkQosConfig={"enable": True})
            await until(lambda: here.told("NetworkQoSFailed", "is not installed: network QoS needs iproute2"))
            await until(lambda: here.offers("4800"))
            assert (await here.ask("/healthz")).startswith("HTTP/1.1 200")

    asyncio.run(scenario())


def test_shapes_the_network_and_says_what_it_lacks(tmp_path: Path) -> None:
    async def scenario(node: namespaces.Node) -> None:
        shaper = Shaper(node.run)

        async def gone() -> bool:
            return await asyncio.to_thread(shaper.limits) is None

        async def shaped() -> bool:
            limits = await asyncio.to_thread(shaper.limits)
            filters = ["tc", "filter", "show", "dev", "volcano0", "parent", "1:"]
            return limits is not None and "flowid 1:20" in await asyncio.to_thread(node.run, filters)

        await asyncio.to_thread(shaper.shape, Limits(1000, 1, 1000, 1000))  # as an agent left it that was killed
        async with world(tmp_path, "v2", "--supported-features=NetworkQoS", shaper=Shaper(node.run)) as here:
            await until(gone)
            await here.make_pod("batch", address="10.99.0.3")
            await here.configure(networkQosConfig={"enable": True})
            missing = "annotation volcano.sh/network-bandwidth-rate is '': write the node's bandwidth in Mbps"
            await until(lambda: here.told("NetworkQoSFailed", missing))
            rate = {"metadata": {"annotations": {keys.NETWORK_BANDWIDTH_RATE: "1000"}}}
            await here.client.patch(resources.NODES, NODE, rate)
            await until(shaped)
            assert await asyncio.to_thread(shaper.limits) == Limits(100_000_000, 10_000_000, 12_500_000, 50_000_000)
            own = {"metadata": {"annotations": {"kubernetes.io/egress-bandwidth": "1M"}}}
            await here.client.patch(resources.PODS, "batch", own, "default")
            await until(lambda: here.told("NetworkQoSSkipped", "it has bandwidth annotations"))
        assert "ifb" not in node.run(["ip", "-details", "link", "show"])

    with namespaces.node("10.99.0.2", "10.99.0.3") as node:
        asyncio.run(scenario(node))


def test_health_and_metrics(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await until(lambda: here.offers("4800"))
            assert (await here.ask("/healthz")).startswith("HTTP/1.1 200")
            quantity = f'volcano_agent_oversubscription_resource_quantity{{node="{NODE}",resource="cpu"}} 4800'
            assert quantity in await here.ask("/metrics")

    asyncio.run(scenario())


def test_a_key_that_the_configuration_has_twice_is_told_and_the_last_counts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await until(lambda: here.offers("4800"))
            text = '{"globalConfig": {"nodeLabelConfig":\n1, "nodeLabelConfig": {"nodeOverSubscriptionEnable": false}}}'
            body = {"data": {configuration.KEY: text}}
            await here.client.patch(resources.CONFIGMAPS, configuration.NAME, body, "default")

            await until(lambda: here.told("RepeatedKey", "line 2: the key 'nodeLabelConfig' is on line 1 already"))
            assert not await here.told("ConfigApplyFailed", "")  # as it would be if the first one counted

    asyncio.run(scenario())


def test_a_bad_configuration_is_told_and_the_old_one_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await until(lambda: here.offers("4800"))
            await here.configure(evictingConfig={"evictingCPUHighWatermark": 0})

            async def told() -> bool:
                listing = await here.client.list(resources.EVENTS, "default")
                return any(
                    event.reason == "ConfigApplyFailed" and "evictingCPUHighWatermark" in event.message
                    for event in listing.items
                )

            await until(told)
            here.milli = 4000
            await until(lambda: here.offers("3600"))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--oversubscription-ratio=0"], "over subscription ratio must be greater than 0"),
        (["--oversubscription-policy=other"], "--oversubscription-policy=other is not known"),
        (["--supported-features=DiskQoS"], "--supported-features has DiskQoS"),
        (["--kube-nod-name=a"], "unknown flag: --kube-nod-name"),
    ],
)
def test_flags_that_make_no_sense(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError, match=message):
        parse(arguments, ENVIRONMENT)


def test_what_the_environment_must_say(tmp_path: Path) -> None:
    with pytest.raises(FlagError, match="--kube-node-name is empty: name the node, or set KUBE_NODE_NAME"):
        parse([], {})
    with pytest.raises(FlagError, match="--kube-pod-namespace is empty: name the namespace"):
        parse(["--kube-node-name=a"], {})
    flags = parse([], ENVIRONMENT)
    with pytest.raises(FlagError, match="CGROUP_DRIVER=docker is not known: write systemd or cgroupfs"):
        hierarchy(flags, {"SYS_FS_PATH": str(tmp_path), "CGROUP_DRIVER": "docker"})
    assert hierarchy(flags, {"SYS_FS_PATH": str(tmp_path), "CGROUP_DRIVER": "systemd"}).pods_root() == "kubepods.slice"


def test_what_prevents_the_start_is_the_last_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main.main(["--oversubscription-ratio=0", "--kube-node-name=a", "--kube-pod-namespace=b"]) == 1
    assert capsys.readouterr().err == "vc-agent: over subscription ratio must be greater than 0\n"
    missing = tmp_path / "kubeconfig"
    assert main.main([f"--kubeconfig={missing}", "--kube-node-name=a", "--kube-pod-namespace=b"]) == 1
    assert str(missing) in capsys.readouterr().err.splitlines()[-1]
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("vc-agent ")


def test_a_pod_that_may_not_be_evicted_stays_and_the_next_one_goes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await here.make_pod("guarded", cpu="900")
            await here.make_pod("small", cpu="100")
            await here.client.patch(resources.PODS, "guarded", {"metadata": {"labels": {"a": "b"}}}, "default")
            budget = {
                "metadata": {"name": "all", "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
            }
            await here.client.create(resources.POD_DISRUPTION_BUDGETS.untyped, budget)
            await until(lambda: here.offers("4800"))
            here.milli = 9000
            await until(lambda: here.gone("small"))
            assert not await here.gone("guarded")

    asyncio.run(scenario())


def test_a_bad_annotation_of_a_pod_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path, "v2", "--supported-features=*") as here:
            await until(lambda: here.told("ConfigApplySuccess", "Successfully applied config"))
            await here.configure(memoryQosV2Config={"enable": True})
            await here.make_pod("odd")
            bad = {"metadata": {"annotations": {keys.COLOCATION_CONFIG: "{"}}}
            await here.client.patch(resources.PODS, "odd", bad, "default")
            await until(lambda: here.told("ColocationConfigParseFailed", f"annotation {keys.COLOCATION_CONFIG}:"))

    asyncio.run(scenario())


def test_features_are_decided_by_the_first_word() -> None:
    features = parse(["--supported-features=-CPUQoS,*"], ENVIRONMENT).features
    assert "Eviction" in features
    assert "CPUQoS" not in features


def test_rounds_that_stall_are_seen_by_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    monkeypatch.setattr("volcano.agent.main.time.monotonic", lambda: seconds[0])
    pace = Pace(60.0)
    seconds[0] = 60.0
    assert pace.problem() is None
    seconds[0] = 61.0
    assert pace.problem() == "no round for 61 s"
    pace.beat()
    assert pace.problem() is None


def test_usage_that_cannot_be_read_is_told_and_nobody_is_evicted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await until(lambda: here.offers("4800"))
            path = here.hierarchy.file("kubepods", "memory.stat")
            text = path.read_text()
            path.unlink()
            path.mkdir()
            await until(lambda: here.told("CgroupReadFailed", f"{path}: cannot read: Is a directory"))
            path.rmdir()
            path.write_text(text)
            here.milli = 4000
            await until(lambda: here.offers("3600"))

    asyncio.run(scenario())


def test_a_limit_that_grows_is_given_to_the_pod_even_while_its_container_is_refused(tmp_path: Path) -> None:
    """With cgroup v1 the kernel refuses a container more than its pod has."""
    hierarchy = Hierarchy(tmp_path, "v1", "cgroupfs")
    document = pod(cpu="700")
    cgroup = hierarchy.pod(document.metadata.uid, "BestEffort")
    trees.make(tmp_path, hierarchy, cgroup)
    refused = hierarchy.file(f"{cgroup}/c0123", "cpu.cfs_quota_us")
    refused.mkdir(parents=True)
    with pytest.raises(CgroupError, match=f"{refused}: cannot read"):
        podwriter.write(document, hierarchy, BatchNames(), {"Resources"})
    assert hierarchy.read(cgroup, "cpu.cfs_quota_us") == "70000"
