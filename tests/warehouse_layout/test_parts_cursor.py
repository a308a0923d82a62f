"""What tests/warehouse/test_cursor.py asks, of a warehouse with partitions."""

from fix_suites import asked_again

globals().update(asked_again("warehouse/test_cursor.py"))
