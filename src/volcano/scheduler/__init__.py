"""The scheduler: `engine.cycle` decides, `daemon` watches the cluster and carries decisions out."""
