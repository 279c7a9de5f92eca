//! What a family of language models is: how its configuration is read, and what its tensors are called.

use super::keys::Keys;
use super::options::LanguageOptions;
use super::rotary::{Rotary, Sizes, Style, rotary};
use crate::decoder::{DecoderConfig, Layer, LayerWeight, Norm};
use crate::error::ModelError;
use pumice_ir::FloatRange;
use pumice_types::DType;

/// A family: one file each under `families`.
pub(crate) struct Family {
    /// Its name.
    pub name: &'static str,
    /// `model_type` of its configurations.
    pub model_types: &'static [&'static str],
    /// Reads its configuration.
    pub describe: fn(&Basics, &Keys<'_>) -> Result<DecoderConfig, ModelError>,
    /// What its tensors are called.
    pub names: &'static Names,
    /// Keys of its own that say nothing about values, each with the reason.
    pub ignored: &'static [(&'static str, &'static str)],
    /// Where its sizes are, if not under the common names.
    pub sizes: &'static SizeKeys,
    /// How GGUF files have it; none where a family has no files of its own.
    pub gguf: Option<Gguf>,
}

/// What GGUF files of a family have otherwise than folders.
pub(crate) struct Gguf {
    /// `general.architecture`.
    pub architecture: &'static str,
    /// Keys of its own, and what a `config.json` calls them.
    pub keys: &'static [(&'static str, &'static str)],
    /// Keys of its own that are rotary settings, and what `rope_parameters` call them.
    pub rotary: &'static [(&'static str, &'static str)],
    /// Tensors that are there where a flag of `config.json` is true.
    pub flags: &'static [(&'static str, &'static str)],
    /// Whether neighbours rotate as pairs.
    pub interleaved: bool,
}

/// Of an architecture that has nothing of its own.
pub(crate) const fn gguf(architecture: &'static str, interleaved: bool) -> Gguf {
    Gguf { architecture, keys: &[], rotary: &[], flags: &[], interleaved }
}

impl SizeKeys {
    /// A common name of a size as these are called.
    pub fn named(&self, common: &'static str) -> &'static str {
        match common {
            "hidden_size" => self.hidden,
            "num_hidden_layers" => self.layers,
            "num_attention_heads" => self.heads,
            "intermediate_size" => self.feed,
            "max_position_embeddings" => self.context,
            other => other,
        }
    }
}

/// Keys of the sizes that every family has.
pub(crate) struct SizeKeys {
    pub hidden: &'static str,
    pub layers: &'static str,
    pub heads: &'static str,
    pub feed: &'static str,
    pub context: &'static str,
}

/// The common ones.
pub(crate) const COMMON_SIZES: SizeKeys = SizeKeys {
    hidden: "hidden_size",
    layers: "num_hidden_layers",
    heads: "num_attention_heads",
    feed: "intermediate_size",
    context: "max_position_embeddings",
};

/// More layers, or wider heads, are in no model; what is made for each layer stays small.
const MOST_LAYERS: u64 = 1024;
const MOST_WIDTH: u64 = 1 << 13;

/// Sizes that every family has, found to belong together.
pub(crate) struct Basics {
    pub vocab: u64,
    pub hidden: u64,
    pub layers: usize,
    pub heads: u64,
    pub kv_heads: u64,
    pub width: u64,
    /// Width of the feed-forward part; four times `hidden` where the file does not say.
    pub feed: u64,
    /// Tokens that the model was trained for.
    pub trained: u64,
    /// Tokens that the caches hold.
    pub planned: u64,
    /// Tokens that one run takes at most.
    pub max_new: u64,
    /// How keys and values are kept.
    pub cache: DType,
}

impl Basics {
    /// Reads them; the context that is planned for follows from the trained one by the caller's choice.
    ///
    /// # Errors
    /// A size that is missing or contradicts another; a context that is too long.
    pub fn read(keys: &Keys<'_>, sizes: &SizeKeys, options: &LanguageOptions) -> Result<Basics, ModelError> {
        let (hidden, heads) = (keys.count(sizes.hidden)?, keys.count(sizes.heads)?);
        let kv_heads = keys.count_if_any("num_key_value_heads")?.unwrap_or(heads);
        if !heads.is_multiple_of(kv_heads) {
            let problem = format!("is {kv_heads}, which does not divide {} = {heads}", sizes.heads);
            return Err(keys.wrong("num_key_value_heads", problem, "get the file again"));
        }
        let width = match keys.count_up_to(MOST_WIDTH, "head_dim")? {
            Some(width) => width,
            None if hidden.is_multiple_of(heads) && hidden / heads <= MOST_WIDTH => hidden / heads,
            None => {
                let problem = format!("is {heads}, which does not make heads of {} = {hidden}", sizes.hidden);
                return Err(keys.wrong(sizes.heads, problem, "get the file again"));
            }
        };
        let trained = keys.count(sizes.context)?;
        let planned = options.planned(trained)?;
        Ok(Basics {
            vocab: keys.count("vocab_size")?,
            hidden,
            layers: keys.count_of(MOST_LAYERS, sizes.layers)? as usize,
            heads,
            kv_heads,
            width,
            feed: keys.count_if_any(sizes.feed)?.unwrap_or(4 * hidden),
            trained,
            planned,
            max_new: options.new_tokens(planned)?,
            cache: options.cache.dtype(),
        })
    }

