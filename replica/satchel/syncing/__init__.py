"""What a user asks of a sync: how it stands, what lost, what waits, where one row is."""
