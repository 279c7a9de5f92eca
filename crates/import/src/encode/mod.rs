//! f32 to the bytes of an encoding: the other way of [`Encoding::decode`], for tools that write files.
//!
//! Blocks whose codes are plain (`q8_0`, `q5_0`, `q4_0`) are rounded as OPS 3.4.2 says, bit for bit as the public gguf
//! package does. Those whose sub-blocks have scales (`q4_k`, `q5_k`, `q6_k`) are searched for the least squared error:
//! `fit` finds scale and minimum of a sub-block, `k_affine` and `k_signed` those of a block. Nothing here knows files.

mod fit;
mod k_affine;
mod k_signed;
mod rounded;

use half::{bf16, f16};
use pumice_types::{DType, Encoding, Scheme};

/// Why values are not written in an encoding.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum EncodeError {
    /// An encoding that is read and not written.
    #[error("{encoding} is not written; take one of {}", names())]
    NotWritten {
        /// The encoding.
        encoding: Encoding,
    },
    /// A tensor of integers or booleans.
    #[error("{encoding} are no floats, which alone are encoded anew")]
    NoFloats {
        /// How it is stored.
        encoding: Encoding,
    },
    /// Values that are no whole number of blocks.
    #[error("{count} values are no whole number of blocks of {encoding}, which have {} each", encoding.block().0)]
    CutBlock {
        /// The encoding.
        encoding: Encoding,
        /// Values given.
        count: usize,
    },
    /// A NaN, an infinity, or a number that the encoding is too narrow for.
    #[error("value {index} is {value}, which {encoding} does not hold; take bf16 or f32")]
    OutOfRange {
        /// The encoding.
        encoding: Encoding,
        /// Which value.
        index: usize,
        /// The value.
        value: f32,
    },
}

pumice_types::debug_as_display!(EncodeError);

/// What values are written in.
pub const WRITTEN: [Encoding; 9] = [
    Encoding::Blocks(Scheme::Q8_0),
    Encoding::Blocks(Scheme::Q6_K),
    Encoding::Blocks(Scheme::Q5_K),
    Encoding::Blocks(Scheme::Q5_0),
    Encoding::Blocks(Scheme::Q4_K),
    Encoding::Blocks(Scheme::Q4_0),
    Encoding::Plain(DType::F16),
    Encoding::Plain(DType::BF16),
    Encoding::Plain(DType::F32),
];

fn names() -> String {
    WRITTEN.map(Encoding::name).join(", ")
}

/// The bytes of values, which are whole blocks: any number of rows, one after the other.
///
/// Floats are rounded to the nearest, ties to even. Blocks of zeros decode to zeros, and so do blocks whose scale f16
/// takes as 0: none of their values passes 2⁻¹⁷.
///
/// # Errors
/// [`EncodeError::NotWritten`], [`EncodeError::CutBlock`]; [`EncodeError::OutOfRange`] for what is not finite, unless
/// the encoding is f32 or bf16, and where the nearest f16, or the scale of a block, would not be.
///
/// ```
/// use pumice_import::encode::encode;
/// use pumice_types::{Encoding, Scheme};
///
/// let values: Vec<f32> = (0..64).map(|i| (i as f32).sin()).collect();
/// let q8 = Encoding::Blocks(Scheme::Q8_0);
/// let bytes = encode(q8, &values)?;
/// assert_eq!(bytes.len(), 2 * 34);
/// let decoded = q8.decode(&bytes).expect("f32 holds them");
/// assert!(values.iter().zip(&decoded).all(|(a, b)| (a - b).abs() < 0.005));
/// # Ok::<(), pumice_import::encode::EncodeError>(())
/// ```
pub fn encode(encoding: Encoding, values: &[f32]) -> Result<Vec<u8>, EncodeError> {
    let (elements, bytes) = encoding.block();
    if !WRITTEN.contains(&encoding) {
        return Err(EncodeError::NotWritten { encoding });
    }
    if !values.len().is_multiple_of(elements as usize) {
        return Err(EncodeError::CutBlock { encoding, count: values.len() });
    }
    check_range(encoding, values)?;
    let mut out = Vec::with_capacity(values.len() / elements as usize * bytes as usize);
    match encoding {
        Encoding::Plain(DType::F16) => {
            values.iter().for_each(|&x| out.extend_from_slice(&f16::from_f32(x).to_le_bytes()));
        }
        Encoding::Plain(DType::BF16) => {
            values.iter().for_each(|&x| out.extend_from_slice(&bf16::from_f32(x).to_le_bytes()));
        }
        Encoding::Blocks(scheme) => out = encode_blocks(scheme, values),
        _ => values.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
    }
    Ok(out)
}

/// Values of a part that a thread works on at least.
const PART: usize = 1 << 16;

/// Blocks, by as many threads as there are cores and parts: they are independent.
fn encode_blocks(scheme: Scheme, values: &[f32]) -> Vec<u8> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let part = values.len().div_ceil(cores).max(PART).next_multiple_of(scheme.elements() as usize);
    let encoded = |part: &[f32]| {
        let mut out = Vec::with_capacity(part.len() / scheme.elements() as usize * scheme.bytes() as usize);
        part.chunks_exact(scheme.elements() as usize).for_each(|block| encode_block(scheme, block, &mut out));
        out
    };
    if values.len() <= part {
        return encoded(values);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = values.chunks(part).map(|part| scope.spawn(move || encoded(part))).collect();
        let done = threads.into_iter().map(|thread| thread.join().expect("encoding a block does not panic"));
        done.collect::<Vec<_>>().concat()
    })
}

/// Appends a block of a scheme in [`WRITTEN`].
fn encode_block(scheme: Scheme, block: &[f32], out: &mut Vec<u8>) {
    match scheme {
        Scheme::Q8_0 => rounded::q8_0(block, out),
        Scheme::Q5_0 => rounded::q5_0(block, out),
        Scheme::Q4_0 => rounded::q4_0(block, out),
        Scheme::Q5_K => k_affine::q5_k(block, out),
        Scheme::Q4_K => k_affine::q4_k(block, out),
        _ => k_signed::q6_k(block, out),
    }
}

/// Whether every value has a nearest one.
fn check_range(encoding: Encoding, values: &[f32]) -> Result<(), EncodeError> {
    let holds = |x: f32| match encoding {
        Encoding::Plain(DType::F32) => true,
        Encoding::Plain(DType::BF16) => bf16::from_f32(x).is_finite() == x.is_finite(),
        Encoding::Plain(_) => f16::from_f32(x).is_finite(),
        // The scale of a block is f16, and its largest code 8 at least.
        _ => x.abs() <= 65504.0 * 8.0,
    };
    match values.iter().position(|&x| !holds(x)) {
        Some(index) => Err(EncodeError::OutOfRange { encoding, index, value: values[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
