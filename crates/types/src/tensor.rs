//! Tensors at the host boundary: an encoding, a shape and row-major bytes in natural width, little-endian.

use crate::dtype::DType;
use crate::encoding::Encoding;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::OnceLock;

/// The most axes that a value has.
pub const MAX_RANK: usize = 8;

/// A tensor that does not add up.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The bytes given are not the bytes the shape needs.
    #[error("a {encoding}{shape:?} tensor has {expected} bytes, {given} were given")]
    Length {
        /// The encoding asked for.
        encoding: Encoding,
        /// The shape asked for.
        shape: Vec<u64>,
        /// Bytes the shape needs.
        expected: u64,
        /// Bytes given.
        given: u64,
    },
    /// The number of elements or bytes overflows 64 bits.
    #[error("shape {shape:?} has more elements than 64 bits can count")]
    TooLarge {
        /// The shape asked for.
        shape: Vec<u64>,
    },
    /// Rows that are no whole number of blocks.
    #[error("rows of {shape:?} cannot be cut into whole {encoding} blocks of {} elements", .encoding.block().0)]
    CutBlock {
        /// The encoding asked for.
        encoding: Encoding,
        /// The shape asked for.
        shape: Vec<u64>,
    },
    /// More axes than a view can have.
    #[error("{0} axes are more than the 8 that a tensor can have")]
    Rank(usize),
    /// An array whose elements are not neighbours in row-major order.
    #[error("the elements are not neighbours in row-major order; copy them into such an order first")]
    NotContiguous,
    /// The tensor holds another dtype.
    #[error("the tensor is {given}, not {expected}")]
    DType {
        /// The dtype asked for.
        expected: DType,
        /// What the tensor holds.
        given: Encoding,
    },
}

crate::debug_as_display!(TensorError);

/// Elements of a shape, or an error where 64 bits do not hold the count.
pub fn element_count(shape: &[u64]) -> Result<u64, TensorError> {
    // A zero extent makes the tensor empty whatever the others are.
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1u64, |n, &d| n.checked_mul(d))
        .ok_or_else(|| TensorError::TooLarge { shape: shape.to_vec() })
}

/// The place in each axis of the `at`-th element in row-major order; an extent of 0 counts as 1.
pub fn unravel(mut at: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (i, &extent) in index.iter_mut().zip(shape).rev() {
        *i = at % extent.max(1);
        at /= extent.max(1);
    }
    index
}

/// Natural bytes of a tensor of that encoding and shape, as a number.
///
/// # Errors
/// As [`Encoding::bytes`].
pub fn byte_count(encoding: impl Into<Encoding>, shape: &[u64]) -> Result<u64, TensorError> {
    encoding.into().bytes(shape).map(|b| b.0)
}

/// An owned tensor. Nothing changes it once it is made, so its digest is computed at most once.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tensor {
    encoding: Encoding,
    shape: Vec<u64>,
    bytes: Vec<u8>,
    #[serde(skip)]
    digest: OnceLock<u64>,
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tensor { encoding, shape, bytes, digest: _ } = self;
        f.debug_struct("Tensor")
            .field("encoding", encoding)
            .field("shape", shape)
            .field("bytes", bytes)
            .finish()
    }
}

impl PartialEq for Tensor {
    /// Byte by byte, where digests that are known do not differ.
    fn eq(&self, other: &Tensor) -> bool {
        let unlike = matches!((self.digest.get(), other.digest.get()), (Some(a), Some(b)) if a != b);
        !unlike && self.encoding == other.encoding && self.shape == other.shape && self.bytes == other.bytes
    }
}

impl Eq for Tensor {}

impl Hash for Tensor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest());
    }
}

/// A borrowed tensor.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    encoding: Encoding,
    shape: Shape<'a>,
    bytes: &'a [u8],
}

/// A view's shape: borrowed, or up to eight extents held inline so that array literals work as arguments.
#[derive(Clone, Copy, Debug)]
enum Shape<'a> {
    Borrowed(&'a [u64]),
    Inline([u64; 8], usize),
}

