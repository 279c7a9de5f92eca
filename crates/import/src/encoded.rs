//! Weights of another source in other encodings, which are made when they are read: in, tensors and the encodings
//! wanted; out, the same tensors in those, piece by piece.

use crate::encode::encode;
use crate::error::ImportError;
use crate::source::{WeightInfo, WeightSource, check_piece};
use indexmap::IndexMap;
use pumice_types::{Bytes, Encoding};

/// A source whose tensors are encoded anew. A tensor that already is what is wanted is passed on byte for byte.
pub struct EncodedWeights {
    source: Box<dyn WeightSource>,
    wanted: IndexMap<String, Encoding>,
}

impl EncodedWeights {
    /// The tensors of `source`, as they are.
    pub fn of(source: Box<dyn WeightSource>) -> EncodedWeights {
        EncodedWeights { source, wanted: IndexMap::new() }
    }

    /// Asks for a tensor in an encoding of [`WRITTEN`](crate::encode::WRITTEN).
    ///
    /// # Errors
    /// A tensor that is not there or of a type that is not read, one without values as f32 (an integer), rows that are
    /// no whole blocks ([`ImportError::Encode`]).
    pub fn want(&mut self, name: &str, encoding: Encoding) -> Result<(), ImportError> {
        let info = self.source.describe(name)?;
        let stays = info.encoding == encoding;
        let failed =
            |source| ImportError::Encode { origin: self.source.origin(), tensor: name.to_owned(), source };
        if !stays && (info.encoding.codes().is_some() || !info.encoding.dtype().is_float()) {
            return Err(failed(crate::EncodeError::NoFloats { encoding: info.encoding }));
        }
        if encoding.bytes(&info.shape).is_err() {
            let count = info.shape.last().copied().unwrap_or(1) as usize;
            return Err(failed(crate::EncodeError::CutBlock { encoding, count }));
        }
        self.wanted.insert(name.to_owned(), encoding);
        Ok(())
    }

    fn wanted(&self, name: &str, info: &WeightInfo) -> Encoding {
        self.wanted.get(name).copied().unwrap_or(info.encoding)
    }

    /// Values `first` to `end` of a tensor, which may cut blocks of the source.
    fn values(&self, name: &str, from: Encoding, first: u64, end: u64) -> Result<Vec<f32>, ImportError> {
        let (elements, bytes) = from.block();
        let (block, past) = (first / elements, end.div_ceil(elements));
        let mut stored = vec![0; ((past - block) * bytes) as usize];
        self.source.read_at(name, block * bytes, &mut stored)?;
        let mut values = from.decode(&stored).unwrap_or_default();
        values.truncate((end - block * elements) as usize);
        values.drain(..(first - block * elements) as usize);
        Ok(values)
    }
}

impl WeightSource for EncodedWeights {
    fn origin(&self) -> String {
        self.source.origin()
    }

    fn names(&self) -> Vec<&str> {
        self.source.names()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        let info = self.source.describe(name)?;
        let encoding = self.wanted(name, &info);
        let bytes = encoding.bytes(&info.shape).unwrap_or(Bytes(0));
        Ok(WeightInfo { encoding, bytes, ..info })
    }

    /// Pieces begin and end at whole blocks, or cost the blocks that they cut.
    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        let info = self.source.describe(name)?;
        let to = self.wanted(name, &info);
        if to == info.encoding {
            return self.source.read_at(name, offset, out);
        }
        let (elements, bytes) = to.block();
        check_piece(self, name, self.describe(name)?.bytes.0, offset, out)?;
        let (block, past) = (offset / bytes, (offset + out.len() as u64).div_ceil(bytes));
        let values = self.values(name, info.encoding, block * elements, past * elements)?;
        let failed = |source| ImportError::Encode { origin: self.origin(), tensor: name.to_owned(), source };
        let made = encode(to, &values).map_err(failed)?;
        let skipped = (offset - block * bytes) as usize;
        out.copy_from_slice(&made[skipped..skipped + out.len()]);
        Ok(())
    }

    fn contains(&self, name: &str) -> bool {
        self.source.contains(name)
    }
}
