"""What actions and plugins stand on: configuration, hooks, session, statement, placement, reasons, decisions."""
