"""What is special about each kind when it is written: defaults, fields the server owns, validation."""
