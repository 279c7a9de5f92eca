//! Llama-shaped language models in GGUF files: one file holds the configuration, the weights, the tokenizer and the
//! chat template.
//!
//! In: a file. Out: a [`DecoderConfig`], a graph whose params have the file's names and encodings, a tokenizer, a
//! template. What the file asks for and this crate does not do is refused by key or tensor. Names and meanings:
//! ggml/docs/gguf.md; queries and keys are stored so that neighbours rotate as pairs.

use crate::decoder::{
    DecoderConfig, DecoderWeights, Layer, LayerWeight, Norm, Part, Rotation, WeightRole, decoder_graph_of,
    recompute_graph_of,
};
use crate::error::ModelError;
use crate::language::gguf_name;
use crate::text::{ChatTemplate, PreTokenizer, TextTokenizer, Vocabulary};
use pumice_import::{GgufFile, GgufValue, ImportError, Model, WeightSource};
use pumice_ir::FloatRange;
use pumice_types::{DType, Encoding};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Context that is planned for where the user names none.
pub const DEFAULT_CONTEXT: u64 = 2048;
/// The most tokens of a prompt that one run brings.
const MOST_NEW: u64 = 128;

const REMEDY: &str = "use another file of the model";
/// Tensors that each layer has of its own.
const TENSORS_OF_LAYER: u64 = 9;
/// Keys that are read, or that say nothing about values.
const READ: [&str; 17] = [
    "vocab_size",
    "context_length",
    "embedding_length",
    "block_count",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scaling.type",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "tensor_data_layout",
    "expert_count",
];
/// Keys that do nothing where they are 0.
const OFF_AT_0: [&str; 9] = [
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "attention.clamp_kqv",
    "attention.max_alibi_bias",
    "attention.layer_norm_epsilon",
    "attention.group_norm_epsilon",
    "expert_used_count",
    "expert_shared_count",
    "expert_feed_forward_length",
];
/// Factors, which do nothing where they are 1; 0 stands for none.
const OFF_AT_1: [&str; 6] = [
    "logit_scale",
    "residual_scale",
    "embedding_scale",
    "rope.scale_linear",
    "rope.scaling.factor",
    "rope.scaling.attn_factor",
];

/// What a user may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LlamaOptions {
    /// Tokens that the caches hold, at most what the model was trained for; otherwise that, and [`DEFAULT_CONTEXT`] at
    /// most.
    pub context: Option<u64>,
    /// Tokens that one run takes at most, of a prompt; otherwise 128, or as many as the caches hold. More take more
    /// scratch, and make a prompt faster on a GPU.
    pub max_new: Option<u64>,
}

impl LlamaOptions {
    /// Tokens that the caches hold.
    #[must_use]
    pub fn context(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.context = tokens.into();
        self
    }

    /// Tokens that one run takes at most.
    #[must_use]
    pub fn max_new(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.max_new = tokens.into();
        self
    }
}

/// An open file with what it says of its model.
pub struct LlamaFile {
    path: PathBuf,
    file: GgufFile,
    /// Shape of the model, with the context chosen.
    pub config: DecoderConfig,
    /// Tokens that the model was trained for.
    pub trained_context: u64,
}

impl LlamaFile {
    /// Opens a file and checks all that it says; reads no tensor.
    ///
    /// # Errors
    /// A file that is damaged ([`ModelError::Import`]); a key or tensor that is missing, contradicts another, or asks
    /// for what is not supported ([`ModelError::Field`]); a context that is too long ([`ModelError::Option`]).
    pub fn open(path: impl AsRef<Path>, options: &LlamaOptions) -> Result<LlamaFile, ModelError> {
        let path = path.as_ref().to_owned();
        let file = GgufFile::open(&path)?;
        let keys = Keys { file: &file, path: &path };
        let (config, trained_context) = keys.config(options)?;
        let llama = LlamaFile { path, file, config, trained_context };
        llama.no_other_tensor()?;
        Ok(llama)
    }

    /// The file.
    pub fn gguf(&self) -> &GgufFile {
        &self.file
    }

