"""What tests/warehouse/test_damage.py asks, of a warehouse with partitions."""

from fix_suites import asked_again

globals().update(asked_again("warehouse/test_damage.py"))
