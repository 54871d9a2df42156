"""vcctl: the command line. One file per noun; everything heavy is imported when a command runs."""
