//! Weights of a source as another kind of file has them: under other names, and with rows in another order,
//! transposed, or with 1 added. Made when they are read.

use crate::error::ImportError;
use crate::source::{WeightInfo, WeightSource, check_piece, unknown};
use indexmap::IndexMap;
use pumice_types::{Bytes, DType, Encoding, Tensor};
use std::sync::{Arc, Mutex, PoisonError};

/// How a tensor differs from the one that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// In its name alone.
    Renamed,
    /// Of each head, row i of the first half stands before row i of the second: halves that rotate become pairs.
    Paired {
        /// Heads, each of as many rows.
        heads: u64,
    },
    /// Rows are columns.
    Transposed,
    /// Each value is one more, in f32.
    OneMore,
}

/// Tensors of a source, each under another name and transformed; and some that are given.
pub struct TransformedWeights {
    inner: Box<dyn WeightSource>,
    tensors: IndexMap<String, (String, Transform)>,
    given: IndexMap<String, Tensor>,
    /// The tensor that was read last, where whole ones are needed.
    last: Mutex<Option<(String, Arc<Tensor>)>>,
}

impl TransformedWeights {
    /// No tensors of `inner` yet.
    pub fn of(inner: Box<dyn WeightSource>) -> TransformedWeights {
        TransformedWeights { inner, tensors: IndexMap::new(), given: IndexMap::new(), last: Mutex::new(None) }
    }

    /// Shows tensors of `inner` under the names on the left of the map as they are; those that the map leaves out are
    /// not seen.
    pub fn renamed(inner: Box<dyn WeightSource>, names: IndexMap<String, String>) -> TransformedWeights {
        let tensors = names.into_iter().map(|(name, inner)| (name, (inner, Transform::Renamed))).collect();
        TransformedWeights { tensors, ..TransformedWeights::of(inner) }
    }

    /// Shows a tensor of `inner` under a new name.
    ///
    /// # Errors
    /// A tensor that is not there; one whose rows are no halves, that is no matrix where it is transposed, or whose
    /// values stand in blocks or with scales beside them ([`ImportError::Transform`]).
    pub fn show(&mut self, name: &str, inner: &str, how: Transform) -> Result<(), ImportError> {
        let info = self.inner.describe(inner)?;
        let rows = info.shape.first().copied().unwrap_or(0);
        let fits = match how {
            Transform::Renamed => true,
            _ if info.encoding.plain().is_none() => false,
            Transform::Paired { heads } => heads > 0 && rows.is_multiple_of(2 * heads),
            Transform::Transposed => info.shape.len() == 2,
            Transform::OneMore => info.encoding.dtype().is_float(),
        };
        if !fits {
            let (origin, tensor) = (self.inner.origin(), inner.to_owned());
            return Err(ImportError::Transform {
                origin,
                tensor,
                encoding: info.encoding,
                shape: info.shape,
            });
        }
        self.tensors.insert(name.to_owned(), (inner.to_owned(), how));
        Ok(())
    }

    /// Adds a tensor that the source does not have.
    pub fn give(&mut self, name: &str, tensor: Tensor) {
        self.given.insert(name.to_owned(), tensor);
    }

    fn resolve(&self, name: &str) -> Result<&(String, Transform), ImportError> {
        self.tensors.get(name).ok_or_else(|| unknown(self.origin(), name, &self.names()))
    }

    /// A whole tensor of the source.
    fn whole(&self, inner: &str) -> Result<Arc<Tensor>, ImportError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tensor)) = last.as_ref().filter(|(name, _)| name == inner) {
            return Ok(tensor.clone());
        }
        let tensor = Arc::new(self.inner.load(inner)?);
        *last = Some((inner.to_owned(), tensor.clone()));
        Ok(tensor)
    }
}

impl WeightSource for TransformedWeights {
    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.keys().chain(self.given.keys()).map(String::as_str).collect()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        if let Some(given) = self.given.get(name) {
            let bytes = Bytes(given.bytes().len() as u64);
            return Ok(WeightInfo { encoding: given.encoding(), shape: given.shape().to_vec(), bytes });
        }
        let (inner, how) = self.resolve(name)?;
        let mut info = self.inner.describe(inner)?;
        match how {
            Transform::Renamed | Transform::Paired { .. } => {}
            Transform::Transposed => info.shape.reverse(),
            Transform::OneMore => {
                info.bytes = Bytes(info.bytes.0 / info.encoding.block().1 * 4);
                info.encoding = Encoding::Plain(DType::F32);
            }
        }
        Ok(info)
    }

    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        check_piece(self, name, self.describe(name)?.bytes.0, offset, out)?;
        if let Some(given) = self.given.get(name) {
            out.copy_from_slice(&given.bytes()[offset as usize..][..out.len()]);
            return Ok(());
        }
        let (inner, how) = self.resolve(name)?;
        if *how == Transform::Renamed {
            return self.inner.read_at(inner, offset, out);
        }
        let tensor = self.whole(inner)?;
        match how {
            Transform::Paired { heads } => paired(&tensor, *heads, offset, out),
            Transform::Transposed => transposed(&tensor, offset, out),
            _ => one_more(&tensor, offset, out),
        }
        Ok(())
    }

    fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name) || self.given.contains_key(name)
    }
}

