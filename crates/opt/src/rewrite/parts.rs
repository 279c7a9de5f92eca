//! Parts into which an axis, or what a reduction adds up, is cut.

/// `count` parts of `len` elements each; what is left remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// How many.
    pub count: u64,
    /// Elements of each.
    pub len: u64,
}

impl Parts {
    /// Elements of all parts.
    pub fn elements(self) -> u64 {
        self.count * self.len
    }
}
