//! The evaluator's tensors: floats held in f64, integers and booleans in i64, always exactly a value of the dtype.

use half::{bf16, f16};
use pumice_types::tensor::element_count;
use pumice_types::{DType, Tensor, TensorError};
use std::cell::Cell;

thread_local! {
    /// Whether this thread evaluates without rounding.
    static UNROUNDED: Cell<bool> = const { Cell::new(false) };
}

/// What `body` gives where no float is rounded to its dtype: everything is f64, as derivatives are judged.
pub fn unrounded<R>(body: impl FnOnce() -> R) -> R {
    struct Restored(bool);
    impl Drop for Restored {
        fn drop(&mut self) {
            UNROUNDED.set(self.0);
        }
    }
    let _before = Restored(UNROUNDED.replace(true));
    body()
}

/// Elements of an [`Array`].
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// F32, F16, BF16.
    Float(Vec<f64>),
    /// Integers; U64 by its bits; Bool as 0 or 1.
    Int(Vec<i64>),
}

/// A dense row-major tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<u64>,
    /// Elements.
    pub data: Data,
}

impl Array {
    /// Floats, each rounded once (to nearest even) to the dtype. The number of values must be the shape's.
    pub fn floats(dtype: DType, shape: &[u64], mut values: Vec<f64>) -> Array {
        debug_assert_eq!(values.len() as u64, element_count(shape).unwrap_or(0));
        values.iter_mut().for_each(|v| *v = round(dtype, *v));
        Array { dtype, shape: shape.to_vec(), data: Data::Float(values) }
    }

    /// Integers, each wrapped to the dtype; Bool becomes 0 or 1.
    pub fn ints(dtype: DType, shape: &[u64], mut values: Vec<i64>) -> Array {
        debug_assert_eq!(values.len() as u64, element_count(shape).unwrap_or(0));
        values.iter_mut().for_each(|v| *v = wrap(dtype, *v));
        Array { dtype, shape: shape.to_vec(), data: Data::Int(values) }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Float(v) => v.len(),
            Data::Int(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as f64 (integers converted; U64 by value).
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::Float(v) => v.clone(),
            Data::Int(v) if self.dtype == DType::U64 => v.iter().map(|&i| i as u64 as f64).collect(),
            Data::Int(v) => v.iter().map(|&i| i as f64).collect(),
        }
    }

    /// The same with its floats rounded to the values of another dtype.
    #[must_use]
    pub fn rounded_to(&self, dtype: DType) -> Array {
        let data = match &self.data {
            Data::Float(values) => Data::Float(values.iter().map(|&v| round(dtype, v)).collect()),
            Data::Int(values) => Data::Int(values.clone()),
        };
        Array { dtype: self.dtype, shape: self.shape.clone(), data }
    }

    /// The float elements; empty for integer arrays.
    pub fn as_floats(&self) -> &[f64] {
        match &self.data {
            Data::Float(v) => v,
            Data::Int(_) => &[],
        }
    }

    /// The integer elements; empty for float arrays.
    pub fn as_ints(&self) -> &[i64] {
        match &self.data {
            Data::Int(v) => v,
            Data::Float(_) => &[],
        }
    }

    /// The same elements under another shape of as many elements.
    pub fn reshaped(&self, shape: &[u64]) -> Array {
        Array { dtype: self.dtype, shape: shape.to_vec(), data: self.data.clone() }
    }

    /// Elements picked by linear index: result element i is element `index(i)` of this array.
    pub fn gathered(&self, shape: &[u64], index: impl Fn(usize) -> usize) -> Array {
        let n = element_count(shape).unwrap_or(0) as usize;
        let data = match &self.data {
            Data::Float(v) => Data::Float((0..n).map(|i| v[index(i)]).collect()),
            Data::Int(v) => Data::Int((0..n).map(|i| v[index(i)]).collect()),
        };
        Array { dtype: self.dtype, shape: shape.to_vec(), data }
    }

    /// Overwrites elements: element `to[i]` of this array becomes element `from_index[i]` of `from`, rounded to this
    /// array's dtype.
    pub fn scatter(&mut self, to: &[usize], from: &Array, from_index: &[usize]) {
        let dtype = self.dtype;
        match (&mut self.data, &from.data) {
            (Data::Float(a), Data::Float(b)) => {
                to.iter().zip(from_index).for_each(|(&i, &j)| a[i] = round(dtype, b[j]));
            }
            (Data::Int(a), Data::Int(b)) => {
                to.iter().zip(from_index).for_each(|(&i, &j)| a[i] = wrap(dtype, b[j]))
            }
            _ => {}
        }
    }

    /// From natural bytes; of blocks and codes the values that they stand for.
    pub fn from_tensor(t: &Tensor) -> Array {
        let stored = t.encoding().plain().is_none();
        match stored.then(|| t.encoding().decode(t.bytes())).flatten() {
            // What fills the last byte of codes is no element.
            Some(mut values) => {
                values.truncate(element_count(t.shape()).unwrap_or(0) as usize);
                Array::floats(DType::F32, t.shape(), values.into_iter().map(f64::from).collect())
            }
            None => Array::from_natural(t.dtype(), t.shape(), t.bytes()),
        }
    }

