"""Variables of a container: expansion, references, the downward API."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.local.node.pods import container, facts, pod
from volcano.local.node.environment import environment_of, expand
from volcano.local.node.sources import PlanError, Sources

SOURCES = Sources(
    config_maps={"settings": {"data": {"MODE": "fast", "bad key": "x"}}},
    secrets={"login": {"data": {"password": base64.b64encode(b"s3cret").decode()}}},
)


def resolve(**more: Any) -> dict[str, str]:
    main = container("true", **more)
    return environment_of(main, facts(pod(main)), SOURCES, {"PATH": "/bin"})


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("x$(A)$(B)y", "x12y"),
        ("$(MISSING)", "$(MISSING)"),
        ("$$(A)", "$(A)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$$$$", "$$"),
    ],
)
def test_references_expand_as_kubernetes_does(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expanded


def test_later_variables_see_and_override_earlier_ones() -> None:
    env = resolve(
        env=[{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}, {"name": "PATH", "value": "$(PATH):/x"}]
    )

    assert env == {"PATH": "/bin:/x", "A": "1", "B": "12"}


def test_whole_config_maps_and_secrets_come_in_with_a_prefix_and_only_valid_names() -> None:
    env = resolve(envFrom=[{"prefix": "C_", "configMapRef": {"name": "settings"}}, {"secretRef": {"name": "login"}}])

    assert env == {"PATH": "/bin", "C_MODE": "fast", "password": "s3cret"}


def test_single_keys_and_fields_and_resources() -> None:
    env = resolve(
        resources={"limits": {"cpu": "1500m"}, "requests": {"memory": "1Gi"}},
        env=[
            {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "MODE"}}},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {
                "name": "MEMORY",
                "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}},
            },
            {"name": "NODE_MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Gi"}}},
        ],
    )

    assert env["MODE"] == "fast"
    assert env["PASSWORD"] == "s3cret"
    assert env["POD_IP"] == "127.1.2.3"
    assert env["APP"] == "demo"
    assert env["CPUS"] == "2"
    assert env["MEMORY"] == "1024"
    assert env["NODE_MEMORY"] == "8"


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ({"configMapKeyRef": {"name": "nope", "key": "x"}}, 'configmap "nope" not found in namespace "default"'),
        ({"secretKeyRef": {"name": "login", "key": "x"}}, "couldn't find key x in secret login"),
        ({"fieldRef": {"fieldPath": "spec.color"}}, "fieldPath 'spec.color' is not supported"),
    ],
)
def test_what_is_missing_is_named(origin: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        resolve(env=[{"name": "A", "valueFrom": origin}])

    assert caught.value.reason == "CreateContainerConfigError"


def test_optional_references_may_be_missing() -> None:
    reference = {"name": "nope", "key": "x", "optional": True}

    assert resolve(env=[{"name": "A", "valueFrom": {"configMapKeyRef": reference}}]) == {"PATH": "/bin"}
