"""What several benchmarks stand on: clusters to measure, the processes of a run and what they cost, a writer."""
