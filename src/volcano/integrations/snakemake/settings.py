"""What Snakemake wants to know of an executor beforehand, and what users may say on its command line.

Annotations are evaluated here: Snakemake makes its options from the types.
"""

from dataclasses import dataclass, field

from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """Options of the command line: `--volcano-queue` and so on."""

    queue: str = field(default="", metadata={"help": "Queue of the jobs."})
    namespace: str = field(default="", metadata={"help": "Namespace of the jobs."})
    kubeconfig: str = field(default="", metadata={"help": "Cluster to run on, if not the usual one."})
    image: str = field(default="", metadata={"help": "Image with Snakemake; not needed in local mode."})


COMMON_SETTINGS = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=True,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=1,
)
