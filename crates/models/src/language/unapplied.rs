//! Keys that change which tokens are chosen and that nobody applies here: of a `generation_config.json`, and
//! `general.sampling.*` of a GGUF file.

use super::suggested;
use crate::error::Note;
use pumice_import::{GgufMetadata, GgufValue};
use serde_json::{Map, Value};

/// The value besides null that does nothing.
enum Idle {
    /// 0, false, nothing in a list, an object or a text.
    Off,
    /// 1: a factor, or one of several ways.
    One,
    /// None: any number is a token.
    Never,
}

/// Keys of a `generation_config.json`.
const KEYS: &[(&str, Idle)] = &[
    ("suppress_tokens", Idle::Off),
    ("begin_suppress_tokens", Idle::Off),
    ("bad_words_ids", Idle::Off),
    ("force_words_ids", Idle::Off),
    ("constraints", Idle::Off),
    ("sequence_bias", Idle::Off),
    ("forced_bos_token_id", Idle::Never),
    ("forced_eos_token_id", Idle::Never),
    ("forced_decoder_ids", Idle::Off),
    ("no_repeat_ngram_size", Idle::Off),
    ("encoder_no_repeat_ngram_size", Idle::Off),
    ("encoder_repetition_penalty", Idle::One),
    ("exponential_decay_length_penalty", Idle::Off),
    ("min_length", Idle::Off),
    ("min_new_tokens", Idle::Off),
    ("num_beams", Idle::One),
    ("num_beam_groups", Idle::One),
    ("penalty_alpha", Idle::Off),
    ("epsilon_cutoff", Idle::Off),
    ("eta_cutoff", Idle::Off),
    ("top_h", Idle::Off),
    ("guidance_scale", Idle::One),
    ("dola_layers", Idle::Off),
    ("watermarking_config", Idle::Off),
    ("token_healing", Idle::Off),
    ("stop_strings", Idle::Off),
];

/// Keys of a GGUF file begin so.
const SAMPLING: &str = "general.sampling.";
/// Of those of llama.cpp, the ones that do nothing by themselves: figures of what other keys switch on.
const FIGURES: &[&str] = &["xtc_threshold", "mirostat_tau", "mirostat_eta"];

/// As many letters of a value are shown.
const SHOWN: usize = 60;

impl Idle {
    fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) => true,
            (Idle::Never, _) => false,
            (Idle::One, other) => other.as_f64() == Some(1.0),
            (Idle::Off, Value::Bool(flag)) => !flag,
            (Idle::Off, Value::Number(number)) => number.as_f64() == Some(0.0),
            (Idle::Off, Value::String(text)) => text.is_empty(),
            (Idle::Off, Value::Array(list)) => list.is_empty(),
            (Idle::Off, Value::Object(map)) => map.is_empty(),
        }
    }
}

/// A note for each key of a folder's file that would change what is chosen.
pub(super) fn of_folder<'n>(file: &'n str, map: &'n Map<String, Value>) -> impl Iterator<Item = Note> + 'n {
    KEYS.iter().filter_map(move |(key, idle)| {
        let value = map.get(*key).filter(|value| !idle.holds(value))?;
        Some(note(&format!("{file}: `{key}`"), &value.to_string()))
    })
}

/// A note for each key of a GGUF file that would.
pub(super) fn of_file(metadata: &GgufMetadata) -> impl Iterator<Item = Note> + '_ {
    metadata.iter().filter_map(|(key, value)| {
        let name = key.strip_prefix(SAMPLING).filter(|name| !FIGURES.contains(name))?;
        let is_off = match value {
            GgufValue::Bool(flag) => !flag,
            GgufValue::String(text) => text.is_empty(),
            other => other.number() == Some(0.0),
        };
        (!suggested::is_name(key) && !is_off).then(|| note(&format!("`{SAMPLING}{name}`"), &bare(value)))
    })
}

/// A value without the name of its type; an f32 with its own digits, which are fewer than those of an f64.
fn bare(value: &GgufValue) -> String {
    match value {
        GgufValue::U8(n) => n.to_string(),
        GgufValue::I8(n) => n.to_string(),
        GgufValue::U16(n) => n.to_string(),
        GgufValue::I16(n) => n.to_string(),
        GgufValue::U32(n) => n.to_string(),
        GgufValue::I32(n) => n.to_string(),
        GgufValue::F32(n) => n.to_string(),
        GgufValue::U64(n) => n.to_string(),
        GgufValue::I64(n) => n.to_string(),
        GgufValue::F64(n) => n.to_string(),
        GgufValue::Bool(flag) => flag.to_string(),
        GgufValue::String(text) => format!("{text:?}"),
        // How many there are.
        GgufValue::Array(_) => value.to_string(),
    }
}

fn note(key: &str, value: &str) -> Note {
    Note(format!("{key} is {}, which is not applied here", shown(value)))
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
