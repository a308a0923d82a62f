"""What keeps a warehouse: how it fares, what is wrong with it, what is old, backups, restores."""
