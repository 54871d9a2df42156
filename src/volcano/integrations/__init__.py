"""Volcano in the words of other tools, a folder for each; none is imported unless its tool is installed and asks."""
