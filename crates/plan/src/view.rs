//! Views: how the bytes of a span are seen as a tensor.
//!
//! In: dtypes, extents. Out: strides, and how many bytes neighbours take. Never here: which span, who touches it.

use pumice_types::{DType, DimExpr, Encoding};
use serde::{Deserialize, Serialize};

/// How elements lie in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// 32-bit words (64-bit integers: two).
    Arena,
    /// The dtype's own width.
    Natural,
    /// As another encoding, whose values the elements are: what reads them decodes them. Weights are, and factors that
    /// were rounded before products read them; what makes these writes their own dtype.
    Encoded(Encoding),
}

impl Storage {
    /// Neighbouring elements that share bytes, and how many bytes those are. Of blocks the neighbours lie along the one
    /// axis of stride 1.
    pub const fn unit(self, dtype: DType) -> Unit {
        let (elements, bytes) = match self {
            Storage::Arena => (1, dtype.arena_bytes()),
            Storage::Natural => (1, dtype.natural_bytes()),
            Storage::Encoded(encoding) => encoding.block(),
        };
        Unit { elements, bytes }
    }
}

/// Elements that share bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// How many elements: 1 but for blocks.
    pub elements: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Unit {
    /// Elements of so many bytes each.
    pub const fn of_bytes(bytes: u64) -> Unit {
        Unit { elements: 1, bytes }
    }

    /// Bytes of so many neighbours; a part of a block counts as a whole one.
    pub const fn bytes_of(self, elements: u64) -> Option<u64> {
        elements.div_ceil(self.elements).checked_mul(self.bytes)
    }
}

impl From<u64> for Unit {
    fn from(bytes: u64) -> Unit {
        Unit::of_bytes(bytes)
    }
}

/// How a use's span is seen as a tensor. Extents and strides are those of the actual run, not of the upper bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Element type.
    pub dtype: DType,
    /// Element width.
    pub storage: Storage,
    /// Extents.
    pub shape: Vec<DimExpr>,
    /// Distance of neighbours along each axis, in elements; 0 broadcasts, negative reverses.
    pub strides: Vec<DimExpr>,
    /// Index of the first element, relative to the span's first byte.
    pub offset: DimExpr,
}

impl View {
    /// Row-major and contiguous.
    pub fn dense(dtype: DType, storage: Storage, shape: &[DimExpr]) -> View {
        View {
            dtype,
            storage,
            shape: shape.to_vec(),
            strides: dense_strides(shape),
            offset: DimExpr::constant(0),
        }
    }

    /// Whether elements are stored as the arena stores them: what is narrower elsewhere is widened there.
    pub fn is_words(&self) -> bool {
        match self.storage {
            Storage::Arena => true,
            Storage::Natural => self.dtype.same_in_arena(),
            Storage::Encoded(_) => false,
        }
    }

    /// Its extents, strides and offset.
    pub fn expressions(&self) -> impl Iterator<Item = &DimExpr> {
        self.shape.iter().chain(&self.strides).chain([&self.offset])
    }

    /// Whether nothing of it depends on symbols or scalars.
    pub fn is_static(&self) -> bool {
        self.expressions().all(|d| d.as_const().is_some())
    }

    /// Whether the elements are row-major, contiguous and start at the span's first byte.
    pub fn is_dense(&self) -> bool {
        self.offset.is(0) && self.is_contiguous()
    }

    /// Whether the elements are row-major and contiguous, wherever they start.
    pub fn is_contiguous(&self) -> bool {
        let mut dense = DimExpr::constant(1);
        self.shape.iter().zip(&self.strides).rev().all(|(extent, stride)| {
            let follows = extent.is(1) || *stride == dense;
            dense = &dense * extent;
            follows
        })
    }
}

/// Row-major strides of a shape, in elements.
pub fn dense_strides(shape: &[DimExpr]) -> Vec<DimExpr> {
    let mut strides = vec![DimExpr::constant(1); shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = &strides[i] * &shape[i];
    }
    strides
}