    /// The text side: vocabulary and rules of the file.
    ///
    /// # Errors
    /// A vocabulary that is missing, contradicts itself or is of an unsupported kind.
    pub fn tokenizer(&self) -> Result<TextTokenizer, ModelError> {
        self.with_vocabulary(|vocabulary| {
            if vocabulary.tokens.len() as u64 != self.config.vocab {
                let problem = "are not as many as the rows of the token table";
                return Err(self.wrong("tokenizer.ggml.tokens", problem));
            }
            Ok(TextTokenizer::new(vocabulary)?)
        })
    }

    /// Tokens after which an answer ends; none where the file has no vocabulary.
    fn end_of_sequence(&self) -> Result<Vec<u32>, ModelError> {
        let has_tokens = self.file.metadata().get("tokenizer.ggml.tokens").is_some();
        if has_tokens {
            self.with_vocabulary(|vocabulary| Ok(vocabulary.end_of_sequence()))
        } else {
            Ok(Vec::new())
        }
    }

    fn with_vocabulary<R>(
        &self,
        use_it: impl FnOnce(&Vocabulary<'_>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
        let m = self.file.metadata();
        let tokens: Vec<&str> = m.strings("tokenizer.ggml.tokens")?.iter().collect();
        let merges: Vec<&str> = m.strings("tokenizer.ggml.merges")?.iter().collect();
        let pre = m.str_if_any("tokenizer.ggml.pre")?.unwrap_or("default");
        // Rules that are not known are refused with the vocabulary.
        let adds_bos = PreTokenizer::named(pre).is_ok_and(PreTokenizer::adds_bos);
        if m.bool_if_any("tokenizer.ggml.add_eos_token")? == Some(true) {
            let problem = "is true, and no token is put after a prompt here";
            return Err(self.wrong("tokenizer.ggml.add_eos_token", problem));
        }
        use_it(&Vocabulary {
            model: m.str("tokenizer.ggml.model")?,
            pre,
            tokens: &tokens,
            token_type: m.i32s_if_any("tokenizer.ggml.token_type")?.unwrap_or(&[]),
            merges: &merges,
            bos_token_id: self.token_id("tokenizer.ggml.bos_token_id")?,
            eos_token_id: self.token_id("tokenizer.ggml.eos_token_id")?,
            add_bos_token: m.bool_if_any("tokenizer.ggml.add_bos_token")?.unwrap_or(adds_bos),
        })
    }

    fn token_id(&self, key: &str) -> Result<Option<u32>, ModelError> {
        let given = self.file.metadata().u64_if_any(key)?;
        given.map(|id| u32::try_from(id).map_err(|_| self.wrong(key, "is no token id"))).transpose()
    }

    /// The source of the chat template, if the file has one; it is not read.
    ///
    /// # Errors
    /// A value that is no text.
    pub fn chat_template_source(&self) -> Result<Option<&str>, ModelError> {
        Ok(self.file.metadata().str_if_any("tokenizer.chat_template")?)
    }

    /// The chat template, if the file has one.
    ///
    /// # Errors
    /// A template that cannot be read.
    pub fn chat_template(&self) -> Result<Option<ChatTemplate>, ModelError> {
        Ok(self.chat_template_source()?.map(ChatTemplate::new).transpose()?)
    }

    /// The graph of [`decoder_graph`](crate::decoder::decoder_graph) over the file's tensors, which stops at the tokens
    /// that end an answer.
    ///
    /// # Errors
    /// Tensors that are missing, of an encoding that is not read, or whose extents are not the configuration's.
    pub fn model(self) -> Result<Model, ModelError> {
        let name = self.file.metadata().str_if_any("general.name")?.unwrap_or("llama").to_owned();
        let config = DecoderConfig { end_of_sequence: self.end_of_sequence()?, ..self.config.clone() };
        let graph = decoder_graph_of(&name, &config, &Encodings::of(&self)?)?;
        let model = Model { graph, weights: Box::new(self.file) };
        model.check()?;
        Ok(model)
    }

    /// The graph of [`recompute_graph_of`] over the file's tensors: logits of every
    /// token of a text, without caches.
    ///
    /// # Errors
    /// As [`LlamaFile::model`].
    pub fn recompute_model(self) -> Result<Model, ModelError> {
        let graph = recompute_graph_of("llama", &self.config, &Encodings::of(&self)?)?;
        let model = Model { graph, weights: Box::new(self.file) };
        model.check()?;
        Ok(model)
    }

    fn wrong(&self, field: &str, problem: &str) -> ModelError {
        Keys { file: &self.file, path: &self.path }.wrong(field, problem, REMEDY)
    }

    /// A tensor that the graph does not have would be left out without a word.
    fn no_other_tensor(&self) -> Result<(), ModelError> {
        let known: BTreeSet<String> =
            roles(&self.config).into_iter().map(|role| gguf_name(role, Part::Weight)).collect();
        match self.file.tensors().find(|(name, _)| !known.contains(*name)) {
            None => Ok(()),
            Some((name, _)) => Err(self.wrong(name, "is a tensor that this architecture does not use here")),
        }
    }
}

/// Every weight that a configuration needs.
fn roles(config: &DecoderConfig) -> Vec<WeightRole> {
    use LayerWeight::*;
    const OF_LAYER: [LayerWeight; 9] =
        [AttentionNorm, Query, Key, Value, AttentionOutput, FeedNorm, Gate, Up, Down];
    let mut all = vec![WeightRole::Embedding, WeightRole::Norm];
    all.extend((!config.tied).then_some(WeightRole::Output));
    let layers = 0..config.layers.len() as u64;
    all.extend(layers.flat_map(|i| OF_LAYER.map(|weight| WeightRole::Layer(i, weight))));
    all
}

/// How the file stores each weight, all looked up before a graph is built.
struct Encodings(Vec<(String, Encoding)>);

impl Encodings {
    fn of(llama: &LlamaFile) -> Result<Encodings, ImportError> {
        let mut all = Vec::new();
        for role in roles(&llama.config) {
            let name = gguf_name(role, Part::Weight);
            let encoding = llama.file.describe(&name)?.encoding;
            all.push((name, encoding));
        }
        all.sort();
        Ok(Encodings(all))
    }
}

impl DecoderWeights for Encodings {
    fn name(&self, role: WeightRole, part: Part) -> String {
        gguf_name(role, part)
    }

