//! What a GGUF file says of a language model, in the words of a `config.json`, so that a family is read once. Errors
//! name the file's own keys. Names and meanings: ggml/docs/gguf.md; what a file does not say is what llama.cpp does.

use super::family::{Family, Gguf};
use super::keys::Configuration;
use super::rotary::ROTATED;
use crate::decoder::{DecoderConfig, Factors, Layer, RotaryFactors};
use crate::error::ModelError;
use pumice_import::{GgufArray, GgufMetadata, GgufModel, GgufValue, GgufWriter};
use serde_json::{Map, Number, Value, json};
use std::path::Path;

/// Keys that every architecture spells alike, and what a `config.json` calls them.
pub(super) const COMMON: &[(&str, &str)] = &[
    ("vocab_size", "vocab_size"),
    ("context_length", "max_position_embeddings"),
    ("embedding_length", "hidden_size"),
    ("block_count", "num_hidden_layers"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("attention.sliding_window", "sliding_window"),
    ("rope.freq_base", "rope_theta"),
];

/// Settings of YaRN, and what `rope_parameters` call them.
pub(super) const YARN: &[(&str, &str)] = &[
    ("rope.scaling.factor", "factor"),
    ("rope.scaling.original_context_length", "original_max_position_embeddings"),
    ("rope.scaling.yarn_beta_fast", "beta_fast"),
    ("rope.scaling.yarn_beta_slow", "beta_slow"),
];

/// What a key must be. Of another type it would count as missing.
#[derive(Clone, Copy)]
enum Kind {
    /// A whole number from 1 on.
    Count,
    /// A number from 0 on.
    Factor,
    Flag,
    Text,
}

/// Keys that are looked at here, or say nothing about values: a configuration does not get them.
const READ: &[(&str, Kind)] = &[
    ("attention.value_length", Kind::Count),
    ("rope.dimension_count", Kind::Count),
    ("rope.scaling.type", Kind::Text),
    ("rope.scaling.factor", Kind::Factor),
    ("rope.scaling.original_context_length", Kind::Count),
    ("rope.scaling.yarn_beta_fast", Kind::Factor),
    ("rope.scaling.yarn_beta_slow", Kind::Factor),
    ("rope.scaling.attn_factor", Kind::Factor),
    ("rope.scaling.finetuned", Kind::Flag),
    ("tensor_data_layout", Kind::Text),
];

/// Keys of the configuration whose type matters here, too.
const CHECKED_ALSO: &[(&str, Kind)] = &[("vocab_size", Kind::Count), ("attention.key_length", Kind::Count)];

/// Keys that do nothing where they are 0, for architectures that have no use of their own for them.
const OFF_AT_0: &[&str] = &[
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "attention.clamp_kqv",
    "attention.max_alibi_bias",
    "attention.layer_norm_epsilon",
    "attention.group_norm_epsilon",
    "expert_count",
    "expert_used_count",
    "expert_shared_count",
    "expert_feed_forward_length",
];

/// Factors, which do nothing where they are 1; 0 stands for none.
const OFF_AT_1: &[&str] = &["logit_scale", "residual_scale", "embedding_scale", "rope.scale_linear"];

/// Elements of a list that is about layers.
const MOST: usize = 1024;

/// What is known of a file before any of its values is read.
pub(super) trait Described {
    /// Its keys.
    fn metadata(&self) -> &GgufMetadata;

    /// Extents of a tensor, if it has it.
    fn shape(&self, tensor: &str) -> Option<&[u64]>;
}

impl Described for GgufModel {
    fn metadata(&self) -> &GgufMetadata {
        GgufModel::metadata(self)
    }

    fn shape(&self, tensor: &str) -> Option<&[u64]> {
        self.tensors().find(|(name, _)| *name == tensor).map(|(_, found)| found.shape.as_slice())
    }
}

/// A file that is about to be written.
impl Described for GgufWriter {
    fn metadata(&self) -> &GgufMetadata {
        self.described()
    }

    fn shape(&self, tensor: &str) -> Option<&[u64]> {
        GgufWriter::shape(self, tensor)
    }
}

/// A file that is read.
pub(super) struct GgufSettings<'f> {
    pub file: &'f dyn Described,
    pub path: &'f Path,
    pub gguf: &'static Gguf,
}

