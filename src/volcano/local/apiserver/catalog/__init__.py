"""What kinds exist, their schemas, and how the server describes them to clients."""
