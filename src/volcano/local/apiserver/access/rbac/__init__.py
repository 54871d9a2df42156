"""Role-based access control: what roles grant, to whom, and that nobody grants more than they have.

`authorizer.py` asks here for every request of those who are not administrators.
"""
