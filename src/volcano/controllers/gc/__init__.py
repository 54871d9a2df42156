"""The garbage collector: removes jobs whose time to live after finishing is over."""
