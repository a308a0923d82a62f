"""The command line: the tool catalog and a few hand-written commands, as text or JSON."""
