"""numa-aware: pods with exclusive CPUs go where the kubelet will find them close together."""

from volcano.scheduler.plugins.numa_aware.plugin import NumaAware as NumaAware
