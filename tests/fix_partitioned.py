"""How many partitions the hubs of tests/warehouse_layout have."""

PARTITIONS = 3
"""Enough for rows of one call to lie apart."""
