"""The colocation configuration controller: tells pods, for the node agent, how their memory is protected."""
