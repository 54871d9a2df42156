"""network-topology-aware: members of a job close to each other, domains filled one after the other."""

from volcano.scheduler.plugins.network_topology.plugin import NetworkTopologyAware as NetworkTopologyAware