/// Types whose slices are the bytes of a dtype.
pub trait Element: Copy + private::Sealed {
    /// The dtype of that type.
    const DTYPE: DType;
    /// Appends the little-endian bytes of the slice.
    fn extend_bytes(values: &[Self], bytes: &mut Vec<u8>);
    /// The bytes of the slice as they lie in memory.
    fn as_bytes(values: &[Self]) -> &[u8];
    /// The values of little-endian bytes; a trailing partial element is left out.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

mod private {
    pub trait Sealed {}
}

macro_rules! element {
    ($($t:ty => $d:ident),*) => {$(
        impl private::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$d;
            fn extend_bytes(values: &[Self], bytes: &mut Vec<u8>) {
                bytes.reserve(std::mem::size_of_val(values));
                values.iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
            }
            fn as_bytes(values: &[Self]) -> &[u8] {
                bytemuck::cast_slice(values)
            }
            fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                bytes
                    .chunks_exact(std::mem::size_of::<$t>())
                    .map(|c| <$t>::from_le_bytes(c.try_into().expect("chunks_exact yields that size")))
                    .collect()
            }
        }
    )*};
}
element!(f32 => F32, i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    half::f16 => F16, half::bf16 => BF16);

impl private::Sealed for bool {}

/// A byte each; every one but 0 is true.
impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn extend_bytes(values: &[bool], bytes: &mut Vec<u8>) {
        bytes.extend(values.iter().map(|&value| u8::from(value)));
    }

    fn as_bytes(values: &[bool]) -> &[u8] {
        bytemuck::cast_slice(values)
    }

    fn from_bytes(bytes: &[u8]) -> Vec<bool> {
        bytes.iter().map(|&byte| byte != 0).collect()
    }
}

impl Tensor {
    /// A tensor over natural bytes; errors if their number is not the shape's.
    pub fn from_bytes(
        encoding: impl Into<Encoding>,
        shape: &[u64],
        bytes: Vec<u8>,
    ) -> Result<Tensor, TensorError> {
        let encoding = encoding.into();
        check_len(encoding, shape, bytes.len() as u64)?;
        Ok(Tensor { encoding, shape: shape.to_vec(), bytes, digest: OnceLock::new() })
    }

    /// A tensor of the values' own dtype; errors if their number is not the shape's.
    pub fn new<T: Element>(values: &[T], shape: &[u64]) -> Result<Tensor, TensorError> {
        let mut bytes = Vec::new();
        T::extend_bytes(values, &mut bytes);
        Tensor::from_bytes(T::DTYPE, shape, bytes)
    }

    /// A tensor of booleans.
    pub fn bools(values: &[bool], shape: &[u64]) -> Result<Tensor, TensorError> {
        Tensor::new(values, shape)
    }

    /// How its elements lie in its bytes.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Its element type; of blocks, that of the values that they stand for.
    pub fn dtype(&self) -> DType {
        self.encoding.dtype()
    }

    /// Its extents.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Its bytes: row-major, natural width, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// 64 bits of its encoding, extents and bytes, computed once; unlike digests are unlike tensors. For tables in
    /// memory: no file keeps it.
    pub fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| digest(self))
    }

    /// Gives the bytes away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The values, if `T` is the tensor's dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        if self.encoding != T::DTYPE {
            return Err(TensorError::DType { expected: T::DTYPE, given: self.encoding });
        }
        Ok(T::from_bytes(&self.bytes))
    }

    /// The tensor, borrowed.
    pub fn view(&self) -> TensorView<'_> {
        TensorView { encoding: self.encoding, shape: Shape::Borrowed(&self.shape), bytes: &self.bytes }
    }
}

