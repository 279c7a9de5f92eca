//! Bytes of a span seen through a [`View`], to and from natural, dense, row-major bytes. Every offset is checked, so
//! a wrong view is an error and never a panic. Nothing here knows a device or a session; the interpreter uses it too.

use half::slice::HalfFloatSliceExt;
use pumice_plan::{Storage, View};
use pumice_types::tensor::byte_count;
use pumice_types::{Bindings, DType, Encoding, EvalError};
use smallvec::SmallVec;
use std::ops::Range;

/// Extents of a tensor.
pub type Shape = SmallVec<[u64; 8]>;

/// A view that does not fit its bytes.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// An extent, stride or offset has no value.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// Elements outside the bytes there are.
    #[error("the view covers bytes {start}..{end} of a span of {len}")]
    Outside {
        /// First byte covered.
        start: i128,
        /// One past the last byte covered.
        end: i128,
        /// Bytes there are.
        len: u64,
    },
    /// Natural bytes that are not as many as the view has elements.
    #[error("the view has {expected} natural bytes, {given} were given")]
    Length {
        /// Natural bytes of the view.
        expected: u64,
        /// Bytes given.
        given: u64,
    },
    /// Elements of another encoding, where those of a dtype are needed.
    #[error("the elements lie as {0}")]
    Encoded(Encoding),
}

pumice_types::debug_as_display!(ValueError);

/// A [`View`] with the extents, strides and offset of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    dtype: DType,
    storage: Storage,
    shape: Shape,
    strides: SmallVec<[i64; 8]>,
    offset: i64,
}

impl Window {
    /// The view under these bindings.
    ///
    /// # Errors
    /// [`ValueError::Eval`] where an extent, stride or offset has no value under the bindings.
    pub fn of(view: &View, bindings: &Bindings) -> Result<Window, ValueError> {
        let shape = view.shape.iter().map(|d| d.eval_extent(bindings)).collect::<Result<Shape, _>>()?;
        let strides = view.strides.iter().map(|s| s.eval(bindings)).collect::<Result<_, _>>()?;
        Ok(Window {
            dtype: view.dtype,
            storage: view.storage,
            shape,
            strides,
            offset: view.offset.eval(bindings)?,
        })
    }

