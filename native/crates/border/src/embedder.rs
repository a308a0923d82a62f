//! The embedding engine.