impl GgufSettings<'_> {
    /// The file's settings in the words of a `config.json`.
    ///
    /// # Errors
    /// A key of another type, a list that is too long, widths that differ, angles that are scaled in a way that is not
    /// known.
    pub fn configuration(&self, family: &Family) -> Result<Configuration, ModelError> {
        self.check_types()?;
        let mut configuration = Configuration { map: Map::new(), own: Vec::new(), is_strict: true };
        let prefix = format!("{}.", self.gguf.architecture);
        let is_read = |name: &str| {
            READ.iter().any(|(own, _)| *own == name) || self.gguf.rotary.iter().any(|(own, _)| *own == name)
        };
        for (key, value) in self.file.metadata().iter() {
            let Some(name) = key.strip_prefix(&prefix).filter(|name| !is_read(name)) else { continue };
            let known = self.gguf.keys.iter().chain(COMMON).find(|(own, _)| *own == name);
            if self.does_nothing(name, value, known.is_some()) {
                continue;
            }
            // What nobody knows keeps its name, and is refused by it.
            let to = known.map_or(key, |(_, to)| family.sizes.named(to));
            configuration.map.insert(to.to_owned(), self.value(key, value)?);
            configuration.own.push((to.to_owned(), key.to_owned()));
        }
        for (tensor, flag) in self.gguf.flags {
            configuration.map.insert((*flag).to_owned(), self.file.shape(tensor).is_some().into());
        }
        let tied = self.file.shape("output.weight").is_none();
        configuration.map.insert("tie_word_embeddings".to_owned(), tied.into());
        if let Some(rows) = self.rows("token_embd.weight") {
            configuration.map.insert("vocab_size".to_owned(), rows.into());
        }
        self.rotary(&mut configuration)?;
        Ok(configuration)
    }

    /// That keys are what they are looked at as.
    fn check_types(&self) -> Result<(), ModelError> {
        for (name, kind) in READ.iter().chain(CHECKED_ALSO) {
            let Some(value) = self.file.metadata().get(&self.key(name)) else { continue };
            if let Err(wanted) = kind.check(value) {
                return Err(self.wrong(name, format!("is {value}, not {wanted}")));
            }
        }
        Ok(())
    }

    /// Whether a key has the value that stands for what is done anyway. `is_known`: it is read where it has another.
    fn does_nothing(&self, name: &str, value: &GgufValue, is_known: bool) -> bool {
        let number = value.number();
        let is = |wanted: f64| number.is_some_and(|x| (x - wanted).abs() <= 1e-6 * wanted);
        match name {
            // No window is a window of 0, or one that holds all that the model takes.
            "attention.sliding_window" => {
                is(0.0) || number.zip(self.number("context_length")).is_some_and(|(x, all)| x >= all)
            }
            _ if is_known => false,
            "rope.scaling.yarn_ext_factor" => is(1.0),
            "attention.causal" => matches!(value, GgufValue::Bool(true)),
            "use_parallel_residual" => matches!(value, GgufValue::Bool(false)),
            "attention.scale" => is(0.0) || self.width().is_some_and(|width| is(width.sqrt().recip())),
            _ if OFF_AT_0.contains(&name) => is(0.0),
            _ if OFF_AT_1.contains(&name) => is(0.0) || is(1.0),
            _ => false,
        }
    }

    /// The width of a head.
    fn width(&self) -> Option<f64> {
        let of_hidden = || {
            let (all, heads) = (self.number("embedding_length")?, self.number("attention.head_count")?);
            Some((all / heads).floor())
        };
        self.number("attention.key_length").or_else(of_hidden)
    }

    /// Rotary settings.
    fn rotary(&self, configuration: &mut Configuration) -> Result<(), ModelError> {
        let number = |name: &str| self.number(name);
        let width = self.width();
        if number("attention.value_length").zip(width).is_some_and(|(values, keys)| values != keys) {
            let problem = "is not as wide as keys, and both must be one here".to_owned();
            return Err(self.wrong("attention.value_length", problem));
        }
        let mut settings = Map::new();
        if let Some(rotated) = self.file.metadata().get(&self.key("rope.dimension_count")) {
            let key = self.key("rope.dimension_count");
            configuration.map.insert(ROTATED.to_owned(), self.value(&key, rotated)?);
            configuration.own.push((ROTATED.to_owned(), key));
        }
        let factor = number("rope.scaling.factor").filter(|&factor| factor != 0.0);
        // A factor alone is linear.
        let without = if factor.is_some_and(|factor| factor != 1.0) { "linear" } else { "none" };
        let scaling = self.file.metadata().str_if_any(&self.key("rope.scaling.type"))?.unwrap_or(without);
        match (scaling, factor) {
            // Factors are tensors, and the magnitude a key.
            ("none" | "longrope", _) => {}
            ("linear", Some(factor)) => {
                settings.insert("rope_type".to_owned(), "linear".into());
                settings.insert("factor".to_owned(), json!(factor));
            }
            ("yarn", Some(_)) => self.yarn(&mut settings, configuration)?,
            (other, _) => {
                let problem = format!("is {other}, and files that scale positions so are not read here");
                return Err(self.wrong("rope.scaling.type", problem));
            }
        }
        self.copy(self.gguf.rotary, &mut settings, configuration)?;
        if !settings.is_empty() {
            configuration.map.insert("rope_parameters".to_owned(), settings.into());
        }
        Ok(())
    }

    /// Adds YaRN's settings.
    fn yarn(
        &self,
        settings: &mut Map<String, Value>,
        configuration: &mut Configuration,
    ) -> Result<(), ModelError> {
        settings.insert("rope_type".to_owned(), "yarn".into());
        // Files do not say the magnitude that the one of `mscale_all_dim` divides.
        settings.insert("mscale".to_owned(), 1.0.into());
        self.copy(YARN, settings, configuration)?;
        let original = "original_max_position_embeddings";
        if let (None, Some(context)) = (settings.get(original), self.number("context_length")) {
            settings.insert(original.to_owned(), exact(context));
        }
        Ok(())
    }

    /// Adds the numbers of these keys to rotary settings, under the other names.
    fn copy(
        &self,
        keys: &[(&str, &str)],
        settings: &mut Map<String, Value>,
        configuration: &mut Configuration,
    ) -> Result<(), ModelError> {
        for (name, to) in keys {
            let key = self.key(name);
            let Some(value) = self.file.metadata().get(&key) else { continue };
            settings.insert((*to).to_owned(), self.value(&key, value)?);
            configuration.own.push((format!("rope_parameters.{to}"), key));
        }
        Ok(())
    }

    /// What the file has otherwise than a folder: norms are stored as they are, rotated pairs lie where llama.cpp has
    /// them, and factors of angles are tensors.
    pub fn adjust(&self, config: &mut DecoderConfig) {
        config.norm.less_one = false;
        let planned = config.capacity;
        config.layers.iter_mut().for_each(|layer| self.adjust_layer(layer, planned));
    }

    fn adjust_layer(&self, layer: &mut Layer, planned: u64) {
        let norms = [&mut layer.before_attention, &mut layer.after_attention, &mut layer.before_feed];
        norms.into_iter().chain([&mut layer.after_feed]).flatten().for_each(|norm| norm.less_one = false);
        if let Some(norm) = &mut layer.attention.query_key_norm {
            norm.norm.less_one = false;
        }
        let Some(rotation) = &mut layer.attention.rotary else { return };
        rotation.interleaved = self.gguf.interleaved;
        let original = self.number("rope.scaling.original_context_length");
        let is_long = original.is_some_and(|original| planned as f64 > original);
        let stored = [
            ("rope_freqs.weight", true, RotaryFactors::Only),
            ("rope_factors_long.weight", is_long, RotaryFactors::Long),
            ("rope_factors_short.weight", !is_long, RotaryFactors::Short),
        ];
        let found = stored.into_iter().find(|(name, chosen, _)| *chosen && self.file.shape(name).is_some());
        if let Some((_, _, which)) = found {
            rotation.factors = Factors::Stored(which);
        }
        if let Some(magnitude) = self.number("rope.scaling.attn_factor") {
            rotation.magnitude *= magnitude as f32;
        }
    }

    /// A key of the architecture by its own name.
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.gguf.architecture)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.file.metadata().get(&self.key(name))?.number()
    }

    fn rows(&self, tensor: &str) -> Option<u64> {
        self.file.shape(tensor)?.first().copied()
    }

    fn value(&self, key: &str, value: &GgufValue) -> Result<Value, ModelError> {
        let list = |all: Vec<Value>| Value::Array(all);
        Ok(match value {
            GgufValue::Bool(flag) => (*flag).into(),
            GgufValue::String(text) => text.as_str().into(),
            GgufValue::Array(array) if array.len() > MOST => {
                let problem = format!("has {} elements, at most {MOST} are read", array.len());
                return Err(self.wrong_key(key, problem));
            }
            GgufValue::Array(GgufArray::Bool(all)) => list(all.iter().map(|&flag| flag.into()).collect()),
            GgufValue::Array(GgufArray::I32(all)) => list(all.iter().map(|&n| n.into()).collect()),
            GgufValue::Array(GgufArray::U32(all)) => list(all.iter().map(|&n| n.into()).collect()),
            GgufValue::Array(_) => return Err(self.wrong_key(key, "is a list that is not known".to_owned())),
            other => {
                let number = other.number().filter(|x| x.is_finite());
                exact(number.ok_or_else(|| self.wrong_key(key, format!("is {value}, not a number")))?)
            }
        })
    }

    fn wrong(&self, name: &str, problem: String) -> ModelError {
        self.wrong_key(&self.key(name), problem)
    }

    fn wrong_key(&self, key: &str, problem: String) -> ModelError {
        let (file, remedy) = (self.path.to_owned(), "use another file of the model".to_owned());
        ModelError::Field { file, field: key.to_owned(), problem, remedy }
    }
}

impl Kind {
    /// That a value is one; else what is wanted.
    fn check(self, value: &GgufValue) -> Result<(), &'static str> {
        let number = value.number();
        let (is_right, wanted) = match self {
            Kind::Count => {
                let is_count = number.is_some_and(|x| x.fract() == 0.0 && (1.0..9e15).contains(&x));
                (is_count, "a whole number from 1 on")
            }
            Kind::Factor => (number.is_some_and(|x| x.is_finite() && x >= 0.0), "a number from 0 on"),
            Kind::Flag => (matches!(value, GgufValue::Bool(_)), "true or false"),
            Kind::Text => (matches!(value, GgufValue::String(_)), "a text"),
        };
        if is_right { Ok(()) } else { Err(wanted) }
    }
}

/// A number as JSON has it: whole where it is.
fn exact(number: f64) -> Value {
    let whole = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    if whole { (number as u64).into() } else { Number::from_f64(number).map_or(Value::Null, Value::Number) }
}
