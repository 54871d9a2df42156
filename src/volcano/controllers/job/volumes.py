"""Volumes of a job: claims to create or to find, and their mounts in every container.

Pure. Used by sync.py (claims) and pods.py (mounts). Names are derived, never drawn: the same job, the same names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.controllers.job.plan import Claim
from volcano.controllers.owners import controller_reference

if TYPE_CHECKING:
    from volcano.api.batch import Job, VolumeSpec

NAME_LENGTH = 63
_HASH_LENGTH = 12


def claims_of(job: Job) -> tuple[dict[int, str], Sequence[Claim]]:
    """Names for the volumes that have none (by position), and every claim of the job."""
    generated: dict[int, str] = {}
    claims: list[Claim] = []
    for position, volume in enumerate(job.spec.volumes):
        name = claim_name(job, position)
        if volume.volume_claim_name not in {"", name}:
            claims.append(Claim(volume.volume_claim_name))
            continue
        if not volume.volume_claim_name:
            generated[position] = name
        claims.append(Claim(name, _manifest(job, name, volume) if volume.volume_claim else None))
    return generated, claims


def claim_name(job: Job, position: int) -> str:
    """`<job>-pvc-<hash>`: the same after a restart of the controller, so no claim is made twice."""
    return f"{shortened(job.metadata.name, NAME_LENGTH - 17)}-pvc-{_digest(job.metadata.uid, str(position))}"


def mounts_of(job: Job) -> Iterator[tuple[JsonObject, JsonObject]]:
    """(volume, mount) of each claim; a claim named twice is mounted once."""
    seen: set[str] = set()
    for position, volume in enumerate(job.spec.volumes):
        claim = volume.volume_claim_name or claim_name(job, position)
        if claim in seen:
            continue
        seen.add(claim)
        name = f"{shortened(job.metadata.name, NAME_LENGTH - 13)}-{_digest(claim)}"
        yield (
            {"name": name, "persistentVolumeClaim": {"claimName": claim}},
            {"name": name, "mountPath": volume.mount_path},
        )


def shortened(text: str, length: int) -> str:
    """`text`, or its beginning and a hash where it is longer than `length`."""
    if len(text) <= length:
        return text
    return f"{text[: length - 9].rstrip('-._')}-{_digest(text)[:8]}"


def _manifest(job: Job, name: str, volume: VolumeSpec) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": job.metadata.namespace,
            "ownerReferences": [controller_reference(job)],
        },
        "spec": volume.volume_claim,
    }


def _digest(*parts: str) -> str:
    """Lower-case letters and digits, as names want them."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_HASH_LENGTH]
