"""usage: keep away from nodes that are hot by measurement, not only by request."""

from volcano.scheduler.plugins.usage.plugin import Usage as Usage
