//! The scoring rule: signals to scores, order and diversity.
