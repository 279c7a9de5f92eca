//! Spans of the `tracing` crate where the feature of that name is on; nothing at all otherwise.

/// Enters a span of the target `pumice` until the end of the block.
#[cfg(feature = "tracing")]
macro_rules! span {
    ($name:literal, $($field:ident = $value:expr),+) => {
        let _entered = tracing::debug_span!(target: "pumice", $name, $($field = $value),+).entered();
    };
}

#[cfg(not(feature = "tracing"))]
macro_rules! span {
    ($name:literal, $($field:ident = $value:expr),+) => {};
}

pub(crate) use span;
