//! Weights made from a seed: for plans that need shapes only, for demonstrations without a network, for tests.
//!
//! Every element is a function of (seed, tensor name, linear index) and of nothing else, so a tensor is the same
//! whichever others exist, in whatever order they are read, on every platform.

use crate::error::ImportError;
use crate::source::{WeightInfo, WeightSource, check_buffer, unknown};
use indexmap::IndexMap;
use pumice_ir::Graph;
use pumice_types::{Bytes, DType, tensor};

/// Tensors whose elements are made when they are read.
///
/// With u uniform in [−1, 1): a matrix holds u·√(3/n), n its last extent, so that products keep their variance; a
/// vector whose name ends in `weight` is a norm's scale and holds 1 + u/10; any other vector holds u/10. Integers and
/// booleans are 0.
#[derive(Clone, Debug)]
pub struct SeededWeights {
    seed: u64,
    tensors: IndexMap<String, WeightInfo>,
}

impl SeededWeights {
    /// No tensors yet.
    pub fn new(seed: u64) -> SeededWeights {
        SeededWeights { seed, tensors: IndexMap::new() }
    }

    /// A tensor for every parameter of a graph, under the parameter's name.
    pub fn for_graph(graph: &Graph, seed: u64) -> Result<SeededWeights, ImportError> {
        let mut weights = SeededWeights::new(seed);
        for id in graph.params() {
            let value = graph.value(id);
            let shape = value.ty.static_shape().ok_or_else(|| ImportError::Unmakeable {
                tensor: value.name.clone(),
                reason: format!("its shape is symbolic: {}", value.ty.display(graph.symbols())),
            })?;
            weights.add(&value.name, value.ty.dtype(), &shape)?;
        }
        Ok(weights)
    }

    /// Adds a tensor; one of the same name is replaced.
    pub fn add(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Result<(), ImportError> {
        let bytes = tensor::byte_count(dtype, shape)
            .map_err(|e| ImportError::Unmakeable { tensor: name.to_owned(), reason: e.to_string() })?;
        let info = WeightInfo { dtype, shape: shape.to_vec(), bytes: Bytes(bytes) };
        self.tensors.insert(name.to_owned(), info);
        Ok(())
    }

    fn get(&self, name: &str) -> Result<&WeightInfo, ImportError> {
        self.tensors.get(name).ok_or_else(|| unknown(self.origin(), name, &self.names()))
    }
}

impl WeightSource for SeededWeights {
    fn origin(&self) -> String {
        format!("weights seeded with {}", self.seed)
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.keys().map(String::as_str).collect()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        self.get(name).cloned()
    }

    fn read(&self, name: &str, out: &mut [u8]) -> Result<(), ImportError> {
        let info = self.get(name)?;
        check_buffer(self, name, info.bytes.0, out)?;
        let (offset, scale) = law(name, &info.shape);
        let key = mix(self.seed ^ fnv(name));
        let value = |i: usize| offset + scale * uniform(key, i as u64);
        match info.dtype {
            DType::F32 => fill(out, |i| value(i).to_le_bytes()),
            DType::F16 => fill(out, |i| half::f16::from_f32(value(i)).to_le_bytes()),
            DType::BF16 => fill(out, |i| half::bf16::from_f32(value(i)).to_le_bytes()),
            _ => out.fill(0),
        }
        Ok(())
    }

    fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }
}

/// Offset and scale of the uniform number, by what the tensor is.
fn law(name: &str, shape: &[u64]) -> (f32, f32) {
    match shape {
        [.., _, n] => (0.0, (3.0 / (*n).max(1) as f64).sqrt() as f32),
        _ if name.ends_with("weight") => (1.0, 0.1),
        _ => (0.0, 0.1),
    }
}

fn fill<const N: usize>(out: &mut [u8], element: impl Fn(usize) -> [u8; N]) {
    for (i, bytes) in out.chunks_exact_mut(N).enumerate() {
        bytes.copy_from_slice(&element(i));
    }
}

/// In [−1, 1), a multiple of 2⁻²³.
fn uniform(key: u64, index: u64) -> f32 {
    let bits = mix(key.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15))) >> 40;
    (bits as f32) * (1.0 / 8_388_608.0) - 1.0
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// FNV-1a of a name.
fn fnv(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_depends_on_seed_and_name_alone() {
        let mut a = SeededWeights::new(7);
        a.add("x.weight", DType::F32, &[64, 48]).expect("small");
        let mut b = SeededWeights::new(7);
        b.add("norm.weight", DType::F16, &[5]).expect("small");
        b.add("x.weight", DType::F32, &[64, 48]).expect("small");
        assert_eq!(a.load("x.weight").expect("there"), b.load("x.weight").expect("there"));
        let mut c = SeededWeights::new(8);
        c.add("x.weight", DType::F32, &[64, 48]).expect("small");
        assert_ne!(a.load("x.weight").expect("there"), c.load("x.weight").expect("there"));
    }

    #[test]
    fn matrices_keep_variance_and_norms_are_near_one() {
        let mut w = SeededWeights::new(1);
        w.add("x.weight", DType::F32, &[256, 64]).expect("small");
        w.add("norm.weight", DType::F16, &[64]).expect("small");
        let x = w.load("x.weight").expect("there").to_vec::<f32>().expect("f32");
        let mean = x.iter().sum::<f32>() / x.len() as f32;
        let variance = x.iter().map(|v| v * v).sum::<f32>() / x.len() as f32;
        assert!(mean.abs() < 0.01 && (variance * 64.0 - 1.0).abs() < 0.05, "{mean} {variance}");
        let norm = w.load("norm.weight").expect("there").to_vec::<half::f16>().expect("f16");
        assert!(norm.iter().all(|v| (v.to_f32() - 1.0).abs() <= 0.11));
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let mut w = SeededWeights::new(1);
        assert!(matches!(w.add("x", DType::F32, &[u64::MAX, 3]), Err(ImportError::Unmakeable { .. })));
        assert!(matches!(w.load("y"), Err(ImportError::UnknownTensor { .. })));
        w.add("x", DType::F32, &[3]).expect("small");
        assert!(matches!(
            w.read("x", &mut [0; 11]),
            Err(ImportError::BufferLength { expected: 12, given: 11, .. })
        ));
        w.add("huge", DType::F32, &[1 << 40, 1 << 20]).expect("fits 64 bits");
        assert!(matches!(w.load("huge"), Err(ImportError::OutOfMemory { .. })));
    }
}
