//! The commands of the `pumice` binary, as functions: arguments in, text to a writer, whether all is well out.

pub mod devices;
pub mod doctor;
pub mod selftest;

/// What a command returns: whether all is well, or a message with a remedy.
pub type Outcome = Result<bool, String>;