    /// A dense tensor that begins at the span's first byte.
    pub fn dense(dtype: DType, storage: Storage, shape: &[u64]) -> Window {
        let mut strides: SmallVec<[i64; 8]> = SmallVec::from_elem(1, shape.len());
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i].saturating_mul(i64::try_from(shape[i]).unwrap_or(i64::MAX));
        }
        Window { dtype, storage, shape: shape.into(), strides, offset: 0 }
    }

    /// Its extents.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How many elements it has; saturates.
    pub fn elements(&self) -> u64 {
        if self.shape.contains(&0) { 0 } else { self.shape.iter().fold(1, |n, &d| n.saturating_mul(d)) }
    }

    /// Bytes of its elements one after the other in natural width; saturates.
    pub fn dense_bytes(&self) -> u64 {
        byte_count(self.dtype, &self.shape).unwrap_or(u64::MAX)
    }

    /// The smallest range of the span's bytes that holds every element, if a span of `len` bytes holds it.
    ///
    /// # Errors
    /// [`ValueError::Outside`] where a span of `len` bytes does not hold every element.
    pub fn byte_range(&self, len: u64) -> Result<Range<u64>, ValueError> {
        if self.elements() == 0 {
            return Ok(0..0);
        }
        let (mut low, mut high) = (i128::from(self.offset), i128::from(self.offset));
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = i128::from(extent - 1).saturating_mul(i128::from(stride));
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
        }
        let unit = self.storage.unit(self.dtype);
        let (elements, width) = (i128::from(unit.elements), i128::from(unit.bytes));
        let (first, last) = (low.div_euclid(elements), high.div_euclid(elements));
        let (start, end) = (first.saturating_mul(width), last.saturating_add(1).saturating_mul(width));
        if start < 0 || end > i128::from(len) {
            return Err(ValueError::Outside { start, end, len });
        }
        Ok(start as u64..end as u64)
    }

    /// The elements as natural, dense bytes. `bytes` are those of the span from byte `base` on; they must hold
    /// [`Window::byte_range`].
    ///
    /// # Errors
    /// [`ValueError::Outside`] where `bytes` do not hold every element.
    pub fn read(&self, bytes: &[u8], base: u64) -> Result<Vec<u8>, ValueError> {
        if let Storage::Encoded(encoding) = self.storage {
            return self.decoded(encoding, bytes, base);
        }
        let mut out = Vec::new();
        self.each_row(bytes.len() as u64, base, |start, count, step| {
            let width = self.width();
            if step == width as i64 && self.plain() {
                out.extend_from_slice(&bytes[start..start + count * width]);
            } else {
                (0..count)
                    .for_each(|i| load(self.dtype, self.storage, &bytes[at(start, step, i)..], &mut out));
            }
        })?;
        Ok(out)
    }

    /// As [`Window::read`], of elements that are the values of an encoding: f32.
    fn decoded(&self, encoding: Encoding, bytes: &[u8], base: u64) -> Result<Vec<u8>, ValueError> {
        let len = bytes.len() as u64;
        let range = self.byte_range(base.saturating_add(len))?;
        let outside = ValueError::Outside { start: range.start.into(), end: range.end.into(), len };
        let from = range.start.checked_sub(base).ok_or(outside)?;
        let stored = &bytes[from as usize..(from + range.end - range.start) as usize];
        let values = encoding.decode(stored).ok_or(ValueError::Encoded(encoding))?;
        let elementwise = Window {
            storage: Storage::Arena,
            offset: self.offset - encoding.elements(range.start) as i64,
            ..self.clone()
        };
        let values: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        elementwise.read(&values, 0)
    }

    /// Writes natural, dense bytes to the elements. `bytes` are those of the span from byte `base` on.
    ///
    /// # Errors
    /// [`ValueError::Encoded`] for elements of another encoding: they are only read.
    /// [`ValueError::Length`] where `natural` are not as many bytes as the elements have,
    /// [`ValueError::Outside`] where `bytes` do not hold every element.
    pub fn write(&self, natural: &[u8], bytes: &mut [u8], base: u64) -> Result<(), ValueError> {
        let (expected, given) = (self.dense_bytes(), natural.len() as u64);
        if expected != given {
            return Err(ValueError::Length { expected, given });
        }
        if let Storage::Encoded(encoding) = self.storage {
            return Err(ValueError::Encoded(encoding));
        }
        let natural_unit = Storage::Natural.unit(self.dtype);
        let (width, narrow, mut from) = (self.width(), natural_unit.bytes as usize, 0);
        self.each_row(bytes.len() as u64, base, |start, count, step| {
            if step == width as i64 && self.plain() {
                bytes[start..start + count * width].copy_from_slice(&natural[from..from + count * width]);
            } else {
                for i in 0..count {
                    let at = at(start, step, i);
                    let element = &natural[from + i * narrow..from + (i + 1) * narrow];
                    store(self.dtype, self.storage, element, &mut bytes[at..at + width]);
                }
            }
            from += count * narrow;
        })
    }

    /// Bytes of one element in the span.
    fn width(&self) -> usize {
        self.storage.unit(self.dtype).bytes as usize
    }

    /// Whether elements have the same bytes in the span as outside.
    fn plain(&self) -> bool {
        self.storage == Storage::Natural || self.dtype.same_in_arena()
    }

    /// Calls `row(start, count, step)` for every row of the innermost axis, in row-major order: bytes relative to
    /// `base`, all of them proved to lie inside `len` bytes.
    fn each_row(
        &self,
        len: u64,
        base: u64,
        mut row: impl FnMut(usize, usize, i64),
    ) -> Result<(), ValueError> {
        let range = self.byte_range(base.saturating_add(len))?;
        if self.elements() == 0 {
            return Ok(());
        }
        if range.start < base {
            return Err(ValueError::Outside { start: range.start.into(), end: range.end.into(), len });
        }
        let width = self.width() as i64;
        let (outer, inner) = match self.shape.split_last() {
            Some((&n, outer)) => (outer, (n as usize, self.strides[outer.len()].wrapping_mul(width))),
            None => (&[][..], (1, width)),
        };
        let mut index: SmallVec<[u64; 8]> = SmallVec::from_elem(0, outer.len());
        let mut at = self.offset * width - base as i64;
        loop {
            row(at as usize, inner.0, inner.1);
            let mut axis = outer.len();
            loop {
                let Some(next) = axis.checked_sub(1) else { return Ok(()) };
                axis = next;
                let stride = self.strides[axis].wrapping_mul(width);
                index[axis] += 1;
                if index[axis] < outer[axis] {
                    at += stride;
                    break;
                }
                at -= stride.wrapping_mul(outer[axis] as i64 - 1);
                index[axis] = 0;
            }
        }
    }
}

