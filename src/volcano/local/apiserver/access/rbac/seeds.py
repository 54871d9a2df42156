"""The roles and bindings that every cluster has, read from roles.txt; its head says how it is written.

Neighbours: `bootstrap.py` stores them; aggregation.py fills the roles that are sums of others.
"""

from __future__ import annotations

from importlib.resources import files

from volcano.api.meta import JsonObject

GROUP = "rbac.authorization.k8s.io"
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_VERBS = {"read": list(_READ), "write": list(_WRITE), "all": sorted(_READ + _WRITE)}
_CONTROLLER = "system:controller:"


def load() -> list[JsonObject]:
    """Roles first, then bindings; each with its kind."""
    roles: list[JsonObject] = []
    bindings: list[JsonObject] = []
    for line in files(__package__).joinpath("roles.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("bind "):
            bindings.append(_binding(line.removeprefix("bind ")))
        elif line.startswith(" "):
            _add_to(roles[-1], line.split())
        else:
            roles.append(_role(line))
    bindings += [_controller_binding(role) for role in roles if _is_of_controller(role)]
    return roles + bindings


def _role(line: str) -> JsonObject:
    head, _, labels = line.partition(" : ")
    name, _, namespace = head.partition(" in ")
    meta = _metadata(name, namespace)
    meta["labels"] |= {f"{GROUP}/{label}": "true" for label in labels.split()}
    return {"kind": "Role" if namespace else "ClusterRole", "metadata": meta, "rules": []}


def _add_to(role: JsonObject, words: list[str]) -> None:
    """One more rule, or the label of the roles that this one is the sum of."""
    verbs, *what = words
    if verbs == "aggregates":
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {f"{GROUP}/{what[0]}": "true"}}]}
        return
    rule: JsonObject = {"verbs": _VERBS.get(verbs) or verbs.split(",")}
    if what[0].endswith(":"):
        names = what[what.index("=") + 1 :] if "=" in what else []
        groups = what[0].removesuffix(":").split(",")
        rule["apiGroups"] = ["" if group == "core" else group for group in groups]
        rule["resources"] = what[1 : what.index("=")] if names else what[1:]
        if names:
            rule["resourceNames"] = names
    else:
        rule["nonResourceURLs"] = what
    role["rules"].append(rule)


def _binding(line: str) -> JsonObject:
    head, _, subjects = line.partition(" =")
    head, _, role = head.partition(" to ")
    name, _, namespace = head.partition(" in ")
    return _bound(_metadata(name, namespace), role or name, [_subject(text) for text in subjects.split()])


def _is_of_controller(role: JsonObject) -> bool:
    return role["kind"] == "ClusterRole" and str(role["metadata"]["name"]).startswith(_CONTROLLER)


def _controller_binding(role: JsonObject) -> JsonObject:
    name = role["metadata"]["name"]
    return _bound(_metadata(name, ""), name, [_subject(f"account:kube-system/{name.removeprefix(_CONTROLLER)}")])


def _bound(meta: JsonObject, role: str, subjects: list[JsonObject]) -> JsonObject:
    prefix = "" if meta.get("namespace") else "Cluster"
    reference = {"apiGroup": GROUP, "kind": f"{prefix}Role", "name": role}
    return {"kind": f"{prefix}RoleBinding", "metadata": meta, "roleRef": reference, "subjects": subjects}


def _subject(text: str) -> JsonObject:
    kind, _, name = text.partition(":")
    if kind == "account":
        namespace, _, name = name.partition("/")
        return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return {"apiGroup": GROUP, "kind": kind.capitalize(), "name": name}


def _metadata(name: str, namespace: str) -> JsonObject:
    meta: JsonObject = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {AUTO_UPDATE: "true"},
    }
    return meta | {"namespace": namespace} if namespace else meta
