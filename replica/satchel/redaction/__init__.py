"""Secrets in text: keys, tokens and passwords, found by their shape or the words around them.

Not a vault, and no proof that a text holds none: what looks like nothing in particular is not seen.
"""

from satchel.redaction.redact import Finding, Redacted, kinds, redact

__all__ = ["Finding", "Redacted", "kinds", "redact"]
