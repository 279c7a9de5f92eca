//! Weights made from a seed: for plans that need shapes only, for demonstrations without a network, for tests.
//!
//! Every element, or block of elements, is a function of (seed, tensor name, shape, linear index) and of nothing else,
//! so a tensor is the same whichever others exist, in whatever order and pieces it is read, on every platform.

mod elements;

use crate::error::ImportError;
use crate::source::{WeightInfo, WeightSource, check_piece, unknown};
use indexmap::IndexMap;
use pumice_ir::Graph;
use pumice_types::Encoding;

/// Tensors whose elements are made when they are read.
///
/// With u uniform in [−1, 1): a matrix holds u·√(3/n), n its last extent, so that products keep their variance; a
/// vector whose name ends in `weight` is a norm's scale and holds 1 + u/10; any other vector holds u/10. Integers and
/// booleans are 0. Blocks hold random codes under positive scales with which no element passes 1/2.
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
                tensor: value.name.to_string(),
                reason: format!("its shape is symbolic: {}", value.ty.display(graph.symbols())),
            })?;
            weights.add(&value.name, value.ty.encoding, &shape)?;
        }
        Ok(weights)
    }

    /// Adds a tensor; one of the same name is replaced.
    ///
    /// # Errors
    /// [`ImportError::Unmakeable`] where the encoding has no tensor of this shape.
    pub fn add(
        &mut self,
        name: &str,
        encoding: impl Into<Encoding>,
        shape: &[u64],
    ) -> Result<(), ImportError> {
        let encoding = encoding.into();
        let bytes = encoding
            .bytes(shape)
            .map_err(|e| ImportError::Unmakeable { tensor: name.to_owned(), reason: e.to_string() })?;
        self.tensors.insert(name.to_owned(), WeightInfo { encoding, shape: shape.to_vec(), bytes });
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

    /// Made from that byte on: a large tensor in pieces.
    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        let info = self.get(name)?;
        check_piece(self, name, info.bytes.0, offset, out)?;
        elements::fill(self.seed, name, info, offset, out);
        Ok(())
    }

    fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::encoding::FieldKind;
    use pumice_types::{DType, Scheme};

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
    /// Pieces of any length, at any byte, are the tensor; scales are positive and small.
    #[test]
    fn pieces_are_the_tensor_and_blocks_are_sane() {
        for encoding in Encoding::all() {
            let mut w = SeededWeights::new(3);
            w.add("x", encoding, &[3, 512]).expect("whole blocks");
            let whole = w.load("x").expect("there");
            let mut pieces = vec![0; whole.bytes().len()];
            for (i, piece) in pieces.chunks_mut(77).enumerate() {
                w.read_at("x", i as u64 * 77, piece).expect("inside");
            }
            assert_eq!(pieces, whole.bytes(), "{encoding}");
            let Some(scheme) = encoding.scheme() else { continue };
            let fields = scheme.info().fields.iter();
            let scales = fields.filter(|f| f.kind == FieldKind::F16);
            for at in scales.map(|f| f.at as usize) {
                let f16 = |b: &[u8]| half::f16::from_le_bytes([b[at], b[at + 1]]).to_f32();
                let drawn: Vec<f32> = pieces.chunks(scheme.bytes() as usize).map(f16).collect();
                assert!(
                    drawn.iter().all(|d| (1.0 / 16384.0..1.0 / 32.0).contains(d)),
                    "{encoding} {drawn:?}"
                );
                assert!(drawn.windows(2).any(|d| d[0] != d[1]), "{encoding}");
            }
        }
    }

    #[test]
    fn a_piece_after_the_end_is_refused() {
        let mut w = SeededWeights::new(3);
        w.add("x", Scheme::Q4_0, &[64]).expect("whole blocks");
        assert!(w.read_at("x", 30, &mut [0; 6]).is_ok());
        for offset in [31, 36, u64::MAX] {
            assert!(matches!(w.read_at("x", offset, &mut [0; 6]), Err(ImportError::BufferLength { .. })));
        }
        assert!(matches!(w.add("y", Scheme::Q4_0, &[63]), Err(ImportError::Unmakeable { .. })));
    }
}
