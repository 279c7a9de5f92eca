//! Which model it is: a digest of what says how it computes, and of the beginning of every tensor.
//!
//! SHA-256 over the tokens' and layers' configuration as planned (with the factors of angles that the planned context
//! chose), the files that say what the model is, and the first 4 KiB of each tensor, by name.

use super::source::Source;
use crate::decoder::DecoderConfig;
use crate::error::ModelError;
use pumice_import::WeightSource;
use sha2::{Digest, Sha256};

/// Bytes of each tensor that count.
const BEGINNING: u64 = 4 << 10;

/// A SHA-256 digest.
pub type Fingerprint = [u8; 32];

/// The digest of a model as it is planned.
///
/// # Errors
/// Files and tensors that cannot be read.
pub(super) fn of(
    source: &Source,
    config: &DecoderConfig,
    weights: &dyn WeightSource,
) -> Result<Fingerprint, ModelError> {
    let mut digest = Sha256::new();
    let mut add = |what: &str, bytes: &[u8]| {
        digest.update((what.len() as u64).to_le_bytes());
        digest.update(what.as_bytes());
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    // Sizes of the plan say nothing of the numbers; rotations and caches do.
    for layer in &config.layers {
        add("layer", format!("{layer:?}").as_bytes());
    }
    add("cache", config.cache.name().as_bytes());
    source.describing(&mut |name, bytes| add(name, bytes))?;
    for name in weights.names() {
        let info = weights.describe(name)?;
        let mut beginning = vec![0; info.bytes.0.min(BEGINNING) as usize];
        weights.read_at(name, 0, &mut beginning)?;
        add(name, format!("{} {:?}", info.encoding, info.shape).as_bytes());
        add("bytes", &beginning);
    }
    Ok(digest.finalize().into())
}
