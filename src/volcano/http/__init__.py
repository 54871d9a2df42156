"""HTTP/1.1 for daemons and clients: a small server, a pooled client, health and metrics endpoints."""