    /// From natural bytes; a trailing partial element is left out.
    pub fn from_natural(dtype: DType, shape: &[u64], bytes: &[u8]) -> Array {
        let data = match dtype {
            DType::F32 | DType::F16 | DType::BF16 => Data::Float(read_floats(dtype, bytes)),
            _ => Data::Int(read_ints(dtype, bytes)),
        };
        Array { dtype, shape: shape.to_vec(), data }
    }

    /// As a tensor.
    pub fn to_tensor(&self) -> Result<Tensor, TensorError> {
        Tensor::from_bytes(self.dtype, &self.shape, self.to_bytes())
    }

    /// As natural bytes, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match &self.data {
            Data::Float(v) => v.iter().for_each(|&f| push_float(&mut bytes, self.dtype, f)),
            Data::Int(v) => v.iter().for_each(|&i| push_int(&mut bytes, self.dtype, i)),
        }
        bytes
    }
}

fn push_float(bytes: &mut Vec<u8>, dtype: DType, f: f64) {
    match dtype {
        DType::F16 => bytes.extend(f16::from_f64(f).to_le_bytes()),
        DType::BF16 => bytes.extend(bf16::from_f64(f).to_le_bytes()),
        _ => bytes.extend(narrow(f).to_le_bytes()),
    }
}

fn push_int(bytes: &mut Vec<u8>, dtype: DType, i: i64) {
    bytes.extend_from_slice(&i.to_le_bytes()[..dtype.natural_bytes() as usize]);
}

fn read_floats(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let two = |c: &[u8]| u16::from_le_bytes([c[0], c[1]]);
    match dtype {
        DType::F16 => bytes.chunks_exact(2).map(|c| f16::from_bits(two(c)).to_f64()).collect(),
        DType::BF16 => bytes.chunks_exact(2).map(|c| bf16::from_bits(two(c)).to_f64()).collect(),
        _ => bytes.chunks_exact(4).map(|c| widen(u32::from_le_bytes([c[0], c[1], c[2], c[3]]))).collect(),
    }
}

/// An f32 as f64. A NaN keeps its payload and its quiet bit, which the hardware's conversion would set.
fn widen(bits: u32) -> f64 {
    let value = f32::from_bits(bits);
    if !value.is_nan() {
        return f64::from(value);
    }
    let (sign, payload) = (u64::from(bits >> 31), u64::from(bits & 0x007f_ffff));
    f64::from_bits(sign << 63 | 0x7ff << 52 | payload << 29)
}

/// The bits of an f64 that holds an f32: what [`widen`] undoes.
fn narrow(value: f64) -> u32 {
    if !value.is_nan() {
        return (value as f32).to_bits();
    }
    let bits = value.to_bits();
    let payload = (bits >> 29) as u32 & 0x007f_ffff;
    let sign = (bits >> 63) as u32;
    // A NaN whose payload lies below f32's stays a NaN.
    sign << 31 | 0x7f80_0000 | if payload == 0 { 0x0040_0000 } else { payload }
}

fn read_ints(dtype: DType, bytes: &[u8]) -> Vec<i64> {
    bytes
        .chunks_exact(dtype.natural_bytes() as usize)
        .map(|c| {
            let mut wide = [0u8; 8];
            wide[..c.len()].copy_from_slice(c);
            wrap(dtype, i64::from_le_bytes(wide))
        })
        .collect()
}

/// A value rounded once, to nearest even, to a float dtype.
pub fn round(dtype: DType, v: f64) -> f64 {
    match dtype {
        _ if v.is_nan() || UNROUNDED.get() => v,
        DType::F16 => round_to(v, 11, -14, 65504.0),
        DType::BF16 => round_to(v, 8, -126, f64::from(bf16::MAX)),
        _ => f64::from(v as f32),
    }
}

/// Rounding to `bits` significant bits, normal exponents from `min` on, infinity beyond `largest`. Dividing by a power
/// of two is exact in f64, so there is one rounding (`half` drops low bits of an f64 before it rounds).
fn round_to(v: f64, bits: i32, min: i32, largest: f64) -> f64 {
    if v == 0.0 || !v.is_finite() {
        return v;
    }
    let exponent = ((v.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let unit = 2f64.powi(exponent.max(min) - (bits - 1));
    let rounded = (v / unit).round_ties_even() * unit;
    if rounded.abs() > largest { f64::INFINITY.copysign(v) } else { rounded }
}

/// A value wrapped to an integer dtype (two's complement); Bool: any non-zero is 1.
pub fn wrap(dtype: DType, v: i64) -> i64 {
    match dtype {
        DType::I8 => i64::from(v as i8),
        DType::U8 => i64::from(v as u8),
        DType::I16 => i64::from(v as i16),
        DType::U16 => i64::from(v as u16),
        DType::I32 => i64::from(v as i32),
        DType::U32 => i64::from(v as u32),
        DType::Bool => i64::from(v != 0),
        _ => v,
    }
}
