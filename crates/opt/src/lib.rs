//! The graph passes of pumice
