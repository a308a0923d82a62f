"""Search over the rows of all machines: its doors, and the index of vectors. Start at `desk.py`."""
