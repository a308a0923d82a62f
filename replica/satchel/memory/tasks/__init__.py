"""Tasks: what is to be done, who holds it, what came of it. Start at `tasks.py`."""
