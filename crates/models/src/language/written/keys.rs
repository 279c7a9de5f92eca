//! The settings of a model as keys of a GGUF file (ggml/docs/gguf.md): the other way of `gguf.rs`, by the same tables.

use super::super::CONFIG;
use super::super::family::Gguf;
use super::super::folder::LanguageFolder;
use super::super::gguf::YARN;
use super::super::model::Read;
use crate::decoder::NormKind;
use crate::error::ModelError;
use pumice_import::GgufValue;
use serde_json::Value;

/// Keys under the architecture's name, in their order.
struct Own<'a> {
    architecture: &'a str,
    all: Vec<(String, GgufValue)>,
}

impl Own<'_> {
    fn put(&mut self, name: &str, value: impl Into<GgufValue>) {
        self.all.push((format!("{}.{name}", self.architecture), value.into()));
    }

    /// A number that no model has beyond 2^24.
    fn count(&mut self, name: &str, value: u64) {
        self.put(name, u32::try_from(value).unwrap_or(u32::MAX));
    }

    fn has(&self, name: &str) -> bool {
        let key = format!("{}.{name}", self.architecture);
        self.all.iter().any(|(known, _)| *known == key)
    }
}

/// The keys of a model that are about its values.
///
/// # Errors
/// A configuration that cannot be read again.
pub(super) fn settings(
    folder: &LanguageFolder,
    gguf: &Gguf,
    read: &Read,
) -> Result<Vec<(String, GgufValue)>, ModelError> {
    let Read { config, trained_context, .. } = read;
    let architecture = gguf.architecture;
    let general = [("architecture", architecture), ("type", "model"), ("name", folder.name())];
    let all = general.map(|(key, value)| (format!("general.{key}"), value.into())).into();
    let mut own = Own { architecture, all };
    own.count("vocab_size", config.vocab);
    own.count("context_length", *trained_context);
    own.count("embedding_length", config.hidden);
    own.count("block_count", config.layers.len() as u64);
    if let Some(layer) = config.layers.first() {
        own.count("feed_forward_length", layer.feed.width);
        own.count("attention.head_count", layer.attention.heads);
        own.count("attention.head_count_kv", layer.attention.kv_heads);
        own.count("attention.key_length", layer.attention.width);
        own.count("attention.value_length", layer.attention.width);
    }
    let eps = match config.norm.kind {
        NormKind::Rms => "attention.layer_norm_rms_epsilon",
        NormKind::Layer => "attention.layer_norm_epsilon",
    };
    own.put(eps, config.norm.eps);
    if let Some(window) = config.layers.iter().find_map(|layer| layer.attention.window) {
        own.count("attention.sliding_window", window);
    }
    rotary(&mut own, read);
    yarn(&mut own, folder, gguf)?;
    of_family(&mut own, folder, gguf)?;
    Ok(own.all)
}

/// Of layers without a window, where some have one: files have the others' base under a key of its own.
fn rotary(own: &mut Own<'_>, read: &Read) {
    let layers = &read.config.layers;
    let all = layers.iter().filter(|layer| layer.attention.window.is_none()).chain(layers);
    let Some(rotary) = all.filter_map(|layer| layer.attention.rotary.as_ref()).next() else { return };
    own.put("rope.freq_base", rotary.theta);
    own.count("rope.dimension_count", rotary.rotated);
    if rotary.freq_scale != 1.0 {
        own.put("rope.scaling.type", "linear");
        own.put("rope.scaling.factor", (1.0 / f64::from(rotary.freq_scale)) as f32);
    }
}

/// YaRN's settings as the configuration has them, which is read from them again.
fn yarn(own: &mut Own<'_>, folder: &LanguageFolder, gguf: &Gguf) -> Result<(), ModelError> {
    let config = folder.object(CONFIG)?.unwrap_or_default();
    let settings = ["rope_parameters", "rope_scaling"].iter().find_map(|key| config.get(*key)?.as_object());
    let Some(settings) = settings else { return Ok(()) };
    let kind = settings.get("rope_type").or(settings.get("type"));
    if kind.and_then(Value::as_str) != Some("yarn") {
        return Ok(());
    }
    own.put("rope.scaling.type", "yarn");
    for (key, name) in YARN.iter().chain(gguf.rotary) {
        match settings.get(*name).and_then(Value::as_f64) {
            Some(count) if key.ends_with("_length") => own.count(key, count as u64),
            Some(number) => own.put(key, number as f32),
            None => {}
        }
    }
    Ok(())
}

/// Keys of the family's own, as the configuration has them.
fn of_family(own: &mut Own<'_>, folder: &LanguageFolder, gguf: &Gguf) -> Result<(), ModelError> {
    let config = folder.object(CONFIG)?.unwrap_or_default();
    for (name, to) in gguf.keys.iter().filter(|(_, to)| config.contains_key(*to)) {
        match &config[*to] {
            Value::Bool(flag) if !own.has(name) => own.put(name, *flag),
            Value::Number(n) if !own.has(name) => own.put(name, n.as_f64().unwrap_or(0.0) as f32),
            _ => {}
        }
    }
    Ok(())
}