/// Byte of element `i` of a row; the row was proved to lie inside the bytes.
fn at(start: usize, step: i64, i: usize) -> usize {
    (start as i64 + step * i as i64) as usize
}

/// Appends the natural bytes of the element that `bytes` begin with.
fn load(dtype: DType, storage: Storage, bytes: &[u8], out: &mut Vec<u8>) {
    let narrow = Storage::Natural.unit(dtype).bytes as usize;
    if storage == Storage::Natural || dtype.same_in_arena() {
        return out.extend_from_slice(&bytes[..narrow]);
    }
    let word: [u8; 4] = bytes[..4].try_into().expect("the row holds whole arena words");
    match dtype {
        DType::F16 => out.extend_from_slice(&half::f16::from_f32(f32::from_le_bytes(word)).to_le_bytes()),
        DType::BF16 => out.extend_from_slice(&half::bf16::from_f32(f32::from_le_bytes(word)).to_le_bytes()),
        DType::Bool => out.push(u8::from(word != [0; 4])),
        _ => out.extend_from_slice(&word[..narrow]),
    }
}

/// Writes natural bytes of one element to where it lies.
fn store(dtype: DType, storage: Storage, natural: &[u8], bytes: &mut [u8]) {
    if storage == Storage::Natural || dtype.same_in_arena() {
        return bytes.copy_from_slice(natural);
    }
    let pair = |n: &[u8]| [n[0], n[1]];
    let word = match dtype {
        DType::F16 => half::f16::from_le_bytes(pair(natural)).to_f32().to_bits(),
        DType::BF16 => half::bf16::from_le_bytes(pair(natural)).to_f32().to_bits(),
        DType::Bool => u32::from(natural[0] != 0),
        DType::I8 => i32::from(natural[0] as i8) as u32,
        DType::U8 => u32::from(natural[0]),
        DType::I16 => i32::from(i16::from_le_bytes(pair(natural))) as u32,
        _ => u32::from(u16::from_le_bytes(pair(natural))),
    };
    bytes.copy_from_slice(&word.to_le_bytes());
}

/// Natural bytes of a float dtype as f32 values; empty for every other dtype.
pub fn to_f32(dtype: DType, natural: &[u8]) -> Vec<f32> {
    match dtype {
        DType::F32 => natural.as_chunks::<4>().0.iter().map(|c| f32::from_le_bytes(*c)).collect(),
        DType::F16 => {
            natural.as_chunks::<2>().0.iter().map(|c| half::f16::from_le_bytes(*c).to_f32()).collect()
        }
        DType::BF16 => {
            natural.as_chunks::<2>().0.iter().map(|c| half::bf16::from_le_bytes(*c).to_f32()).collect()
        }
        _ => Vec::new(),
    }
}

