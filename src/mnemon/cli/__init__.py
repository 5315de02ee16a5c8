"""The command line: reads arguments, calls a room, prints. Data goes to stdout, everything else to stderr."""
