"""What tests/warehouse/test_refused_rows.py asks, of a warehouse with partitions."""

from fix_suites import asked_again

# One of its rules is a unique index without the key, which Postgres has for no partitioned table.
ONLY_WITHOUT = "test_a_rule_of_the_house_keeps_one_row_out"
globals().update(asked_again("warehouse/test_refused_rows.py", without=ONLY_WITHOUT))
