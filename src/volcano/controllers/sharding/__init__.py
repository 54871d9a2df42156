"""The sharding controller: divides the nodes between several schedulers."""
