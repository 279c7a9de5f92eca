//! What can go wrong with an op of a user, and with any host step.

use std::fmt;

/// Why a host step cannot be prepared, or failed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// In words.
    #[error("{0}")]
    Failed(String),
    /// By an op of a user.
    #[error(transparent)]
    Custom(#[from] CustomError),
}

pumice_types::debug_as_display!(HostError);

impl From<String> for HostError {
    fn from(message: String) -> HostError {
        HostError::Failed(message)
    }
}

impl From<&str> for HostError {
    fn from(message: &str) -> HostError {
        HostError::Failed(message.to_owned())
    }
}

/// What is wrong with an op of a user: with its name, its types, or with what its functions did.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum CustomError {
    /// No functions are registered under these names.
    #[error(
        "no op is registered under {}; register it where the graph is compiled and where its plan is loaded",
        Names(names)
    )]
    Unknown {
        /// Each name.
        names: Vec<String>,
    },
    /// A name that cannot be registered.
    #[error("an op cannot be registered under `{name}`: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// The types that stand in the node are not those that the op's rule gives.
    #[error("`{op}` gives {ruled} for these operands, the node states {stated}")]
    Types {
        /// The op.
        op: String,
        /// What the rule gives.
        ruled: String,
        /// What the node states.
        stated: String,
    },
    /// The op's rule of types does not take these operands or attributes.
    #[error("`{op}` refuses its operands or attributes: {reason}")]
    Refused {
        /// The op.
        op: String,
        /// Why, as its rule says.
        reason: String,
    },
    /// A function of the op returned an error.
    #[error("`{op}` failed: {reason}")]
    Failed {
        /// The op.
        op: String,
        /// Why, as the function says.
        reason: String,
    },
    /// A function of the op panicked.
    #[error("`{op}` panicked: {message}")]
    Panicked {
        /// The op.
        op: String,
        /// What the panic said.
        message: String,
    },
    /// A function of the op returned another number of results than the node has.
    #[error("`{op}` returned {given} results, the node has {expected}")]
    Count {
        /// The op.
        op: String,
        /// How many it returned.
        given: usize,
        /// How many there are.
        expected: usize,
    },
    /// A function of the op returned a result of another dtype or shape than the node's.
    #[error("result {result} of `{op}` is {given}, the node's is {expected}")]
    Result {
        /// The op.
        op: String,
        /// Which result.
        result: usize,
        /// What it returned.
        given: String,
        /// What the node has.
        expected: String,
    },
    /// A function of the op called, in the end, the op itself, on the same thread.
    #[error("`{op}` calls itself: a function of an op must not run a graph that has this op")]
    Reentrant {
        /// The op.
        op: String,
    },
}

pumice_types::debug_as_display!(CustomError);

struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}
