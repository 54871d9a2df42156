"""Every annotation, label, taint, finalizer and environment name of the system, once."""

from __future__ import annotations

from typing import Final

# Pods of a job (annotations; most are labels as well)
TASK_SPEC: Final = "volcano.sh/task-spec"
TASK_INDEX: Final = "volcano.sh/task-index"
TASK_PRIORITY: Final = "volcano.sh/task-priority"
JOB_NAME: Final = "volcano.sh/job-name"
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"
QUEUE_NAME: Final = "volcano.sh/queue-name"
JOB_VERSION: Final = "volcano.sh/job-version"
JOB_RETRY_COUNT: Final = "volcano.sh/job-retry-count"
JOB_TYPE: Final = "volcano.sh/job-type"
TEMPLATE_UID: Final = "volcano.sh/template-uid"
PARTITION_ID: Final = "volcano.sh/partition-id"
CONTROLLER_OUT_OF_SYNC: Final = "volcano.sh/controller-out-of-sync"
JOB_FORWARDING: Final = "volcano.sh/job-forwarding"
RETURNS: Final = "volcano.sh/returns"
AFTER: Final = "volcano.sh/after"
AT_ONCE: Final = "volcano.sh/at-once"

# Pod groups
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
VOLCANO_GROUP_NAME: Final = "scheduling.volcano.sh/group-name"
GROUP_MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"
POD_QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"
QUEUE_ALLOCATION_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"
POD_GROUP_PREFIX: Final = "podgroup-"
VOLCANO_PREFIX: Final = "volcano.sh/"

# Jobs, flows, cron jobs
SLA_WAITING_TIME: Final = "volcano.sh/sla-waiting-time"
CRONJOB_SCHEDULED_TIMESTAMP: Final = "volcano.sh/cronjob-scheduled-timestamp"
CREATED_BY_JOB_FLOW: Final = "volcano.sh/createdByJobFlow"
CREATED_BY_JOB_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"
JOB_ALLOCATED_HYPERNODE: Final = "volcano.sh/job-allocated-hypernode"

# Queues
HIERARCHY: Final = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS: Final = "volcano.sh/hierarchy-weights"
CLOSED_BY_PARENT: Final = "volcano.sh/closed-by-parent"
RESOURCE_GROUP: Final = "volcano.sh/resource-group"
ADMISSION_CREDIT: Final = "volcano.sh/admission-credit"
NODEGROUP_NAME: Final = "volcano.sh/nodegroup-name"
NODEGROUP_RESOURCE_LIMITS: Final = "volcano.sh/nodegroup-resource-limits"

# Disruption and preemption
PREEMPTABLE: Final = "volcano.sh/preemptable"
COOLDOWN_TIME: Final = "volcano.sh/cooldown-time"
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"
JDB_MIN_AVAILABLE: Final = "volcano.sh/jdb-min-available"
JDB_MAX_UNAVAILABLE: Final = "volcano.sh/jdb-max-unavailable"

# Topology
NUMA_TOPOLOGY_POLICY: Final = "volcano.sh/numa-topology-policy"
NETWORK_TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"
NETWORK_TOPOLOGY_HIGHEST_TIER: Final = "volcano.sh/network-topology-highest-tier"
NETWORK_TOPOLOGY_SOURCE: Final = "volcano.sh/network-topology-source"
TASK_TOPOLOGY_AFFINITY: Final = "volcano.sh/task-topology-affinity"
TASK_TOPOLOGY_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
TASK_TOPOLOGY_TASK_ORDER: Final = "volcano.sh/task-topology-task-order"

# Scoring
RESOURCE_STRATEGY_SCORING_TYPE: Final = "volcano.sh/resource-strategy-scoring-type"
RESOURCE_STRATEGY_WEIGHT: Final = "volcano.sh/resource-strategy-weight"

# Colocation and oversubscription
COLOCATION_CONFIG: Final = "volcano.sh/colocation-config"
COLOCATION_CONFIG_NAME: Final = "volcano.sh/colocation-config-name"
COLOCATION: Final = "volcano.sh/colocation"
OVERSUBSCRIPTION: Final = "volcano.sh/oversubscription"
OVERSUBSCRIPTION_TYPES: Final = "volcano.sh/oversubscription-types"
OFFLINE_JOB_EVICTING: Final = "volcano.sh/offline-job-evicting"
QOS_LEVEL: Final = "volcano.sh/qos-level"
QUOTA_BURST: Final = "volcano.sh/enable-quota-burst"
QUOTA_BURST_TIME: Final = "volcano.sh/quota-burst-time"
OVERSUBSCRIPTION_CPU: Final = "volcano.sh/oversubscription-cpu"
OVERSUBSCRIPTION_MEMORY: Final = "volcano.sh/oversubscription-memory"
NETWORK_BANDWIDTH_RATE: Final = "volcano.sh/network-bandwidth-rate"
NODE_WARMUP: Final = "node.volcano.sh/warmup"

