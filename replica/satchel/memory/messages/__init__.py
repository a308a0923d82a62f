"""Messages between agents, and the notifications among them. Start at `messages.py`."""
