//! The matrices of a folder in another encoding, made while they are loaded: in, its tensors and what was asked for;
//! out, an encoding for each, and a note of what differs.

use super::family::Family;
use super::roles::Roles;
use super::weights::{FolderWeights, gguf_name};
use crate::decoder::{DecoderConfig, DecoderWeights};
use crate::error::{ModelError, Note};
use crate::quantization::{Choice, choose};
use pumice_import::{EncodedWeights, WeightSource};
use pumice_types::Encoding;

/// Why a matrix stays: blocks are parts of rows.
const IN_COLUMNS: &str = "the folder stores it transposed; convert it to a GGUF file to quantize it";

/// Encodings that were chosen.
pub(super) struct Quantized {
    tensors: Vec<(String, Choice)>,
    asked: Encoding,
}

impl Quantized {
    /// Chooses for every tensor that the model has; those that are missing are left to the model's check.
    ///
    /// # Errors
    /// A tensor that cannot be described, a configuration that gives no graph.
    pub fn of(
        source: &dyn WeightSource,
        family: &'static Family,
        config: &DecoderConfig,
        asked: Encoding,
    ) -> Result<Quantized, ModelError> {
        let weights = FolderWeights::of(family.names, source)?;
        let roles = Roles::of(config, &weights)?;
        let mut tensors = Vec::new();
        for (role, part, name) in roles.all.into_iter().filter(|(_, _, name)| source.contains(name)) {
            let info = source.describe(&name)?;
            let mut choice = choose(&gguf_name(role, part), &info.shape, asked);
            if weights.is_transposed(role) && choice.is_matrix {
                choice = Choice { encoding: info.encoding, why: Some(IN_COLUMNS), ..choice };
            }
            tensors.push((name, choice));
        }
        Ok(Quantized { tensors, asked })
    }

    /// The tensors of a source in their encodings.
    ///
    /// # Errors
    /// A tensor without values as f32.
    pub fn over(&self, source: Box<dyn WeightSource>) -> Result<Box<dyn WeightSource>, ModelError> {
        let mut weights = EncodedWeights::of(source);
        self.tensors.iter().try_for_each(|(name, choice)| weights.want(name, choice.encoding))?;
        Ok(Box::new(weights))
    }

    /// How many matrices become what, and why not what was asked for.
    pub fn note(&self) -> Note {
        let mut kinds: Vec<(Choice, usize)> = Vec::new();
        for choice in self.tensors.iter().map(|(_, choice)| *choice).filter(|choice| choice.is_matrix) {
            match kinds.iter_mut().find(|(known, _)| *known == choice) {
                Some((_, n)) => *n += 1,
                None => kinds.push((choice, 1)),
            }
        }
        let told = kinds.into_iter().map(|(choice, n)| match choice.why {
            None => format!("{n} {}", choice.encoding),
            Some(why) => format!("{n} {} ({why})", choice.encoding),
        });
        let told = told.collect::<Vec<_>>().join(", ");
        Note(format!("matrices are encoded as {} while they are loaded: {told}", self.asked))
    }
}
