"""What tests/contract/test_hub.py asks, of a warehouse with partitions."""

from fix_suites import asked_again

globals().update(asked_again("contract/test_hub.py"))
