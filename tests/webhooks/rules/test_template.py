"""Pod templates: Kubernetes' own complaints, made before a pod exists."""

from __future__ import annotations

from typing import Any

import pytest

from volcano.webhooks.rules import template
from volcano.webhooks.rules.fields import text

GOOD = {"name": "main", "image": "busybox"}


def errors(**spec: Any) -> list[str]:
    document = {"spec": {"containers": [GOOD], **spec}}
    return [text(cause) for cause in template.errors(document, "template", pod_level_resources=True)]


def container(**fields: Any) -> list[str]:
    return errors(containers=[{**GOOD, **fields}])


def test_a_good_template_has_no_errors():
    assert errors() == []
    assert (
        container(resources={"requests": {"cpu": "500m", "nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": "1"}}) == []
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (errors(containers=[]), "template.spec.containers: Required value"),
        (errors(containers=[{"name": "main"}]), "template.spec.containers[0].image: Required value"),
        (errors(containers=[GOOD, GOOD]), 'template.spec.containers[1].name: Duplicate value: "main"'),
        (
            errors(restartPolicy="Sometimes"),
            'template.spec.restartPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "Never", "OnFailure"',
        ),
        (
            container(volumeMounts=[{"name": "data", "mountPath": "/data"}]),
            'template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
        ),
        (
            container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            'template.spec.containers[0].resources.requests: Invalid value: "2": '
            "must be less than or equal to cpu limit of 1",
        ),
        (
            container(resources={"requests": {"nvidia.com/gpu": "1"}}),
            "template.spec.containers[0].resources.limits: Required value: "
            "Limit must be set for non overcommitable resources",
        ),
        (
            container(resources={"limits": {"nvidia.com/gpu": "500m"}}),
            'template.spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
        ),
        (
            container(ports=[{"containerPort": 70000}]),
            "template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: "
            "must be between 1 and 65535, inclusive",
        ),
        (
            errors(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
            'template.spec.volumes[1].name: Duplicate value: "v"',
        ),
        (
            errors(tolerations=[{"operator": "Equal", "value": "x"}]),
            'template.spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when '
            '`key` is empty, which means \\"match all values and all keys\\"'.replace('\\"', '"'),
        ),
        (
            errors(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}),
            "template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
            "Required value: can not be empty",
        ),
    ],
)
def test_what_is_wrong_is_said_in_kubernetes_words(found: list[str], expected: str):
    assert found == [expected]


def test_init_containers_count_where_they_need_more_than_the_main_ones():
    big = {**GOOD, "name": "init", "resources": {"requests": {"cpu": "4"}}}
    small = {**GOOD, "resources": {"requests": {"cpu": "1"}}}

    found = errors(initContainers=[big], containers=[small], resources={"requests": {"cpu": "3"}})

    assert found == [
        'template.spec.resources.requests[cpu]: Invalid value: "3": '
        "must be greater than or equal to aggregate container requests of 4"
    ]


@pytest.mark.parametrize("damaged", [None, 1, "x", [], [1], {"spec": None}, {"containers": "x"}])
def test_documents_of_any_shape_are_survived(damaged: Any):
    document = damaged if isinstance(damaged, dict) else {"spec": damaged}

    assert list(template.errors(document, "template", pod_level_resources=True))
