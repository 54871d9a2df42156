"""Controllers turn users' objects into pods and podgroups and keep their statuses true.

One room per controller; each has pure modules that decide and a thin `controller.py` that acts.
"""
