"""Search: one ranking of memories and chat turns. Start at `search.py`."""
