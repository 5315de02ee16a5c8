"""The command line: read arguments, call a room, print. Data goes to stdout, everything else to stderr."""
