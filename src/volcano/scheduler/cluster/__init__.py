"""The state of the world, as arrays: nodes, tasks, profiles, jobs, queues (ring 2, changed between cycles by `ingest`)."""
