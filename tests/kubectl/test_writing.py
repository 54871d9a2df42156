"""Commands that change: create, apply both ways, patch in all its kinds, edit, label, replace, delete."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.kubectl.objects import config_map, deployment, pod, vcjob
from tests.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kubectl.harness import Kubectl

pytestmark = pytest.mark.xdist_group("kubectl")


def document(*documents: Any) -> str:
    return yaml.safe_dump_all(documents)


@pytest.mark.parametrize(
    ("args", "kind", "expected"),
    [
        (("configmap", "x", "--from-literal=a=1"), "cm", {"data": {"a": "1"}}),
        (("secret", "generic", "x", "--from-literal=a=b"), "secret", {"data": {"a": "Yg=="}, "type": "Opaque"}),
        (("serviceaccount", "x"), "sa", {}),
        (("job", "x", "--image=busybox", "--", "sleep", "1"), "job.batch", {}),
        (("deployment", "x", "--image=busybox", "--replicas=0"), "deploy", {}),
        (("quota", "x", "--hard=cpu=1,pods=2"), "quota", {"spec": {"hard": {"cpu": "1", "pods": "2"}}}),
        (("role", "x", "--verb=get,list", "--resource=pods"), "role", {}),
        (("rolebinding", "x", "--role=x", "--serviceaccount=default:y"), "rolebinding", {}),
        (("service", "clusterip", "x", "--tcp=80:8080"), "svc", {}),
        (("poddisruptionbudget", "x", "--selector=a=b", "--min-available=1"), "pdb", {}),
        (("cronjob", "x", "--image=busybox", "--schedule=0 * * * *"), "cronjob.batch", {}),
        (("ingress", "x", "--rule=a.example/*=s:80"), "ingress", {}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_create_makes(kubectl: Kubectl, args: tuple[str, ...], kind: str, expected: dict[str, Any]) -> None:
    assert "created" in kubectl("create", *args).out
    made = kubectl.get(kind, "x")
    assert made["metadata"]["uid"]
    assert {key: made[key] for key in expected} == expected
    assert "already exists" in kubectl("create", *args, fails=True).err


def test_create_makes_what_belongs_to_the_cluster(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-x"
    kubectl("create", "priorityclass", name, "--value=7", "--description=test")
    assert kubectl("get", "pc", name, "--no-headers").out.split()[:2] == [name, "7"]
    kubectl("create", "clusterrole", name, "--verb=get", "--resource=nodes")
    kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", "--user=u")
    kubectl("delete", "pc,clusterrole,clusterrolebinding", name)


def test_create_token_answers_with_a_token(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "x")
    assert kubectl("create", "token", "x").out.count(".") == 2


def test_create_refuses_what_it_does_not_know(kubectl: Kubectl) -> None:
    wrong = {**vcjob("j"), "spec": {**vcjob("j")["spec"], "minavailable": 1}}
    assert 'unknown field "spec.minavailable"' in kubectl("create", "-f", "-", stdin=document(wrong), fails=True).err
    assert "created" in kubectl("create", "--validate=ignore", "-f", "-", stdin=document(wrong)).out
    typed = {**vcjob("k"), "spec": {**vcjob("k")["spec"], "minAvailable": "one"}}
    assert "spec.minAvailable" in kubectl("create", "-f", "-", stdin=document(typed), fails=True).err
    assert (
        'unknown field "spec.containrs"'
        in kubectl("create", "-f", "-", stdin=document(pod("p", containrs=[])), fails=True).err
    )


def test_dry_runs_change_nothing(kubectl: Kubectl) -> None:
    out = kubectl("create", "-f", "-", "--dry-run=server", stdin=document(config_map("c"))).out
    assert out == "configmap/c created (server dry run)\n"
    assert "not found" in kubectl("get", "cm", "c", fails=True).err


def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    first, second = config_map("c", a="1", b="1"), config_map("c", a="2")
    assert kubectl("apply", "-f", "-", stdin=document(first)).out == "configmap/c created\n"
    assert kubectl("apply", "-f", "-", stdin=document(first)).out == "configmap/c unchanged\n"
    kubectl("patch", "cm", "c", "-p", '{"data":{"other":"x"}}')
    assert kubectl("apply", "-f", "-", stdin=document(second)).out == "configmap/c configured\n"
    assert kubectl.get("cm", "c")["data"] == {"a": "2", "other": "x"}


def test_apply_merges_lists_by_their_keys(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=document(deployment("d", replicas=0)))
    sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "s"}]}}}}
    kubectl("patch", "deploy", "d", "-p", json.dumps(sidecar))
    assert kubectl("apply", "-f", "-", stdin=document(deployment("d", replicas=0, image="new"))).out.endswith(
        "configured\n"
    )
    containers = kubectl.get("deploy", "d")["spec"]["template"]["spec"]["containers"]
    assert {item["name"]: item["image"] for item in containers} == {"main": "new", "sidecar": "s"}


def test_apply_of_a_volcano_job(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=document(vcjob("j")))
    first = kubectl.get("vcjob", "j")
    kubectl("apply", "-f", "-", stdin=document(vcjob("j")))
    assert kubectl.get("vcjob", "j")["spec"] == first["spec"]
    changed = vcjob("j")
    changed["spec"]["tasks"][0]["replicas"] = 2
    assert kubectl("apply", "-f", "-", stdin=document(changed)).out == "job.batch.volcano.sh/j configured\n"
    assert kubectl.get("vcjob", "j")["spec"]["tasks"][0]["replicas"] == 2


def test_apply_prunes_and_diffs(kubectl: Kubectl) -> None:
    one, two = config_map("one", a="1"), config_map("two")
    for item in (one, two):
        item["metadata"]["labels"] = {"set": "s"}
    kubectl("apply", "-f", "-", stdin=document(one, two))
    one["data"]["a"] = "2"
    assert re.search(r'^\+ +a: "2"$', kubectl("diff", "-f", "-", stdin=document(one), fails=True).out, re.MULTILINE)
    pruned = kubectl(
        "apply", "-f", "-", "--prune", "-l", "set=s", "--prune-allowlist=core/v1/ConfigMap", stdin=document(one)
    )
    assert "configmap/two pruned" in pruned.out
    kubectl("diff", "-f", "-", stdin=document(one))


def test_server_side_apply_shares_an_object(kubectl: Kubectl) -> None:
    mine, yours = config_map("c", a="1"), config_map("c", b="1")
    assert kubectl("apply", "--server-side", "-f", "-", stdin=document(mine)).out == "configmap/c serverside-applied\n"
    kubectl("apply", "--server-side", "--field-manager=you", "-f", "-", stdin=document(yours))
    assert kubectl.get("cm", "c")["data"] == {"a": "1", "b": "1"}
    taken = document(config_map("c", a="9", b="1"))
    refused = kubectl("apply", "--server-side", "--field-manager=you", "-f", "-", stdin=taken, fails=True)
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.a' in refused.err
    kubectl("apply", "--server-side", "--field-manager=you", "--force-conflicts", "-f", "-", stdin=taken)
    assert kubectl.get("cm", "c")["data"] == {"a": "9", "b": "1"}
    managers = kubectl("get", "cm", "c", "--show-managed-fields", "-o", "json").json["metadata"]["managedFields"]
    assert {entry["manager"] for entry in managers} == {"you"}


def test_server_side_apply_takes_over_from_client_side(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=document(config_map("c", a="1", b="1")))
    kubectl("apply", "--server-side", "-f", "-", stdin=document(config_map("c", a="2")))
    assert kubectl.get("cm", "c")["data"] == {"a": "2"}
    assert "configured" in kubectl("apply", "-f", "-", stdin=document(config_map("c", a="3"))).out


@pytest.mark.parametrize("kind", ["strategic", "merge", "json"])
def test_patch_of_each_kind(kubectl: Kubectl, kind: str) -> None:
    kubectl.create(pod("p", node=""))
    patch: Any = {"spec": {"containers": [{"name": "main", "image": "new"}]}}
    if kind == "merge":
        patch = {"metadata": {"labels": {"app": None, "tier": "x"}}}
    if kind == "json":
        patch = [{"op": "replace", "path": "/spec/containers/0/image", "value": "new"}]
    kubectl("patch", "pod", "p", f"--type={kind}", "-p", json.dumps(patch))
    patched = kubectl.get("pod", "p")
    if kind == "merge":
        assert patched["metadata"]["labels"] == {"tier": "x"}
    else:
        assert patched["spec"]["containers"][0]["image"] == "new"
        assert patched["spec"]["containers"][0]["command"] == ["sleep", "600"]


def test_patch_of_the_status(kubectl: Kubectl) -> None:
    kubectl.create(vcjob("j"))
    patch = '{"status":{"retryCount":7},"spec":{"minAvailable":0}}'
    kubectl("patch", "vcjob", "j", "--subresource=status", "--type=merge", "-p", patch)
    job = kubectl.get("vcjob", "j")
    assert (job["status"]["retryCount"], job["spec"]["minAvailable"]) == (7, 1)


def test_a_json_patch_whose_test_fails_says_which(kubectl: Kubectl) -> None:
    kubectl.create(config_map("c"))
    test = '[{"op":"test","path":"/data/a","value":"x"}]'
    assert "testing path /data/a failed" in kubectl("patch", "cm", "c", "--type=json", "-p", test, fails=True).err


def test_a_kind_without_strategic_merges_refuses_them(kubectl: Kubectl) -> None:
    kubectl.create(vcjob("j"))
    strategic = kubectl("patch", "vcjob", "j", "--type=strategic", "-p", '{"spec":{}}', fails=True)
    assert "strategic-merge-patch+json is not supported by" in strategic.err


def test_edit_changes_what_the_editor_changed(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.create(config_map("c", a="before"), vcjob("j"))
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i -e 's/before/after/' -e 's/replicas: 1/replicas: 4/' \"$1\"\n")
    editor.chmod(0o755)
    assert "edited" in kubectl("edit", "cm", "c", env={"EDITOR": str(editor)}).out
    assert kubectl.get("cm", "c")["data"] == {"a": "after"}
    kubectl("edit", "vcjob", "j", env={"EDITOR": str(editor)})
    assert kubectl.get("vcjob", "j")["spec"]["tasks"][0]["replicas"] == 4
    assert "no changes made" in kubectl("edit", "cm", "c", env={"EDITOR": "true"}).err


def test_labels_annotations_images_and_taints(kubectl: Kubectl) -> None:
    kubectl.create(deployment("d", replicas=0))
    kubectl("label", "deploy", "d", "a=b", "c=d")
    kubectl("label", "deploy", "d", "a-", "c=e", "--overwrite")
    assert kubectl.get("deploy", "d")["metadata"]["labels"] == {"c": "e"}
    kubectl("annotate", "deploy", "d", "note=x")
    assert kubectl.get("deploy", "d")["metadata"]["annotations"]["note"] == "x"
    kubectl("set", "image", "deploy/d", "main=other")
    kubectl("set", "env", "deploy/d", "A=1")
    container = kubectl.get("deploy", "d")["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["env"]) == ("other", [{"name": "A", "value": "1"}])
    kubectl("taint", "node", "local", "t=x:PreferNoSchedule")
    kubectl("taint", "node", "local", "t-")
    eventually("no taint", lambda: not kubectl.get("node", "local")["spec"].get("taints"))


def test_replace_needs_the_latest_version(kubectl: Kubectl) -> None:
    kubectl.create(config_map("c", a="1"))
    stale = kubectl.get("cm", "c")
    kubectl("label", "cm", "c", "x=y")
    stale["data"]["a"] = "2"
    assert "the object has been modified" in kubectl("replace", "-f", "-", stdin=json.dumps(stale), fails=True).err
    kubectl("replace", "-f", "-", stdin=document(config_map("c", a="3")))
    assert kubectl.get("cm", "c")["data"] == {"a": "3"}
    kubectl("replace", "--force", "-f", "-", stdin=document(config_map("c", a="4")))
    assert kubectl.get("cm", "c")["data"] == {"a": "4"}


def test_scale_changes_the_replicas(kubectl: Kubectl) -> None:
    kubectl.create(deployment("d", replicas=0))
    assert kubectl("scale", "deployment", "d", "--replicas=1").out == "deployment.apps/d scaled\n"
    assert kubectl.get("deploy", "d")["spec"]["replicas"] == 1
    assert (
        "Expected replicas to be 7"
        in kubectl("scale", "deployment", "d", "--current-replicas=7", "--replicas=2", fails=True).err
    )


def test_autoscale_notes_the_bounds(kubectl: Kubectl) -> None:
    client = kubectl("version", "--client", "-o", "json").json["clientVersion"]
    if int(client["minor"].rstrip("+")) < 33:
        pytest.skip("kubectl before 1.33 speaks autoscaling/v1, which is not served")
    kubectl.create(deployment("d", replicas=0))
    kubectl("autoscale", "deployment", "d", "--min=1", "--max=3")
    assert kubectl.get("hpa", "d")["spec"]["maxReplicas"] == 3


def test_delete_in_its_ways(kubectl: Kubectl) -> None:
    kubectl.create(*(config_map(name) for name in ("a", "b", "c", "d")))
    assert kubectl("delete", "cm", "a").out.startswith('configmap "a" deleted')
    kubectl("label", "cm", "b", "x=y")
    kubectl("delete", "cm", "-l", "x=y")
    kubectl("delete", "-f", "-", stdin=document(config_map("c")))
    assert "not found" in kubectl("delete", "cm", "a", fails=True).err
    kubectl("delete", "cm", "a", "--ignore-not-found")
    kubectl("delete", "cm", "d", "--wait=false")
    kubectl("delete", "cm", "--all")
    assert kubectl.get("cm", "--field-selector=metadata.name!=kube-root-ca.crt")["items"] == []


def test_a_namespace_goes_with_everything_in_it(kubectl: Kubectl) -> None:
    kubectl.create(config_map("c"), vcjob("j"))
    kubectl("delete", "namespace", kubectl.namespace, "--timeout=90s")
    assert "not found" in kubectl("get", "namespace", kubectl.namespace, fails=True).err


def test_custom_kinds_come_and_go(kubectl: Kubectl) -> None:
    group = f"{kubectl.namespace}.example.com"
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3, "minimum": 1}}}
        },
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                }
            ],
        },
    }
    kubectl("apply", "-f", "-", stdin=document(definition))
    kubectl("wait", "--for=condition=Established", f"crd/things.{group}", "--timeout=90s")
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}}
    eventually("the kind to be served", lambda: kubectl.run("apply", "-f", "-", stdin=document(thing)).code == 0)
    assert kubectl("get", f"things.{group}").column("SIZE") == ["3"]
    too_small = {**thing, "spec": {"size": 0}}
    assert "spec.size" in kubectl("apply", "-f", "-", stdin=document(too_small), fails=True).err
    kubectl("delete", "crd", f"things.{group}", "--timeout=90s")
