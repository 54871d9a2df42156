"""Jobs as their owners handle them, through an API server: what vcctl, the v* commands and the SDK have in common."""
