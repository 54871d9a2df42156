"""vsub, vjobs, vqueues, vcancel, vsuspend, vresume: jobs for people who come from Slurm. One file per program."""

from __future__ import annotations

PROGRAMS = ("vsub", "vjobs", "vqueues", "vcancel", "vsuspend", "vresume")
"""Each is a module here with a command of its own name."""
