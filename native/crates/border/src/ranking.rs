//! The scoring rule.
