//! What a caller may choose. Nothing here changes results beyond rounding order.

use pumice_opt::OptOptions;
use pumice_plan::{Placement, Precision};

/// How barriers are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Barriers {
    /// Only where an access conflicts with another.
    #[default]
    Elided,
    /// Before every level: the oracle.
    Naive,
}

/// Options of [`compile`](crate::compile). Made from the default: `Options::default().precision(p).specialize("n",
/// [1])`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// What products do with their factors. [`Precision::F16`] rounds them to f16 (bf16 where one is stored so) before
    /// they are multiplied, where 65,520 and more become infinite; [`Precision::Bf16`] rounds all to bf16, which keeps
    /// the range of f32. Both do so on every device alike; sums are f32. `Int8` is refused until there are kernels for
    /// it ([`CompileError::Precision`](crate::CompileError::Precision)).
    pub precision: Precision,
    /// Placement of intermediates.
    pub placement: Placement,
    /// Barriers.
    pub barriers: Barriers,
    /// Graph passes.
    pub opt: OptOptions,
    /// Ranges that get plans of their own: for a symbol, the last value of every range but the last.
    /// `[("tokens", vec![1, 8, 64])]` makes 1, 2..=8, 9..=64 and 65..=max. Several symbols multiply: one end
    /// for the first and two for the second make six runs. Ends outside a symbol's own range make none, so that one
    /// list does for graphs of several bounds: of `[1, 9, 70]` a symbol of 1..=4 has 1 and 2..=4. A symbol that the
    /// graph does not have and ends that do not ascend are [`CompileError::Options`](crate::CompileError::Options).
    pub specializations: Vec<(String, Vec<u64>)>,
    /// Names of params whose bytes stay on the device whatever reads them, so that they can be read back. A name that
    /// no param has is [`CompileError::Options`](crate::CompileError::Options).
    pub keep: Vec<String>,
    /// Bytes of a param from which on it passes through, where no run reads it as it is stored: only what is derived
    /// from it stays then, and it cannot be read back. Smaller ones stay; `u64::MAX` keeps all. 64 KiB by default: a
    /// param that passes through costs a submission whenever it is set.
    pub stream_from: u64,
    /// Bytes that weights, states and scratch may take together; less than the target has, or nothing changes. Where
    /// a run needs more, values are computed again instead of being kept, at the least loss of time: no result changes
    /// by it, not even a bit. `None`: what the target has.
    pub memory: Option<u64>,
    /// Free bytes after every slot, for tests that watch them.
    pub guard_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            precision: Precision::default(),
            placement: Placement::default(),
            barriers: Barriers::default(),
            opt: OptOptions::default(),
            specializations: Vec::new(),
            keep: Vec::new(),
            stream_from: 64 << 10,
            memory: None,
            guard_bytes: 0,
        }
    }
}

impl Options {
    /// What products do with their factors; see [`Options::precision`](struct@Options).
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Placement of intermediates.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// How barriers are chosen.
    #[must_use]
    pub fn barriers(mut self, barriers: Barriers) -> Self {
        self.barriers = barriers;
        self
    }

    /// Which graph passes run.
    #[must_use]
    pub fn opt(mut self, opt: OptOptions) -> Self {
        self.opt = opt;
        self
    }

    /// All ranges that get plans of their own; see [`Options::specializations`](struct@Options).
    #[must_use]
    pub fn specializations(mut self, ranges: Vec<(String, Vec<u64>)>) -> Self {
        self.specializations = ranges;
        self
    }

    /// Free bytes after every slot.
    #[must_use]
    pub fn guard_bytes(mut self, bytes: u64) -> Self {
        self.guard_bytes = bytes;
        self
    }

    /// Adds params whose bytes stay; see [`Options::keep`](struct@Options).
    #[must_use]
    pub fn keep<S: Into<String>>(mut self, params: impl IntoIterator<Item = S>) -> Self {
        self.keep.extend(params.into_iter().map(Into::into));
        self
    }

    /// Bytes from which on a param may pass through; see [`Options::stream_from`](struct@Options).
    #[must_use]
    pub fn stream_from(mut self, bytes: u64) -> Self {
        self.stream_from = bytes;
        self
    }

    /// Bytes that weights, states and scratch may take together; see [`Options::memory`](struct@Options).
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Adds the ranges of one symbol: the last value of every range but the last. Ends outside its own range make none;
    /// see [`Options::specializations`](struct@Options).
    #[must_use]
    pub fn specialize(mut self, symbol: impl Into<String>, ends: impl Into<Vec<u64>>) -> Self {
        self.specializations.push((symbol.into(), ends.into()));
        self
    }
}
