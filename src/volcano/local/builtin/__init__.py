"""The Kubernetes controllers a batch user meets: namespaces, owner collection, service accounts, workloads.

Neighbours: `volcano.kube` (client, informers, queues); `main` runs them all in one process.
"""
