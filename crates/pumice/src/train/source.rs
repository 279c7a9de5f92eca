//! What weights are read from a source of tensors, and as what: floats of any width where floats are wanted, all else
//! in its own type.

use super::error::TrainerError;
use pumice_runtime::TensorInfo;
use pumice_types::{ByteSource, DType, Encoding, SourceError, Stored, Tensor, TensorView};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A trained param or a running statistic.
pub(super) struct Wanted {
    pub name: String,
    pub shape: Vec<u64>,
    pub dtype: DType,
    /// Whether a source must have it.
    pub is_needed: bool,
}

impl Wanted {
    /// That a source has it, of these extents and of a type that fits.
    ///
    /// # Errors
    /// [`TrainerError::Source`].
    pub(super) fn check(&self, source: &dyn ByteSource) -> Result<(), TrainerError> {
        self.stored(source).map(|_| ()).map_err(|source| self.of_source(source))
    }

    /// Its value: of floats as f32, else as it is.
    ///
    /// # Errors
    /// [`TrainerError::Source`].
    pub(super) fn read(&self, source: &dyn ByteSource) -> Result<Tensor, TrainerError> {
        self.tensor(source).map_err(|source| self.of_source(source))
    }

    fn stored(&self, source: &dyn ByteSource) -> Result<Stored, SourceError> {
        let stored = source.stored(&self.name)?;
        let what = if self.is_needed { "param" } else { "state" };
        if stored.shape != self.shape {
            let (given, wanted) = (&stored.shape, &self.shape);
            return Err(self.failed(format!("its extents are {given:?}, those of the {what} {wanted:?}")));
        }
        let fits = match self.dtype.is_float() {
            true => stored.encoding.plain().is_none_or(DType::is_float),
            false => stored.encoding == self.dtype,
        };
        if fits {
            return Ok(stored);
        }
        Err(self.failed(format!("it is {}, the {what} {}; convert it first", stored.encoding, self.dtype)))
    }

    fn tensor(&self, source: &dyn ByteSource) -> Result<Tensor, SourceError> {
        let stored = self.stored(source)?;
        let bytes = pumice_types::tensor::byte_count(stored.encoding, &stored.shape);
        let mut data = vec![0; bytes.map_err(|e| self.failed(e.to_string()))? as usize];
        source.read_bytes(&self.name, 0, &mut data)?;
        let made = match stored.encoding.decode(&data).filter(|_| self.dtype.is_float()) {
            Some(values) => Tensor::new(&values, &stored.shape),
            None => Tensor::from_bytes(stored.encoding, &stored.shape, data),
        };
        made.map_err(|e| self.failed(e.to_string()))
    }

    fn failed(&self, why: String) -> SourceError {
        let source = Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(why));
        SourceError { name: self.name.clone(), source }
    }

    fn of_source(&self, source: SourceError) -> TrainerError {
        TrainerError::Source { name: self.name.clone(), source }
    }
}

/// Whether floats of 16 bits are taken as f32 where these are wanted: where those are floats of another type.
fn widens(given: Encoding, wanted: Encoding) -> bool {
    let halves = matches!(given, Encoding::Plain(DType::F16 | DType::BF16));
    halves && given != wanted && wanted.plain().is_some_and(DType::is_float)
}

/// Floats of 16 bits as f32, where they are given for floats of another type.
pub(super) fn halves_as_f32(wanted: Option<Encoding>, given: &TensorView<'_>) -> Option<Tensor> {
    wanted.filter(|&wanted| widens(given.encoding(), wanted))?;
    // Of a view with other bytes than its extents have, whoever takes it says so.
    given.check().ok()?;
    Tensor::new(&given.encoding().decode(given.bytes())?, given.shape()).ok()
}

/// A source in which floats of 16 bits are f32, where params are floats of another type.
pub(super) struct Widened<'s> {
    source: &'s dyn ByteSource,
    /// Names of those.
    wide: BTreeSet<String>,
}

impl Widened<'_> {
    /// For these params.
    pub(super) fn new<'s>(source: &'s dyn ByteSource, params: &[TensorInfo]) -> Widened<'s> {
        let stored = |param: &TensorInfo| source.stored(&param.name).ok();
        let is_wide = |param: &&TensorInfo| stored(param).is_some_and(|s| widens(s.encoding, param.encoding));
        let wide = params.iter().filter(is_wide).map(|param| param.name.clone()).collect();
        Widened { source, wide }
    }
}

impl ByteSource for Widened<'_> {
    fn stored(&self, name: &str) -> Result<Stored, SourceError> {
        let stored = self.source.stored(name)?;
        let wide = self.wide.contains(name);
        Ok(if wide { Stored { encoding: DType::F32.into(), ..stored } } else { stored })
    }

    fn read_bytes(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), SourceError> {
        if !self.wide.contains(name) {
            return self.source.read_bytes(name, offset, to);
        }
        // The elements of which any byte is asked for.
        let (first, end) = (offset / 4, (offset + to.len() as u64).div_ceil(4));
        let mut halves = vec![0; ((end - first) * 2) as usize];
        self.source.read_bytes(name, first * 2, &mut halves)?;
        let values = self.source.stored(name)?.encoding.decode(&halves).unwrap_or_default();
        let bytes = values.into_iter().flat_map(f32::to_le_bytes).skip((offset % 4) as usize);
        to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        Ok(())
    }
}