# Devices
GPU_MEMORY: Final = "volcano.sh/gpu-memory"
GPU_NUMBER: Final = "volcano.sh/gpu-number"
GPU_INDEX: Final = "volcano.sh/gpu-index"
GPU_UNHEALTHY_IDS: Final = "volcano.sh/gpu-unhealthy-ids"
PREDICATE_TIME: Final = "volcano.sh/predicate-time"
VGPU_NUMBER: Final = "volcano.sh/vgpu-number"
VGPU_MEMORY: Final = "volcano.sh/vgpu-memory"
VGPU_CORES: Final = "volcano.sh/vgpu-cores"
VGPU_MODE: Final = "volcano.sh/vgpu-mode"
VGPU_NODE: Final = "volcano.sh/vgpu-node"
VGPU_TIME: Final = "volcano.sh/vgpu-time"
VGPU_IDS: Final = "volcano.sh/vgpu-ids-new"
VGPU_REGISTER: Final = "volcano.sh/node-vgpu-register"
VGPU_POD_GROUP_POLICY: Final = "volcano.sh/vgpu-podgroup-policy"
VGPU_USE_UUID: Final = "volcano.sh/vgpu-use-gpuuuid"
VGPU_NO_USE_UUID: Final = "volcano.sh/vgpu-nouse-gpuuuid"
DEVICES_TO_ALLOCATE: Final = "volcano.sh/devices-to-allocate"
DEVICE_BIND_PHASE: Final = "volcano.sh/bind-phase"
DEVICE_BIND_TIME: Final = "volcano.sh/bind-time"
HCCL_RANK_INDEX: Final = "hccl/rankIndex"

# Simulated runs (annotations of a pod): runs for a duration such as "5s" (absent: until deleted), then exits so
SIMULATE: Final = "volcano.sh/simulate"
SIMULATE_DURATION: Final = "volcano.sh/simulate-duration"
SIMULATE_EXIT_CODE: Final = "volcano.sh/simulate-exit-code"

# Simulated nodes (labels): every pod there is pretended; the name of the process node whose daemon serves them
SIMULATED: Final = "volcano.sh/simulated"
SIMULATED_BY: Final = "volcano.sh/simulated-by"

# Kubernetes' own
HOSTNAME: Final = "kubernetes.io/hostname"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
OS: Final = "kubernetes.io/os"
ARCH: Final = "kubernetes.io/arch"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
TAINT_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
TAINT_NOT_READY: Final = "node.kubernetes.io/not-ready"
TAINT_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
DEFAULT_STORAGE_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
FINALIZER_FOREGROUND: Final = "foregroundDeletion"
FINALIZER_ORPHAN: Final = "orphan"
BATCH_JOB_NAME: Final = "batch.kubernetes.io/job-name"
BATCH_JOB_COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
BATCH_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
POD_TEMPLATE_HASH: Final = "pod-template-hash"
CONTROLLER_REVISION_HASH: Final = "controller-revision-hash"
STATEFUL_SET_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
DEPLOYMENT_REVISION: Final = "deployment.kubernetes.io/revision"

# Names and values
DEFAULT_QUEUE: Final = "default"
ROOT_QUEUE: Final = "root"
DEFAULT_SCHEDULER_NAME: Final = "volcano"
DEFAULT_TASK_SPEC: Final = "default"

# Environment of a job's containers
ENV_TASK_INDEX: Final = "VC_TASK_INDEX"
ENV_TASK_INDEX_LEGACY: Final = "VK_TASK_INDEX"
ENV_MPI_HOST: Final = "MPI_HOST"
ENV_MASTER_ADDR: Final = "MASTER_ADDR"
ENV_MASTER_PORT: Final = "MASTER_PORT"
ENV_WORLD_SIZE: Final = "WORLD_SIZE"
ENV_RANK: Final = "RANK"
ENV_TF_CONFIG: Final = "TF_CONFIG"

COMMAND_MARKER: Final = "command"
"""Among the controlledResources of a job: the UID of the Command that the status shows the effect of."""
