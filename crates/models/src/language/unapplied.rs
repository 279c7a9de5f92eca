//! Keys of a `generation_config.json` that change which tokens are chosen and that nobody applies here.

use crate::error::Note;
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

/// A note for each key that would change what is chosen.
pub(super) fn notes<'n>(file: &'n str, map: &'n Map<String, Value>) -> impl Iterator<Item = Note> + 'n {
    KEYS.iter().filter_map(move |(key, idle)| {
        let value = map.get(*key).filter(|value| !idle.holds(value))?;
        Some(Note(format!("{file}: `{key}` is {}, which is not applied here", shown(value))))
    })
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
