//! Slots of the kernels with holes: what passes may put into one fused node, and what the kernels then bind.

/// Operands and results of an elementwise kernel together.
pub const ELEMENTWISE: usize = 12;

/// What the epilogue of a matrix product reads and stores besides the product.
pub const PRODUCT: usize = 4;

/// What a norm adds to its operand while it loads, and the sum where it is stored.
pub const NORM: usize = 8;

/// Bytes that kernels load at once at most. Weights that lie side by side are read alone, too: each begins at a
/// multiple.
pub const LOAD_BYTES: u64 = 16;