/// Little-endian f32 bytes as bytes of a float dtype, each value rounded to nearest even once. Calls `part` with the
/// byte offset and the bytes of one piece after the other, so that a large tensor needs little memory.
pub(crate) fn convert_f32<E>(
    dtype: DType,
    floats: &[u8],
    mut part: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    const PIECE: usize = 1 << 18;
    if dtype == DType::F32 {
        return part(0, floats);
    }
    let mut offset = 0;
    for piece in floats.chunks(PIECE) {
        let values = to_f32(DType::F32, piece);
        let bytes = match dtype {
            DType::F16 => {
                let mut out = vec![half::f16::ZERO; values.len()];
                out.convert_from_f32_slice(&values);
                bytemuck::cast_slice(&out).to_vec()
            }
            _ => {
                let mut out = vec![half::bf16::ZERO; values.len()];
                out.convert_from_f32_slice(&values);
                bytemuck::cast_slice(&out).to_vec()
            }
        };
        part(offset, &bytes)?;
        offset += bytes.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::DimExpr;

    fn view(dtype: DType, storage: Storage, shape: &[u64], strides: &[i64], offset: i64) -> Window {
        let shape: Vec<DimExpr> = shape.iter().map(|&d| d.into()).collect();
        let strides = strides.iter().map(|&s| DimExpr::constant(s)).collect();
        let view = View { dtype, storage, shape, strides, offset: DimExpr::constant(offset) };
        Window::of(&view, &Bindings::new()).expect("a constant view")
    }

    #[test]
    fn strided_views_are_read_and_written() {
        let bytes: Vec<u8> = (0..12).collect();
        // Rows of [3, 4], transposed: columns become rows.
        let transposed = view(DType::U8, Storage::Natural, &[4, 3], &[1, 4], 0);
        assert_eq!(transposed.read(&bytes, 0), Ok(vec![0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]));
        let reversed = view(DType::U8, Storage::Natural, &[3], &[-2], 5);
        assert_eq!(reversed.byte_range(12), Ok(1..6));
        assert_eq!(reversed.read(&bytes[1..], 1), Ok(vec![5, 3, 1]));
        let repeated = view(DType::U8, Storage::Natural, &[2, 2], &[0, 1], 3);
        assert_eq!(repeated.read(&bytes, 0), Ok(vec![3, 4, 3, 4]));
        let mut back = vec![0; 12];
        let natural = transposed.read(&bytes, 0).expect("inside");
        assert_eq!(transposed.write(&natural, &mut back, 0), Ok(()));
        assert_eq!(back, bytes);
    }

    #[test]
    fn arena_words_round_trip() {
        let cases: [(DType, Vec<u8>, Vec<u32>); 6] = [
            (DType::I8, vec![0xff, 2], vec![u32::MAX, 2]),
            (DType::U8, vec![0xff, 2], vec![255, 2]),
            (DType::I16, vec![0xfe, 0xff, 1, 0], vec![(-2i32) as u32, 1]),
            (DType::Bool, vec![1, 0], vec![1, 0]),
            (DType::F16, half::f16::from_f32(1.5).to_le_bytes().to_vec(), vec![1.5f32.to_bits()]),
            (DType::BF16, half::bf16::from_f32(-2.0).to_le_bytes().to_vec(), vec![(-2f32).to_bits()]),
        ];
        for (dtype, natural, words) in cases {
            let window = Window::dense(dtype, Storage::Arena, &[words.len() as u64]);
            let expected: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let mut bytes = vec![0xa5; expected.len()];
            assert_eq!(window.write(&natural, &mut bytes, 0), Ok(()));
            assert_eq!(bytes, expected, "{dtype}");
            assert_eq!(window.read(&bytes, 0), Ok(natural), "{dtype}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let window = view(DType::F32, Storage::Natural, &[2, 3], &[3, 1], 0);
        assert_eq!(window.read(&[0; 20], 0), Err(ValueError::Outside { start: 0, end: 24, len: 20 }));
        assert!(window.read(&[0; 20], 4).is_err());
        assert_eq!(
            window.write(&[0; 23], &mut [0; 24], 0),
            Err(ValueError::Length { expected: 24, given: 23 })
        );
        assert!(view(DType::U8, Storage::Natural, &[2], &[-1], 0).read(&[0; 8], 0).is_err());
        let empty = view(DType::F32, Storage::Natural, &[0, u64::MAX], &[1, 1], 1 << 40);
        assert_eq!(empty.read(&[], 0), Ok(vec![]));
    }

    fn converted(dtype: DType, floats: &[u8]) -> Vec<u8> {
        let mut got = Vec::new();
        let part = |at: u64, bytes: &[u8]| {
            assert_eq!(at, got.len() as u64);
            got.extend_from_slice(bytes);
            Ok::<(), ()>(())
        };
        convert_f32(dtype, floats, part).expect("the closure returns Ok");
        got
    }

    #[test]
    fn f32_is_rounded_to_nearest_even() {
        let values = [1.0f32, 1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, f32::NAN, 1e30, 6e-8];
        let floats: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        for dtype in [DType::F16, DType::BF16] {
            let got = converted(dtype, &floats);
            let each = values.iter().flat_map(|&v| match dtype {
                DType::F16 => half::f16::from_f32(v).to_le_bytes(),
                _ => half::bf16::from_f32(v).to_le_bytes(),
            });
            assert_eq!(got, each.collect::<Vec<u8>>());
            assert!(to_f32(dtype, &got)[3].is_nan());
        }
        // More than one piece.
        let many: Vec<u8> = (0..100_000u32).flat_map(|v| (v as f32).to_le_bytes()).collect();
        assert_eq!(to_f32(DType::F16, &converted(DType::F16, &many))[2000..2003], [2000.0, 2001.0, 2002.0]);
        assert_eq!(to_f32(DType::BF16, &converted(DType::BF16, &many))[65_536 + 512], 66_048.0);
        // Halfway between 1 and 1 + 2⁻⁷ goes to the even 1; halfway above goes to the even 1 + 2·2⁻⁷.
        let got = converted(DType::BF16, &floats);
        assert_eq!(&to_f32(DType::BF16, &got)[..3], &[1.0, 1.0, 1.0 + 2.0 / 128.0]);
    }
}
