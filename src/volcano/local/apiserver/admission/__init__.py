"""What the server changes about, and has against, an object before it is stored: one module a step."""
