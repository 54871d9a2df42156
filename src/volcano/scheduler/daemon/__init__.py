"""vc-scheduler: watch the cluster, ingest what changed, decide with the engine, carry the decisions out."""
