//! Nothing: cargo wants a target, and only fetches here.
