"""Talking to a Kubernetes API server: configuration, client, informers, work queues, events, leader election."""
