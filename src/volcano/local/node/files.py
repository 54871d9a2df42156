"""Puts a pod's volumes on disk: folders, files with their modes, paths of the host.

Neighbours: `volumes` says what each volume is; `agent` calls this before a pod starts and when sources change.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from volcano.local.node.layout import Layout
from volcano.local.node.sources import PlanError
from volcano.local.node.supervisor.documents import PodPlan
from volcano.local.node.volumes import Claim, Content, EmptyFolder, Files, HostPath


def prepare(layout: Layout, plan: PodPlan, contents: Mapping[str, Content]) -> None:
    """Make everything exist that the pod's containers will find: volumes, sub-paths, working folders."""
    pod = layout.pod(plan["uid"])
    pod.view.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, content in contents.items():
        if isinstance(content, Files):
            write_files(pod.volume(name), content)
        elif isinstance(content, EmptyFolder):
            pod.volume(name).mkdir(parents=True, exist_ok=True)
            pod.volume(name).chmod(0o777)
        elif isinstance(content, Claim):
            layout.claim(content).mkdir(parents=True, exist_ok=True)
        else:
            _check_host_path(content)
    for container in (*plan["init"], *plan["containers"]):
        pod.work(container["name"]).mkdir(parents=True, exist_ok=True)
        if container["user"] is not None and os.geteuid() == 0:
            os.chown(pod.work(container["name"]), container["user"], -1)
        for mount in container["mounts"]:
            if not Path(mount["source"]).exists():
                Path(mount["source"]).mkdir(parents=True)


def write_files(folder: Path, content: Files) -> None:
    """Make `folder` hold exactly these files; each changes at once or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, file in content.files.items():
        target = folder / path
        if not target.resolve().is_relative_to(folder.resolve()):
            raise PlanError("FailedMount", f"file path {path!r} leads out of its volume", is_final=True)
        if target.is_file() and target.read_bytes() == file.content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}.new")
        fresh.write_bytes(file.content)
        fresh.chmod(file.mode)
        fresh.rename(target)
    wanted = {folder / path for path in content.files}
    for root, _, names in os.walk(folder):
        for name in names:
            if Path(root, name) not in wanted:
                Path(root, name).unlink()


def _check_host_path(volume: HostPath) -> None:
    path = Path(volume.path)
    if volume.kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    elif volume.kind == "FileOrCreate":
        path.touch()
    good = {"Directory": path.is_dir, "File": path.is_file, "Socket": path.is_socket}.get(volume.kind, path.exists)
    if not good():
        raise PlanError("FailedMount", f"hostPath {volume.path!r} is not a {volume.kind or 'path'} on this machine")