/// Row 2 i + j of a head is row j · width / 2 + i of the tensor's.
fn paired(tensor: &Tensor, heads: u64, offset: u64, out: &mut [u8]) {
    let rows = tensor.shape().first().copied().unwrap_or(1);
    let width = rows / heads;
    let from = |row: u64| {
        let (head, k) = (row / width, row % width);
        head * width + (k % 2) * (width / 2) + k / 2
    };
    units(tensor.bytes(), tensor.bytes().len() as u64 / rows, offset, out, from);
}

/// Element (r, c) is element (c, r) of the tensor's.
fn transposed(tensor: &Tensor, offset: u64, out: &mut [u8]) {
    let (rows, columns) = (tensor.shape()[0], tensor.shape()[1]);
    let from = |i: u64| i % rows * columns + i / rows;
    units(tensor.bytes(), tensor.encoding().block().1, offset, out, from);
}

/// Bytes from `offset` on of units (rows, elements), of which unit i is `from(i)` of `bytes`.
fn units(bytes: &[u8], unit: u64, offset: u64, out: &mut [u8], from: impl Fn(u64) -> u64) {
    let mut done = 0;
    while done < out.len() {
        let at = offset + done as u64;
        let skipped = at % unit;
        let taken = (unit - skipped).min((out.len() - done) as u64) as usize;
        let first = (from(at / unit) * unit + skipped) as usize;
        out[done..done + taken].copy_from_slice(&bytes[first..first + taken]);
        done += taken;
    }
}

fn one_more(tensor: &Tensor, offset: u64, out: &mut [u8]) {
    let values = tensor.encoding().decode(tensor.bytes()).unwrap_or_default();
    let bytes: Vec<u8> = values.iter().flat_map(|x| (x + 1.0).to_le_bytes()).collect();
    out.copy_from_slice(&bytes[offset as usize..][..out.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryWeights;

    /// A source of w, f32 \[4, 3\] of 0 to 11.
    fn source(how: Transform) -> Result<TransformedWeights, ImportError> {
        let bytes: Vec<u8> = (0..12).flat_map(|x| (x as f32).to_le_bytes()).collect();
        let w = Tensor::from_bytes(DType::F32, &[4, 3], bytes).expect("twelve");
        let mut shown = TransformedWeights::of(Box::new(MemoryWeights::from_iter([("w".to_owned(), w)])));
        shown.show("v", "w", how)?;
        Ok(shown)
    }

    #[test]
    fn each_way() {
        let read = |how: Transform| {
            let (shown, mut bytes) = (source(how).expect("fits"), Vec::new());
            let all = shown.describe("v").expect("there").bytes.0;
            // Pieces that cut rows and elements.
            while bytes.len() < all as usize {
                let mut piece = vec![0; 5.min(all as usize - bytes.len())];
                shown.read_at("v", bytes.len() as u64, &mut piece).expect("read");
                bytes.extend(piece);
            }
            let values = Encoding::Plain(DType::F32).decode(&bytes).expect("floats");
            (shown.describe("v").expect("there").shape, values)
        };
        let all = |order: [u8; 12]| order.map(f32::from).to_vec();
        assert_eq!(read(Transform::Renamed), (vec![4, 3], all([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])));
        let one_head = read(Transform::Paired { heads: 1 });
        assert_eq!(one_head, (vec![4, 3], all([0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11])));
        assert_eq!(read(Transform::Paired { heads: 2 }).1, read(Transform::Renamed).1);
        assert_eq!(read(Transform::Transposed), (vec![3, 4], all([0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11])));
        assert_eq!(read(Transform::OneMore), (vec![4, 3], all([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])));
    }

    #[test]
    fn rows_that_have_no_halves_are_refused() {
        let refused =
            source(Transform::Paired { heads: 4 }).map(|_| ()).expect_err("one row a head").to_string();
        assert!(refused.contains("`w`") && refused.contains("f32"), "{refused}");
    }
}
