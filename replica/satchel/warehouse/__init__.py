"""What a machine's commands do at the warehouse, composed from settings; loaded when asked for."""
