"""One file a phase of a sync."""
