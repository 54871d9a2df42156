"""task-topology: keep roles of a job together or apart."""

from volcano.scheduler.plugins.task_topology.plugin import TaskTopology as TaskTopology
