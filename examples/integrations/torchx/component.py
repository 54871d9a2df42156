"""A component of two replicas that meet: rank 0 adds up what all ranks send.

torchx run --workspace "" --scheduler kubernetes --scheduler_args queue=default,namespace=default --wait --log \
    examples/integrations/torchx/component.py:sum_of_ranks

Annotations are evaluated here: torchx makes its options from the types.
"""

import sys
from pathlib import Path

from torchx import specs


def sum_of_ranks(replicas: int = 2, program: str = "examples/integrations/torchx/peer.py") -> specs.AppDef:
    """Start `replicas` peers that find each other by the host name of rank 0.

    Args:
        replicas: how many peers there are
        program: what each of them runs
    """
    host = f"$${{{specs.macros.rank0_env}:=localhost}}"
    words = f"exec {sys.executable} {Path(program).absolute()} {specs.macros.replica_id} {replicas} {host}"
    role = specs.Role(
        name="peer",
        image="python:3",
        entrypoint="sh",
        args=["-c", words],
        num_replicas=replicas,
        resource=specs.Resource(cpu=1, gpu=0, memMB=128),
    )
    return specs.AppDef(name="ranks", roles=[role])