    fn encoding(&self, name: &str) -> Encoding {
        let found = self.0.binary_search_by(|(n, _)| n.as_str().cmp(name));
        found.map_or(Encoding::Plain(DType::F32), |i| self.0[i].1)
    }
}

/// How the residual stream is divided among heads.
struct Heads {
    hidden: u64,
    heads: u64,
    kv_heads: u64,
    head_width: u64,
}

/// The metadata under the name of the architecture.
struct Keys<'a> {
    file: &'a GgufFile,
    path: &'a Path,
}

impl Keys<'_> {
    fn wrong(&self, field: &str, problem: &str, remedy: &str) -> ModelError {
        ModelError::Field {
            file: self.path.to_owned(),
            field: field.to_owned(),
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
        }
    }

    fn config(&self, options: &LlamaOptions) -> Result<(DecoderConfig, u64), ModelError> {
        self.is_llama()?;
        self.refuse_shard()?;
        self.refuse_extras()?;
        let Heads { hidden, heads, kv_heads, head_width } = self.heads()?;
        let table = self.file.describe("token_embd.weight")?;
        let trained = self.count("context_length")?;
        let capacity = planned_context(options, trained)?;
        let layers = self.layers()?;
        let rotated = self.rotated(head_width)?;
        self.refuse_values(head_width, trained)?;
        let norm_eps = self.norm_eps()?;
        let theta = self.in_range("llama.rope.freq_base", FloatRange::POSITIVE)?.unwrap_or(10_000.0);
        let rotary = Rotation::new(theta, rotated, true);
        let feed = self.count("feed_forward_length")?;
        let layer = Layer::llama((heads, kv_heads, head_width), rotary, feed, norm_eps);
        let config = DecoderConfig {
            vocab: table.shape.first().copied().unwrap_or(0),
            hidden,
            layers: vec![layer; layers as usize],
            embedding_scale: 1.0,
            positions: None,
            norm: Norm::rms(norm_eps),
            tied: !self.file.contains("output.weight"),
            logit_scale: 1.0,
            logit_softcap: 0.0,
            capacity,
            max_new: new_tokens(options, capacity)?,
            cache: DType::F32,
            end_of_sequence: Vec::new(),
        };
        Ok((config, trained))
    }

    fn is_llama(&self) -> Result<(), ModelError> {
        match self.file.metadata().str("general.architecture")? {
            "llama" => Ok(()),
            other => {
                let problem = format!("is {other}, which is not supported");
                Err(self.wrong("general.architecture", &problem, "use a model of architecture llama"))
            }
        }
    }

    /// The heads, which share keys and values evenly, and whose keys are as wide as their values.
    fn heads(&self) -> Result<Heads, ModelError> {
        let (hidden, heads) = (self.count("embedding_length")?, self.count("attention.head_count")?);
        if !hidden.is_multiple_of(heads) {
            let problem = "does not divide llama.embedding_length";
            return Err(self.wrong("llama.attention.head_count", problem, REMEDY));
        }
        let kv_heads = self.count_or("attention.head_count_kv", heads)?;
        if !heads.is_multiple_of(kv_heads) {
            let problem =
                format!("is {kv_heads}, which does not divide llama.attention.head_count = {heads}");
            return Err(self.wrong("llama.attention.head_count_kv", &problem, REMEDY));
        }
        let head_width = self.count_or("attention.key_length", hidden / heads)?;
        if self.count_or("attention.value_length", head_width)? != head_width {
            let problem = "is not llama.attention.key_length, and both must be one here";
            return Err(self.wrong("llama.attention.value_length", problem, "use another model"));
        }
        Ok(Heads { hidden, heads, kv_heads, head_width })
    }

    /// Elements of a head that rotate.
    fn rotated(&self, head_width: u64) -> Result<u64, ModelError> {
        let rotated = self.count_or("rope.dimension_count", head_width)?;
        if !rotated.is_multiple_of(2) || rotated > head_width {
            let problem = format!("is {rotated}, not an even number of at most {head_width}, a head's width");
            return Err(self.wrong("llama.rope.dimension_count", &problem, REMEDY));
        }
        Ok(rotated)
    }

    /// ε of the norms. A file without the key says so by the reader's own error.
    fn norm_eps(&self) -> Result<f32, ModelError> {
        let key = "llama.attention.layer_norm_rms_epsilon";
        let given = self.in_range(key, FloatRange::NOT_NEGATIVE)?;
        Ok(given.map_or_else(|| self.file.metadata().f32(key), Ok)?)
    }

    /// What other models of the architecture have and this crate does not do.
    fn refuse_extras(&self) -> Result<(), ModelError> {
        let m = self.file.metadata();
        let scaling = m.str_if_any("llama.rope.scaling.type")?.filter(|s| *s != "none");
        if let Some(scaling) = scaling {
            let problem = format!("is {scaling}, and positions are not scaled here");
            return Err(self.wrong("llama.rope.scaling.type", &problem, "use a model without it"));
        }
        if m.u64_if_any("llama.expert_count")?.is_some_and(|n| n > 0) {
            let problem = "says that layers have experts, which is not supported";
            return Err(self.wrong("llama.expert_count", problem, "use a model without experts"));
        }
        Ok(())
    }

    /// A file of several holds a part of the model.
    fn refuse_shard(&self) -> Result<(), ModelError> {
        let m = self.file.metadata();
        match (m.u64_if_any("split.count")?, m.u64_if_any("split.no")?) {
            (Some(count), no) if count > 1 => {
                let problem = format!("is {count}: this file is part {} of so many", no.unwrap_or(0) + 1);
                let remedy = "put the parts together first (llama-gguf-split --merge)";
                Err(self.wrong("split.count", &problem, remedy))
            }
            _ => Ok(()),
        }
    }

    /// The number of layers, which the tensors of the file bear out.
    fn layers(&self) -> Result<u64, ModelError> {
        let layers = self.count("block_count")?;
        let tensors = self.file.tensors().len() as u64;
        if layers <= tensors / TENSORS_OF_LAYER {
            return Ok(layers);
        }
        let problem = format!(
            "is {layers}, but the file has {tensors} tensors, and a layer needs {TENSORS_OF_LAYER} of its own"
        );
        Err(self.wrong("llama.block_count", &problem, REMEDY))
    }

    /// Refuses keys of the architecture that ask for what is not done, and those that nobody here knows: passed over,
    /// they would change every value without a word. What equals what is done anyway may stay.
    fn refuse_values(&self, head_width: u64, trained: u64) -> Result<(), ModelError> {
        let scale = 1.0 / (head_width as f64).sqrt();
        for (key, value) in self.file.metadata().iter() {
            let Some(name) = key.strip_prefix("llama.") else { continue };
            let number = value.number();
            let is_neutral = |wanted: f64| number.is_some_and(|x| (x - wanted).abs() <= 1e-6 * wanted);
            let passes = match name {
                "attention.causal" => matches!(value, GgufValue::Bool(true)),
                "use_parallel_residual" => matches!(value, GgufValue::Bool(false)),
                "attention.scale" => is_neutral(0.0) || is_neutral(scale),
                "attention.sliding_window" => is_neutral(0.0) || number.is_some_and(|x| x >= trained as f64),
                _ if READ.contains(&name) => true,
                _ if OFF_AT_0.contains(&name) => is_neutral(0.0),
                _ if OFF_AT_1.contains(&name) => is_neutral(0.0) || is_neutral(1.0),
                _ => false,
            };
            if !passes {
                let problem = format!("is {value}, which is not supported and may change every value");
                return Err(self.wrong(key, &problem, "use a model without it"));
            }
        }
        Ok(())
    }

    fn count(&self, key: &str) -> Result<u64, ModelError> {
        let key = format!("llama.{key}");
        let value = self.file.metadata().u64(&key)?;
        self.in_bounds(&key, value)
    }

    fn count_or(&self, key: &str, otherwise: u64) -> Result<u64, ModelError> {
        let key = format!("llama.{key}");
        let value = self.file.metadata().u64_if_any(&key)?.unwrap_or(otherwise);
        self.in_bounds(&key, value)
    }

    /// A number that is in a range, if the file has it.
    fn in_range(&self, key: &str, range: FloatRange) -> Result<Option<f32>, ModelError> {
        match self.file.metadata().f32_if_any(key)? {
            Some(value) if !range.holds(f64::from(value)) => {
                let problem = format!("is {value}, and must be {}", range.words);
                Err(self.wrong(key, &problem, REMEDY))
            }
            value => Ok(value),
        }
    }

    /// Larger numbers are in no model, and products of these stay countable.
    fn in_bounds(&self, key: &str, value: u64) -> Result<u64, ModelError> {
        const MOST: u64 = 1 << 24;
        if (1..=MOST).contains(&value) {
            return Ok(value);
        }
        Err(self.wrong(key, &format!("is {value}, not a number from 1 to {MOST}"), REMEDY))
    }
}

/// Tokens of one run.
pub(crate) fn new_tokens(options: &LlamaOptions, capacity: u64) -> Result<u64, ModelError> {
    match options.max_new {
        None => Ok(capacity.min(MOST_NEW)),
        Some(tokens) if (1..=capacity).contains(&tokens) => Ok(tokens),
        Some(tokens) => {
            let problem = format!("{tokens} is not a number from 1 to {capacity}, what the caches hold");
            Err(ModelError::Option { option: "max_new", problem })
        }
    }
}

/// Tokens that the caches hold.
pub(crate) fn planned_context(options: &LlamaOptions, trained: u64) -> Result<u64, ModelError> {
    match options.context {
        None => Ok(trained.min(DEFAULT_CONTEXT)),
        Some(tokens) if (1..=trained).contains(&tokens) => Ok(tokens),
        Some(tokens) => {
            let problem =
                format!("{tokens} is not a number from 1 to {trained}, what the model was trained for");
            Err(ModelError::Option { option: "context", problem })
        }
    }
}
