//! A language model of a folder as a GGUF file has it: in, its configuration and tensors; out, keys, and tensors under
//! their names there. `keys` says settings, `tensors` how each tensor differs; what comes out is read again
//! as a file would be, and refused where that gives another model.

mod keys;
mod tensors;

use self::keys::settings;
use self::tensors::transformed;
use super::family::{Family, Gguf};
use super::folder::LanguageFolder;
use super::gguf::GgufSettings;
use super::keys::Keys;
use super::model::Read;
use super::options::LanguageOptions;
use super::roles::Roles;
use super::weights::{FolderWeights, GgufWeights};
use super::{CONFIG, families};
use crate::decoder::{DecoderConfig, Factors};
use crate::error::{ModelError, Note};
use pumice_import::{GgufValue, GgufWriter, TransformedWeights, WeightSource};
use pumice_types::{DType, Tensor};
use std::path::Path;

/// Keys and tensors of a file.
pub(crate) struct Written {
    pub metadata: Vec<(String, GgufValue)>,
    pub weights: Box<dyn WeightSource>,
    pub notes: Vec<Note>,
}

/// A model of a folder as a file.
///
/// # Errors
/// A family that has no files, settings that they cannot say, a vocabulary that they have no name for.
pub(super) fn written(folder: &LanguageFolder, read: &Read) -> Result<Written, ModelError> {
    let Read { family, config, .. } = read;
    let gguf = of_file(folder, family)?;
    let source = folder.weights()?;
    let roles = Roles::of(config, &FolderWeights::of(family.names, source.as_ref())?)?;
    let mut weights = transformed(source, &roles, (family, gguf), config)?;
    if let Some(factors) = llama3_factors(gguf, config) {
        weights.give("rope_freqs.weight", factors);
    }
    let mut metadata = settings(folder, gguf, read)?;
    check(folder, gguf, read, &metadata, &weights)?;
    let vocabulary = folder.vocabulary_keys(config.vocab)?;
    let without = "the folder has no vocabulary, and neither has the file";
    let notes = vocabulary.is_none().then(|| Note(without.to_owned())).into_iter().collect();
    metadata.extend(vocabulary.unwrap_or_default());
    for (key, source) in folder.chat_templates()?.keys() {
        metadata.push((key, source.into()));
    }
    Ok(Written { metadata, weights: Box::new(weights), notes })
}

/// What files of the family have otherwise.
fn of_file(folder: &LanguageFolder, family: &'static Family) -> Result<&'static Gguf, ModelError> {
    family.gguf.as_ref().ok_or_else(|| {
        let with: Vec<&str> = families::of_files().map(|(family, _)| family.name).collect();
        let problem = format!("is of {}; GGUF files are written of {}", family.name, with.join(", "));
        folder.wrong(CONFIG, "model_type", problem)
    })
}

/// Factors that Llama 3.1 computes from its settings, and files have as a tensor: llama.cpp reads it for this family.
fn llama3_factors(gguf: &Gguf, config: &DecoderConfig) -> Option<Tensor> {
    let rotary = config.layers.iter().find_map(|layer| layer.attention.rotary.as_ref())?;
    let Factors::Given(factors) = &rotary.factors else { return None };
    let bytes = factors.iter().flat_map(|x| x.to_le_bytes()).collect();
    let tensor = Tensor::from_bytes(DType::F32, &[factors.len() as u64], bytes);
    tensor.ok().filter(|_| gguf.architecture == "llama" && rotary.magnitude == 1.0)
}

/// Reads keys and names of tensors as those of a file, and compares the model.
fn check(
    folder: &LanguageFolder,
    gguf: &'static Gguf,
    read: &Read,
    metadata: &[(String, GgufValue)],
    weights: &TransformedWeights,
) -> Result<(), ModelError> {
    let mut file = GgufWriter::new();
    let described = |problem: String| folder.wrong(CONFIG, "model_type", problem);
    for (key, value) in metadata {
        file.metadata(key, value.clone()).map_err(|e| described(e.to_string()))?;
    }
    for name in weights.names() {
        let info = weights.describe(name)?;
        file.tensor(name, info.encoding, &info.shape).map_err(|e| described(e.to_string()))?;
    }
    let (family, path) = (read.family, folder.path());
    let settings = GgufSettings { file: &file, path: Path::new(path), gguf };
    let configuration = settings.configuration(family)?;
    let keys = Keys::new(Path::new(path), &configuration, &[]);
    let mut again = Read::of(family, &keys, &LanguageOptions::default(), |config| settings.adjust(config))?;
    let mut expected = read.config.clone();
    settings.adjust(&mut expected);
    expected.end_of_sequence.clear();
    [&mut expected, &mut again.config].into_iter().for_each(leave_out_usual_scales);
    if let Some(what) = difference(&expected, &again.config) {
        let problem = format!("has {what} that a GGUF file of {} cannot say", gguf.architecture);
        return Err(folder.wrong(CONFIG, "model_type", problem));
    }
    let of_file = Roles::of(&again.config, &GgufWeights { source: weights })?;
    match of_file.names(&GgufWeights { source: weights }).find(|name| !weights.contains(name)) {
        None => Ok(()),
        Some(name) => Err(described(format!("has no tensor for `{name}`, which a GGUF file has"))),
    }
}

/// A factor of products that is the one that is taken where none is given is none.
fn leave_out_usual_scales(config: &mut DecoderConfig) {
    for attention in config.layers.iter_mut().map(|layer| &mut layer.attention) {
        let usual = (attention.width as f32).sqrt().recip();
        attention.scale = attention.scale.filter(|scale| (scale - usual).abs() > 1e-6 * usual);
    }
}

/// What of a model differs from what a file of it says.
fn difference(expected: &DecoderConfig, found: &DecoderConfig) -> Option<&'static str> {
    let layers = || expected.layers.iter().zip(&found.layers);
    let of = |differs: bool, what: &'static str| differs.then_some(what);
    of(layers().any(|(a, b)| a.attention.window != b.attention.window), "windows")
        .or(of(layers().any(|(a, b)| a.attention.rotary != b.attention.rotary), "rotary positions"))
        .or(of(layers().any(|(a, b)| a.attention != b.attention), "an attention"))
        .or(of(layers().any(|(a, b)| a.feed != b.feed), "a feed-forward part"))
        .or(of(expected != found, "settings"))
}
