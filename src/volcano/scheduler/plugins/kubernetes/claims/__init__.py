"""Resource claims of pods: which devices of which node serve them (dynamic resource allocation)."""
