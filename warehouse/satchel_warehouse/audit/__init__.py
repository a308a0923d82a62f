"""An auditor's look at the audit chains of a warehouse: start at `looking.look`."""
