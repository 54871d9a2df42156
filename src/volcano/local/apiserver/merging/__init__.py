"""How a change meets what is stored: patches, server-side apply, and who owns which field. Pure."""
