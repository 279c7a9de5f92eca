//! The tensors of a folder as the weights of a decoder.

use super::family::Names;
use crate::decoder::{DecoderWeights, LayerWeight, Part, RotaryFactors, WeightRole};
use crate::error::ModelError;
use pumice_import::WeightSource;
use pumice_types::{DType, Encoding};
use std::path::PathBuf;

/// Ends of names of tensors that follow from the configuration: some files have them, and nobody needs them.
pub(super) const DERIVED: [&str; 3] = [".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"];

/// Names of a family, encodings of a source.
pub(super) struct FolderWeights<'w> {
    names: &'static Names,
    /// The one of the family's prefixes that this source has.
    prefix: &'static str,
    source: &'w dyn WeightSource,
}

impl<'w> FolderWeights<'w> {
    /// Of a source; where no token table is there, the first prefix names what is missing.
    ///
    /// # Errors
    /// A tensor whose numbers are no values.
    pub fn of(names: &'static Names, source: &'w dyn WeightSource) -> Result<FolderWeights<'w>, ModelError> {
        check_values(source)?;
        let is_there =
            |prefix: &&&str| source.contains(&format!("{prefix}{}.{}", names.embedding, Part::Weight.end()));
        let prefix = names.prefixes.iter().find(is_there).or(names.prefixes.first());
        Ok(FolderWeights { names, prefix: prefix.copied().unwrap_or_default(), source })
    }

    /// The name of a weight without its end.
    fn place(&self, role: WeightRole) -> String {
        let names = self.names;
        let name = match role {
            WeightRole::Embedding => names.embedding.to_owned(),
            WeightRole::Positions => names.positions.to_owned(),
            WeightRole::Output => return names.output.to_owned(),
            WeightRole::Norm => names.norm.to_owned(),
            // Configurations have numbers for them.
            WeightRole::RotaryFactors(_) => return "rotary_factors".to_owned(),
            WeightRole::Layer(i, weight) => format!("{}.{i}.{}", names.layers, names.of_layer(weight)),
        };
        format!("{}{name}", self.prefix)
    }
}

impl DecoderWeights for FolderWeights<'_> {
    fn name(&self, role: WeightRole, part: Part) -> String {
        format!("{}.{}", self.place(role), part.end())
    }

    fn encoding(&self, name: &str) -> Encoding {
        encoding(self.source, name)
    }

    fn encoding_of(&self, name: &str, shape: &[u64]) -> Encoding {
        that_holds(self.encoding(name), shape)
    }

    fn is_transposed(&self, role: WeightRole) -> bool {
        self.names.transposed && matches!(role, WeightRole::Layer(..))
    }

    fn name_of_head(&self, role: WeightRole, head: u64) -> Option<String> {
        let is_norm = matches!(role, WeightRole::Layer(_, LayerWeight::QueryNorm | LayerWeight::KeyNorm));
        let place = Some(self.place(role)).filter(|place| is_norm && place.ends_with(".norms"))?;
        Some(format!("{place}.{head}.weight"))
    }
}

/// Names of GGUF files, which are the same for every architecture; encodings of the file.
pub(super) struct GgufWeights<'w> {
    pub source: &'w dyn WeightSource,
}

impl DecoderWeights for GgufWeights<'_> {
    fn name(&self, role: WeightRole, part: Part) -> String {
        gguf_name(role, part)
    }

    fn encoding(&self, name: &str) -> Encoding {
        encoding(self.source, name)
    }

    fn encoding_of(&self, name: &str, shape: &[u64]) -> Encoding {
        that_holds(self.encoding(name), shape)
    }
}

/// The encoding of a tensor. One that is missing is reported by the model's check, with its name.
fn encoding(source: &dyn WeightSource, name: &str) -> Encoding {
    source.describe(name).map_or(WIDE, |info| info.encoding)
}

/// An encoding for a param of these extents. Where it has no such rows, the tensor has others, which the model's check
/// tells: a graph could not be built before it.
fn that_holds(encoding: Encoding, shape: &[u64]) -> Encoding {
    encoding.bytes(shape).map_or(WIDE, |_| encoding)
}

const WIDE: Encoding = Encoding::Plain(DType::F32);

/// Refuses numbers that are no values by themselves, before a graph of them is built.
fn check_values(source: &dyn WeightSource) -> Result<(), ModelError> {
    for name in source.names().into_iter().filter(|name| !DERIVED.iter().any(|end| name.ends_with(end))) {
        let encoding = source.describe(name)?.encoding;
        let is_value = match encoding {
            Encoding::Plain(dtype) => dtype.is_float(),
            Encoding::Blocks(_) => true,
            Encoding::Codes(_) => false,
        };
        if !is_value {
            return Err(ModelError::Field {
                file: PathBuf::from(source.origin()),
                field: name.to_owned(),
                problem: format!("is stored as {encoding}, which has no values without scales"),
                remedy: "take the model's weights as they were before they were quantized, or a GGUF file"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// The name of a weight in GGUF files.
pub(crate) fn gguf_name(role: WeightRole, part: Part) -> String {
    let name = match role {
        WeightRole::Embedding => "token_embd",
        WeightRole::Positions => "position_embd",
        WeightRole::Output => "output",
        WeightRole::Norm => "output_norm",
        WeightRole::RotaryFactors(RotaryFactors::Only) => "rope_freqs",
        WeightRole::RotaryFactors(RotaryFactors::Short) => "rope_factors_short",
        WeightRole::RotaryFactors(RotaryFactors::Long) => "rope_factors_long",
        WeightRole::Layer(i, weight) => return format!("blk.{i}.{}.{}", weight.names().gguf, part.end()),
    };
    format!("{name}.{}", part.end())
}
