"""`satchel doctor`: checks of this machine: what was found, why it matters, how to mend it.

`subjects` is the table of all checks, `examining` runs them in order, `mending` does what `--fix`
may; each other file looks at one thing. A check never raises: what it cannot look at is a failed
check that says why. Nothing is changed without `--fix` but what is derived: the digest of a model's
weights is remembered.
"""

from satchel.doctor.check import Check, Mend
from satchel.doctor.examining import examine, told

__all__ = ["Check", "Mend", "examine", "told"]
