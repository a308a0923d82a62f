"""Syncs that the operating system starts: a timer of systemd, launchd or the Task Scheduler."""
