"""Volumes of pods: which nodes their claims allow, and which volumes they get there."""
