"""Sessions: work that agents share, and the summary at its end. Start at `sessions.py`."""