    /// A layer of Llama of these sizes, with the rotary settings of the file.
    pub fn llama(&self, keys: &Keys<'_>, style: Style, eps: f32) -> Result<Layer, ModelError> {
        let Rotary { rotation, growth } = rotary(keys, self.rotary_sizes(), style)?;
        let mut layer = Layer::llama((self.heads, self.kv_heads, self.width), rotation, self.feed, eps);
        layer.attention.growth = growth;
        layer.feed.activation = keys.activation("hidden_act", layer.feed.activation)?;
        Ok(layer)
    }

    /// What rotary positions are of.
    pub fn rotary_sizes(&self) -> Sizes {
        Sizes { width: self.width, trained: self.trained, planned: self.planned }
    }

    /// A model of equal layers.
    pub fn uniform(&self, layer: Layer, norm: Norm, tied: bool) -> DecoderConfig {
        self.of_layers(vec![layer; self.layers], norm, tied)
    }

    /// A model of these layers.
    pub fn of_layers(&self, layers: Vec<Layer>, norm: Norm, tied: bool) -> DecoderConfig {
        DecoderConfig {
            vocab: self.vocab,
            hidden: self.hidden,
            layers,
            embedding_scale: 1.0,
            positions: None,
            norm,
            tied,
            output_bias: false,
            logit_scale: 1.0,
            logit_softcap: 0.0,
            capacity: self.planned,
            max_new: self.max_new,
            cache: self.cache,
            end_of_sequence: Vec::new(),
        }
    }

    /// Equal layers but for their windows.
    pub fn windowed(layer: &Layer, windows: Vec<Option<u64>>) -> Vec<Layer> {
        let with = |window| {
            let mut layer = layer.clone();
            layer.attention.window = window;
            layer
        };
        windows.into_iter().map(with).collect()
    }

    /// The window of each layer: by `layer_types` where the file has them, else as the family says of a layer's number.
    ///
    /// # Errors
    /// Types that are not known, or are not as many as the layers.
    pub fn windows(
        &self,
        keys: &Keys<'_>,
        is_windowed: impl Fn(usize) -> bool,
    ) -> Result<Vec<Option<u64>>, ModelError> {
        let window = keys.count_if_any("sliding_window")?;
        let kinds = self.kinds(keys, is_windowed)?;
        Ok(kinds.into_iter().map(|windowed| window.filter(|_| windowed)).collect())
    }

    /// Of each layer whether it has a window, were there one.
    ///
    /// # Errors
    /// As [`Basics::windows`].
    pub fn kinds(
        &self,
        keys: &Keys<'_>,
        is_windowed: impl Fn(usize) -> bool,
    ) -> Result<Vec<bool>, ModelError> {
        let Some(types) = keys.texts("layer_types")? else {
            return Ok((0..self.layers).map(is_windowed).collect());
        };
        if types.len() != self.layers {
            let problem = format!("has {} types, and there are {} layers", types.len(), self.layers);
            return Err(keys.wrong("layer_types", problem, "get the file again"));
        }
        let kind = |kind: &&str| match *kind {
            "full_attention" => Ok(false),
            "sliding_attention" => Ok(true),
            other => Err(keys.wrong("layer_types", format!("has \"{other}\""), "use another model")),
        };
        types.iter().map(kind).collect()
    }
}

/// Biases of all of attention, where the file says so.
///
/// # Errors
/// A flag that is none.
pub(crate) fn read_attention_bias(keys: &Keys<'_>, layer: &mut Layer) -> Result<(), ModelError> {
    layer.attention.bias = keys.flag("attention_bias", false)?;
    layer.attention.output_bias = layer.attention.bias;
    Ok(())
}

/// ε of a norm, which must be there.
///
/// # Errors
/// One that is missing, negative or not finite.
pub(crate) fn eps(keys: &Keys<'_>, key: &str) -> Result<f32, ModelError> {
    let given = keys.number(key, FloatRange::NOT_NEGATIVE)?;
    given.map(|eps| eps as f32).ok_or_else(|| keys.wrong(key, "is missing", "get the file again"))
}

/// What tensors of a folder are called.
pub(crate) struct Names {
    /// What may stand before the names of all tensors but the output matrix: of the first of them, the token table is
    /// there.
    pub prefixes: &'static [&'static str],
    pub embedding: &'static str,
    pub positions: &'static str,
    pub norm: &'static str,
    pub output: &'static str,
    /// Before the number of a layer.
    pub layers: &'static str,
    /// Those of a layer that are called otherwise than in [`COMMON`].
    pub of_layer: &'static [(LayerWeight, &'static str)],
    /// Whether matrices of layers are stored as their transposes.
    pub transposed: bool,
}

/// Names that most families have.
pub(crate) const COMMON: Names = Names {
    // A base model that was saved alone has none.
    prefixes: &["model.", ""],
    embedding: "embed_tokens",
    positions: "",
    norm: "norm",
    output: "lm_head",
    layers: "layers",
    of_layer: &[],
    transposed: false,
};

impl Names {
    /// The name of a weight of a layer, after the layer's number.
    pub fn of_layer(&self, weight: LayerWeight) -> &'static str {
        let own = self.of_layer.iter().find(|(w, _)| *w == weight);
        own.map_or_else(|| weight.names().folder, |(_, name)| name)
    }
}
