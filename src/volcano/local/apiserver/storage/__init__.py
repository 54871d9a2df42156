"""The state: objects in memory by revision, and the journal that makes them durable."""
