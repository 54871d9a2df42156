"""The engine without a cluster: manifests in, decisions out, with an ideal cluster in between."""
