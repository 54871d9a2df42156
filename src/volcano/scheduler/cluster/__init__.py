"""The state of the world, as arrays: nodes, tasks, profiles, jobs, queues; `ingest` changes it between cycles."""
