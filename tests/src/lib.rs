//! pumice's test suites
