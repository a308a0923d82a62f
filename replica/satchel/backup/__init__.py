"""Backups of a home, and putting one back: `satchel backup` and `satchel restore`.

Start reading at `making` and `restoring`; docs/BACKUPS.md has the promises.
"""
