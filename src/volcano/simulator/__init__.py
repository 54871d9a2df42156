"""What stands in for a cluster when the engine runs on manifests alone."""
