"""A small Kubernetes on this machine: API server, nodes, the controllers jobs need, and their bring-up."""
