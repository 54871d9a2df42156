"""resource-strategy-fit: per resource, fill nodes or spread over them; keep scarce resources for who needs them."""

from volcano.scheduler.plugins.resource_strategy_fit.plugin import ResourceStrategyFit as ResourceStrategyFit
