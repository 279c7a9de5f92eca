//! What the tokens of a `tokenizer.json` write, worked out once from the kind of its decoder.
//!
//! The crate decodes a whole list of ids. What it does to a token alone (bytes of letters, ▁ to a space, `<0x0A>` to
//! a byte) is done here to each token; what it does to the whole (spaces that the beginning loses) is a [`Lead`]. Bytes
//! that no character has become U+FFFD by the runs that `String::from_utf8_lossy` counts; the crate writes one for each
//! byte of a run of byte tokens.

use super::gguf_sentencepiece::byte_of;
use super::pieces::{Lead, Pieces, byte_level};
use serde_json::Value;
use tokenizers::{Model, Tokenizer};

/// What is done to a token.
enum Step {
    /// Letters of the alphabet of bytes become bytes.
    ByteLevel,
    /// A token of the form `<0x0A>` becomes a byte.
    ByteFallback,
    /// One text becomes another.
    Replace(String, String),
}

/// What a decoder does.
struct Steps {
    of_tokens: Vec<Step>,
    lead: Lead,
    /// From here on the decoder sees one text.
    fused: bool,
}

/// What each id below `count` writes; ids without a token write nothing.
pub(super) fn pieces(inner: &Tokenizer, count: usize) -> Result<Pieces, String> {
    let decoder = inner.get_decoder().ok_or("it has no decoder, which is not supported")?;
    let decoder = serde_json::to_value(decoder).map_err(|e| format!("its decoder: {e}"))?;
    let mut steps = Steps { of_tokens: Vec::new(), lead: Lead::Spaces(0), fused: false };
    steps.add(&decoder)?;
    let added = inner.get_added_vocabulary();
    let token = |id: usize| {
        let id = id as u32;
        added.simple_id_to_token(id).or_else(|| inner.get_model().id_to_token(id)).unwrap_or_default()
    };
    let written = (0..count).map(|id| steps.bytes(token(id)));
    Ok(Pieces::of(written, steps.lead, ""))
}

impl Steps {
    fn add(&mut self, decoder: &Value) -> Result<(), String> {
        let kind = decoder["type"].as_str().unwrap_or_default();
        match kind {
            "Sequence" => {
                decoder["decoders"].as_array().into_iter().flatten().try_for_each(|step| self.add(step))?
            }
            "Fuse" => self.fused = true,
            "ByteLevel" if !self.fused => self.of_tokens.push(Step::ByteLevel),
            "ByteFallback" if !self.fused => self.of_tokens.push(Step::ByteFallback),
            "Replace" if !self.fused => {
                let pattern = decoder["pattern"]["String"].as_str();
                let pattern = pattern.ok_or("its decoder replaces by a pattern, which is not supported")?;
                self.replace(pattern, decoder["content"].as_str().unwrap_or_default());
            }
            "Metaspace" if !self.fused => {
                self.replace(decoder["replacement"].as_str().unwrap_or("▁"), " ");
                if decoder["prepend_scheme"] != "never" {
                    self.lead = Lead::FirstToken;
                }
            }
            "Strip" if self.fused && decoder["content"] == " " && decoder["stop"] == 0 => {
                let start = decoder["start"].as_u64().and_then(|start| usize::try_from(start).ok());
                self.lead = Lead::Spaces(start.unwrap_or(0));
            }
            _ => return Err(format!("its decoder has `{kind}` where that is not supported")),
        }
        Ok(())
    }

    fn replace(&mut self, from: &str, to: &str) {
        self.of_tokens.push(Step::Replace(from.to_owned(), to.to_owned()));
    }

    fn bytes(&self, mut token: String) -> Vec<u8> {
        for step in &self.of_tokens {
            match step {
                Step::ByteLevel => return byte_level(&token),
                Step::ByteFallback => {
                    if let Some(byte) = byte_of(&token) {
                        return vec![byte];
                    }
                }
                // An empty pattern would stand between all characters.
                Step::Replace(from, _) if from.is_empty() => {}
                Step::Replace(from, to) => token = token.replace(from, to),
            }
        }
        token.into_bytes()
    }
}
