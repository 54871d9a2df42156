"""What Kubernetes fills in where a pod's spec is silent. Also of the pod templates in workloads.

Neighbours: pods.py judges, workloads.py has the kinds that make pods.
"""

from __future__ import annotations

from volcano.api.meta import JsonObject

DEFAULT_GRACE_SECONDS = 30
_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))


def default_pod_spec(spec: JsonObject) -> None:
    """The defaults of Kubernetes for a pod's spec, containers and volumes included."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    for section in ("initContainers", "containers"):
        for container in spec.get(section) or ():
            _default_container(container)
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def default_pod(spec: JsonObject) -> None:
    """The same, and what only pods get and their templates do not."""
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    on_host = bool(spec.get("hostNetwork"))
    for section in ("initContainers", "containers"):
        for container in spec.get(section) or ():
            resources = container["resources"]
            if limits := resources.get("limits"):
                resources["requests"] = {**limits, **(resources.get("requests") or {})}
            for port in (container.get("ports") or ()) if on_host else ():
                port.setdefault("hostPort", port.get("containerPort"))


def _default_container(container: JsonObject) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = _pull_policy(container.get("image") or "")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if field := (variable.get("valueFrom") or {}).get("fieldRef"):
            field.setdefault("apiVersion", "v1")
    for name in _PROBES:
        if probe := container.get(name):
            _default_probe(probe)
    for action in (container.get("lifecycle") or {}).values():
        _default_http(action)
    if container.get("resources") is None:
        container["resources"] = {}


def _default_probe(probe: JsonObject) -> None:
    for name, value in _PROBE_DEFAULTS:
        probe.setdefault(name, value)
    if grpc := probe.get("grpc"):
        grpc.setdefault("service", "")
    _default_http(probe)


def _default_http(action: JsonObject) -> None:
    if request := action.get("httpGet"):
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")


def _default_volume(volume: JsonObject) -> None:
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        source = volume.get(kind)
        if source is not None:
            source.setdefault("defaultMode", _FILE_MODE)
    for projection in (volume, *((volume.get("projected") or {}).get("sources") or ())):
        for item in (projection.get("downwardAPI") or {}).get("items") or ():
            if field := item.get("fieldRef"):
                field.setdefault("apiVersion", "v1")
        if token := projection.get("serviceAccountToken"):
            token.setdefault("expirationSeconds", _TOKEN_SECONDS)
    if path := volume.get("hostPath"):
        path.setdefault("type", "")
    if claim := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    if len(volume) == 1:
        volume["emptyDir"] = {}


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"
