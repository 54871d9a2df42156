"""Policies as objects: complete, bound, under unique names, and saying what the rules say.

Whether their expressions hold is asked of a real API server (tests/kube_cluster/test_policies.py).
"""

from __future__ import annotations

import yaml
from click.testing import CliRunner

from volcano.cli.main import vcctl
from volcano.webhooks.policies import mutating_policies, validating_policies
from volcano.webhooks.rules.model import ResourceGroup, Settings
from volcano.webhooks.rules.topology import TIER_CONFLICT


def test_every_policy_is_bound() -> None:
    settings = Settings(resource_groups=(ResourceGroup(resource_group="a", scheduler_name="s"),))
    for documents in (validating_policies(settings), mutating_policies(settings)):
        policies = {one["metadata"]["name"] for one in documents if not one["kind"].endswith("Binding")}
        bound = [one["spec"]["policyName"] for one in documents if one["kind"].endswith("Binding")]
        assert len(policies) == len(bound)
        assert policies == set(bound)


def test_texts_are_those_of_the_rules() -> None:
    found = [
        check["message"]
        for document in validating_policies(Settings())
        for check in document["spec"].get("validations", [])
    ]

    assert found.count(TIER_CONFLICT) == 4
    assert all(message == message.strip() for message in found)


def test_schedulers_are_those_of_the_settings() -> None:
    documents = validating_policies(Settings(scheduler_names=("volcano", "mine")))
    pods = next(one for one in documents if one["metadata"]["name"] == "pod-validation-policy")

    assert '"volcano", "mine"' in pods["spec"]["matchConditions"][0]["expression"]


def test_vcctl_prints_them_for_kubectl() -> None:
    done = CliRunner().invoke(vcctl, ["policies", "--kind", "mutating"])

    assert done.exit_code == 0
    kinds = {item["kind"] for item in yaml.safe_load(done.output)["items"]}
    assert kinds == {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