/// FNV-1a over words of eight bytes, the last one filled up with zeros; their number is in the extents.
fn digest(tensor: &Tensor) -> u64 {
    let step = |h: u64, word: u64| (h ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let (words, rest) = tensor.bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let encoding = tensor.encoding.name().bytes().map(u64::from);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    encoding.chain(tensor.shape.iter().copied()).chain(words).fold(0xcbf2_9ce4_8422_2325, step)
}

macro_rules! slice_views {
    ($($name:ident: $t:ty => $d:ident),*) => {
        impl<'a> TensorView<'a> {$(
            #[doc = concat!("A view of `", stringify!($t), "` values with up to eight extents. Length and shape are compared by whoever takes the view.")]
            pub fn $name<const R: usize>(values: &'a [$t], shape: [u64; R]) -> TensorView<'a> {
                const { assert!(R <= 8, "a tensor has at most eight extents") };
                let mut inline = [0; 8];
                inline[..R].copy_from_slice(&shape);
                TensorView { encoding: Encoding::Plain(DType::$d), shape: Shape::Inline(inline, R), bytes: bytemuck::cast_slice(values) }
            }
        )*}
    };
}
slice_views!(f32: f32 => F32, i8: i8 => I8, u8: u8 => U8, i16: i16 => I16, u16: u16 => U16, i32: i32 => I32,
    u32: u32 => U32, i64: i64 => I64, u64: u64 => U64, f16: half::f16 => F16, bf16: half::bf16 => BF16, bool: bool => Bool);

impl<'a> TensorView<'a> {
    /// A view over natural bytes; errors if their number is not the shape's.
    pub fn new(
        encoding: impl Into<Encoding>,
        shape: &'a [u64],
        bytes: &'a [u8],
    ) -> Result<TensorView<'a>, TensorError> {
        let encoding = encoding.into();
        check_len(encoding, shape, bytes.len() as u64)?;
        Ok(TensorView { encoding, shape: Shape::Borrowed(shape), bytes })
    }

    /// A view of values of any element type, of any shape; errors if their number is not the shape's.
    ///
    /// # Errors
    /// [`TensorError::Rank`] for more than eight extents, [`TensorError::Length`], [`TensorError::TooLarge`].
    pub fn of<T: Element>(values: &'a [T], shape: &[u64]) -> Result<TensorView<'a>, TensorError> {
        let mut inline = [0; 8];
        let rank = shape.len();
        inline.get_mut(..rank).ok_or(TensorError::Rank(rank))?.copy_from_slice(shape);
        let view = TensorView {
            encoding: Encoding::Plain(T::DTYPE),
            shape: Shape::Inline(inline, rank),
            bytes: T::as_bytes(values),
        };
        view.check().map(|()| view)
    }

    /// How its elements lie in its bytes.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Its element type; of blocks, that of the values that they stand for.
    pub fn dtype(&self) -> DType {
        self.encoding.dtype()
    }

    /// Its extents.
    pub fn shape(&self) -> &[u64] {
        match &self.shape {
            Shape::Borrowed(s) => s,
            Shape::Inline(s, n) => &s[..*n],
        }
    }

    /// Its bytes: row-major, natural width, little-endian. Their number may disagree with the shape where the view
    /// was made from a slice (`f32`, `i32`, …); whoever takes a view checks with [`TensorView::check`].
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether bytes and shape agree.
    pub fn check(&self) -> Result<(), TensorError> {
        check_len(self.encoding, self.shape(), self.bytes.len() as u64)
    }

    /// Rows of the first axis, where they lie. None of a rank 0, of rows that are not there, and where bytes and shape
    /// disagree or a row is no whole number of bytes.
    pub fn rows(&self, rows: Range<u64>) -> Option<TensorView<'a>> {
        let (&all, _) = self.shape().split_first()?;
        let (mut shape, rank) = ([0; 8], self.shape().len());
        shape.get_mut(..rank)?.copy_from_slice(self.shape());
        shape[0] = rows.end.checked_sub(rows.start).filter(|_| rows.end <= all)?;
        let row = self.bytes.len() as u64 / all.max(1);
        let part = (row * rows.start) as usize..(row * rows.end) as usize;
        let view = TensorView { shape: Shape::Inline(shape, rank), bytes: self.bytes.get(part)?, ..*self };
        (self.check().is_ok() && view.check().is_ok()).then_some(view)
    }

    /// A copy that owns its bytes.
    pub fn to_tensor(&self) -> Result<Tensor, TensorError> {
        Tensor::from_bytes(self.encoding, self.shape(), self.bytes.to_vec())
    }
}

impl<'a, T: Element> TryFrom<(&'a [T], &[u64])> for TensorView<'a> {
    type Error = TensorError;

    /// # Errors
    /// As [`TensorView::of`].
    fn try_from((values, shape): (&'a [T], &[u64])) -> Result<TensorView<'a>, TensorError> {
        TensorView::of(values, shape)
    }
}

fn check_len(encoding: Encoding, shape: &[u64], given: u64) -> Result<(), TensorError> {
    let expected = encoding.bytes(shape)?.0;
    if expected == given {
        Ok(())
    } else {
        Err(TensorError::Length { encoding, shape: shape.to_vec(), expected, given })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        assert!(Tensor::new(&[1f32, 2.0], &[2]).is_ok());
        assert!(matches!(
            Tensor::new(&[1f32, 2.0], &[3]),
            Err(TensorError::Length { expected: 12, given: 8, .. })
        ));
        assert!(matches!(byte_count(DType::F32, &[u64::MAX, 2]), Err(TensorError::TooLarge { .. })));
        assert_eq!(element_count(&[u64::MAX, 2, 0]), Ok(0));
    }

    #[test]
    fn views_of_slices_whose_rank_is_known_late() {
        let (values, shape) = (vec![1i32, 2, 3, 4, 5, 6], vec![2u64, 3]);
        let view = TensorView::try_from((&values[..], &shape[..])).expect("six");
        assert_eq!((view.dtype(), view.shape()), (DType::I32, &shape[..]));
        assert_eq!(view.to_tensor().and_then(|t| t.to_vec()), Ok(values.clone()));
        assert!(matches!(TensorView::of(&values, &[5]), Err(TensorError::Length { .. })));
        assert!(matches!(TensorView::of(&values, &[1; 9]), Err(TensorError::Rank(9))));
    }

    #[test]
    fn rows_of_views() {
        let values = [1i32, 2, 3, 4, 5, 6];
        let view = TensorView::i32(&values, [3, 2]);
        let rows =
            |range| view.rows(range).map(|v| (v.shape().to_vec(), v.to_tensor().and_then(|t| t.to_vec())));
        assert_eq!(rows(1..3), Some((vec![2, 2], Ok(vec![3, 4, 5, 6]))));
        assert_eq!(rows(3..3), Some((vec![0, 2], Ok(Vec::<i32>::new()))));
        assert_eq!((rows(2..4), rows(4..4)), (None, None));
        assert_eq!(rows(Range { start: 2, end: 1 }), None);
        assert!(TensorView::i32(&values[..1], []).rows(0..1).is_none(), "of a rank 0");
        assert!(TensorView::i32(&values, [4, 2]).rows(0..1).is_none(), "bytes are not what its shape says");
    }

    #[test]
    fn equality_and_digest_go_by_encoding_extents_and_bytes() {
        let t = |values: &[f32], shape: &[u64]| Tensor::new(values, shape).expect("lengths agree");
        let same = (t(&[1.0, -0.0, f32::NAN], &[3]), t(&[1.0, -0.0, f32::NAN], &[3]));
        assert_eq!((same.0.digest(), &same.0), (same.1.digest(), &same.1));
        let words = Tensor::new(&[1.0f32.to_bits(), (-0.0f32).to_bits(), f32::NAN.to_bits()], &[3]);
        let others =
            [t(&[1.0, 0.0, f32::NAN], &[3]), t(&[1.0, -0.0, f32::NAN], &[1, 3]), words.expect("three")];
        for other in others {
            assert_ne!(same.0, other, "before the other's digest is known");
            assert_ne!(same.0.digest(), other.digest());
            assert_ne!(same.0, other);
        }
    }

    #[test]
    fn values_round_trip() {
        let t = Tensor::new(&[-1i64, i64::MAX], &[2]).expect("two values");
        assert_eq!(t.to_vec::<i64>(), Ok(vec![-1, i64::MAX]));
        assert!(t.to_vec::<f32>().is_err());
        let t = Tensor::new(&[true, false], &[2]).expect("two values");
        assert_eq!((t.dtype(), t.to_vec::<bool>()), (DType::Bool, Ok(vec![true, false])));
        assert!(t.to_vec::<u8>().is_err());
        assert_eq!(TensorView::of(&[true, false], &[2]).expect("two values").bytes(), [1, 0]);
        let not_one = Tensor::from_bytes(DType::Bool, &[2], vec![2, 0]).expect("two bytes");
        assert_eq!(not_one.to_vec::<bool>(), Ok(vec![true, false]));
    }
}
