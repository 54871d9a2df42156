"""The Helm chart: what it holds, that it says what cannot work, and that Kubernetes takes every object of it."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tools import chart
from tools.kube.where import folder

from tests.kube_cluster import chart as cluster_chart, control_plane
from volcano.agent import options as agent_options
from volcano.controllers.flags import Flags as ControllerFlags
from volcano.kube import flags
from volcano.scheduler.daemon.flags import Flags as SchedulerFlags
from volcano.webhooks import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.control_plane import Address

ALL_OPTIONS = Path(__file__).parent / "all-options.yaml"
VALUES = {"defaults": (), "all options": ("--values", str(ALL_OPTIONS))}

needs_helm = [
    pytest.mark.kube,
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is Helm"),
]


def test_the_made_files_are_current() -> None:
    assert [str(path) for path, content in chart.files() if path.read_text() != content] == []


def test_every_value_of_the_test_exists_in_the_chart() -> None:
    known = yaml.safe_load((chart.CHART / "values.yaml").read_text())
    for section, values in yaml.safe_load(ALL_OPTIONS.read_text()).items():
        assert set(values) <= set(known[section])


def test_every_image_of_the_chart_is_a_target_that_starts_its_program() -> None:
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())["basic"]
    images = {name.rpartition("/")[2] for key, name in values.items() if key.endswith("_image_name")}
    dockerfile = (chart.ROOT / "Dockerfile").read_text()
    targets = dict(
        re.findall(r"^FROM volcano AS (\S+)$.*?^ENTRYPOINT \[\"(\S+)\"\]$", dockerfile, re.MULTILINE | re.DOTALL)
    )
    assert targets == {image: image for image in images}
    scripts = tomllib.loads((chart.ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert images <= scripts.keys()


class TestRendered:
    pytestmark = needs_helm

    @pytest.fixture(params=VALUES)
    def documents(self, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
        return cluster_chart.parts(*VALUES[request.param])

    def test_helm_finds_nothing_to_warn_of(self) -> None:
        done = helm("lint", "--strict", str(chart.CHART), "--values", str(ALL_OPTIONS))
        assert done.returncode == 0, done.stdout

    def test_the_plain_manifests_are_what_helm_writes(self) -> None:
        assert chart.MANIFESTS.read_text() == chart.PLAIN + chart.rendered()

    def test_the_daemons_understand_their_arguments(self, documents: list[dict[str, Any]]) -> None:
        """A flag that a daemon does not know is an error of its parser."""
        for name, container in containers(documents):
            if name.endswith("scheduler"):
                flags.parse(SchedulerFlags, container["args"], name)
            elif name.endswith("admission"):
                options.parse(container["args"])
            elif name.endswith("agent"):
                environment = {entry["name"]: entry.get("value", "from the pod") for entry in container["env"]}
                assert agent_options.parse(container["args"], environment).features
            else:
                assert flags.parse(ControllerFlags, container["args"], name).enabled_controllers

    def test_no_daemon_runs_as_root_or_without_probes(self, documents: list[dict[str, Any]]) -> None:
        for document in of_kind(documents, "Deployment"):
            spec = document["spec"]["template"]["spec"]
            (container,) = spec["containers"]
            assert spec["securityContext"]["runAsUser"] > 0
            assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= set(container)

    def test_the_agent_has_no_more_rights_on_its_node_than_it_needs(self, documents: list[dict[str, Any]]) -> None:
        """Only who shapes the network is in the node's network, with the one capability for it."""
        for document in of_kind(documents, "DaemonSet"):
            spec = document["spec"]["template"]["spec"]
            (container,) = spec["containers"]
            assert spec["hostNetwork"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["NET_ADMIN"]}
        (plain,) = of_kind(cluster_chart.parts("--set", "custom.colocation_enable=true"), "DaemonSet")
        spec = plain["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert plain["spec"]["selector"] == {"matchLabels": {"name": "volcano-agent"}}  # as the chart it replaces has
        assert "hostNetwork" not in spec
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert [volume["hostPath"]["path"] for volume in spec["volumes"]] == ["/sys/fs"]

    def test_roles_name_what_they_allow_and_nobody_lists_secrets(self, documents: list[dict[str, Any]]) -> None:
        for role in [*of_kind(documents, "ClusterRole"), *of_kind(documents, "Role")]:
            for rule in role["rules"]:
                assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
                assert "secrets" not in rule["resources"] or not {"list", "watch"} & set(rule["verbs"])

    def test_only_what_is_replicated_has_a_budget(self) -> None:
        assert not of_kind(cluster_chart.parts(), "PodDisruptionBudget")
        assert len(of_kind(cluster_chart.parts("--values", str(ALL_OPTIONS)), "PodDisruptionBudget")) == 4

    def test_replicas_are_spread_and_only_what_daemons_serve_can_be_reached(self) -> None:
        documents = cluster_chart.parts("--values", str(ALL_OPTIONS))
        policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(documents, "NetworkPolicy")}
        for document in of_kind(documents, "Deployment"):
            name, spec = document["metadata"]["name"], document["spec"]["template"]["spec"]
            (spread,) = spec["topologySpreadConstraints"]
            labels = document["spec"]["template"]["metadata"]["labels"]
            assert spread["labelSelector"]["matchLabels"].items() <= labels.items()
            policy = policies.pop(name)
            assert policy["podSelector"]["matchLabels"].items() <= labels.items()
            (rule,) = policy["ingress"]
            ports = {port["name"] for port in spec["containers"][0]["ports"]}
            assert {port["port"] for port in rule["ports"]} == ports
        assert policies == {}
        assert not of_kind(cluster_chart.parts("--set", "custom.network_policy_enable=false"), "NetworkPolicy")

    def test_only_enabled_webhooks_are_registered_and_may_be_changed(self) -> None:
        documents = cluster_chart.parts("--values", str(ALL_OPTIONS))
        registered = {
            document["metadata"]["name"] for document in documents if document["kind"].endswith("WebhookConfiguration")
        }
        assert registered == {
            f"volcano-admission-service-{path}" for path in ("jobs-mutate", "jobs-validate", "pods-validate")
        }
        (role,) = (one for one in of_kind(documents, "ClusterRole") if one["metadata"]["name"] == "volcano-admission")
        assert registered == {name for rule in role["rules"] for name in rule.get("resourceNames", ())}

    def test_the_controllers_podgroups_are_known_by_their_account(self) -> None:
        documents = cluster_chart.parts()
        accounts = [one["metadata"] for one in of_kind(documents, "ServiceAccount")]
        (account,) = (one for one in accounts if one["name"].endswith("-controllers"))
        hooks = [hook for one in of_kind(documents, "ValidatingWebhookConfiguration") for hook in one["webhooks"]]
        (hook,) = (hook for hook in hooks if hook["name"] == "validatepodgroup.volcano.sh")

        (condition,) = hook["matchConditions"]

        assert f"'system:serviceaccount:{account['namespace']}:{account['name']}'" in condition["expression"]

    @pytest.mark.parametrize(
        ("setting", "says"),
        [
            ("custom.hypernode_controller_mode=elsewhere", 'is "elsewhere": it must be controller-manager'),
            ("custom.sharding_configmap_enable=true", "the sharding controller needs the shards"),
        ],
    )
    def test_values_that_cannot_work_are_refused(self, setting: str, says: str) -> None:
        done = helm("template", "volcano", str(chart.CHART), "--set", setting)
        assert done.returncode != 0
        assert says in done.stderr

    @pytest.mark.xdist_group("charts")
    @pytest.mark.parametrize("values", VALUES)
    def test_kubernetes_takes_every_object(self, address: Address, values: str) -> None:
        documents = cluster_chart.parts(*VALUES[values])
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": chart.NAMESPACE}}
        cluster_chart.apply(address.kubeconfig, [namespace])

        said = cluster_chart.apply(address.kubeconfig, documents, "--dry-run=server")

        assert len(said.splitlines()) == len(documents)


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([folder() / "helm", *arguments], capture_output=True, text=True, timeout=120, check=False)


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [document for document in documents if document["kind"] == kind]


def containers(documents: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for document in [*of_kind(documents, "Deployment"), *of_kind(documents, "DaemonSet")]:
        for container in document["spec"]["template"]["spec"]["containers"]:
            yield document["metadata"]["name"], container
