"""A word to whoever creates what this server stores and no controller of local mode serves: nothing comes of it.

Neighbours: `volcano.local.builtin` has the controllers that there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.local.apiserver.admission.chain import Attributes

REMARKS = {
    "cronjobs.batch": "nothing here runs CronJobs of batch/v1: use a CronJob of batch.volcano.sh/v1alpha1",
    "replicationcontrollers": "nothing here makes pods for ReplicationControllers: use a Deployment of apps/v1",
    "horizontalpodautoscalers.autoscaling": "nothing here scales what HorizontalPodAutoscalers name",
    "ingresses.networking.k8s.io": "nothing here serves Ingresses: reach a pod with kubectl port-forward",
    "networkpolicies.networking.k8s.io": "nothing here enforces NetworkPolicies: pods share the machine's network",
}
"""By resource. What is inert elsewhere too, such as a PodTemplate, is not among them."""


class InertKinds:
    """Changes and refuses nothing."""

    def mutate(self, attributes: Attributes) -> None:
        """Nothing."""

    def validate(self, attributes: Attributes) -> None:
        """Remark on new objects; a change comes from somebody who has been told."""
        call = attributes.call
        remark = REMARKS.get(call.resource.qualified)
        if remark is not None and attributes.operation == "CREATE" and not call.subresource:
            call.warnings.append(remark)
