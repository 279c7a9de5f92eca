//! A model that needs no file: two layers with the weights of a seed, one token a byte. Its text means nothing; it
//! shows that everything runs where there is no network.

use super::loaded::{About, TextSide};
use super::{GenerateOptions, Generator};
use crate::device::Device;
use crate::error::Error;
use pumice_models::decoder::{DecoderConfig, decoder_graph, seeded};
use pumice_models::{
    ChatTemplates, Fingerprint, LanguageOptions, ModelError, Note, SuggestedSampling, TextTokenizer,
    Vocabulary,
};
use pumice_types::DType;

impl Generator {
    /// The small model with the weights of a seed.
    ///
    /// # Errors
    /// Choices that only files have ([`ModelError::Option`]); those of compiling and of the device.
    pub fn seeded(seed: u64, device: &Device, options: &GenerateOptions) -> Result<Generator, Error> {
        let mut config = DecoderConfig::tiny();
        config.cache = options.model.cache.dtype();
        check(&options.model)?;
        if let Some(context) = options.model.context {
            config.capacity = context;
        }
        config.max_new = options.model.max_new.unwrap_or(config.max_new.min(config.capacity));
        let model = seeded(decoder_graph("seeded-decoder", &config)?, seed)?;
        let names: Vec<String> = (0..config.vocab).map(|byte| letter(byte as u8).to_string()).collect();
        let tokens: Vec<&str> = names.iter().map(String::as_str).collect();
        let vocabulary =
            Vocabulary { model: "gpt2", pre: "default", tokens: &tokens, ..Vocabulary::default() };
        let tokenizer = TextTokenizer::new(&vocabulary).map_err(ModelError::from)?;
        let note = Note("a small model with seeded weights is used: its text means nothing".to_owned());
        let text = TextSide::new(tokenizer, ChatTemplates::default(), options.chat.clone());
        let about = About {
            text: Some(text),
            ends: Vec::new(),
            suggested: SuggestedSampling::default(),
            fingerprint: fingerprint(seed, config.cache),
            notes: vec![note],
            context: config.capacity as usize,
            // Whatever is asked for.
            trained: usize::MAX,
            most_new: config.max_new as usize,
        };
        Generator::new(&model, about, device, options, |_, _| {})
    }
}

/// Refuses what a model without files does not have.
fn check(options: &LanguageOptions) -> Result<(), ModelError> {
    let refuse = |option, problem: &str| Err(ModelError::Option { option, problem: problem.to_owned() });
    if options.context == Some(0) {
        return refuse("context", "0 tokens hold nothing");
    }
    if options.quantize.is_some() || !options.ignored_keys.is_empty() {
        return refuse(
            "model",
            "the seeded model has no files: no matrix is encoded while it is loaded, no key passed over",
        );
    }
    Ok(())
}

/// Which model it is: all that follows from a seed.
fn fingerprint(seed: u64, cache: DType) -> Fingerprint {
    let mut all = *b"pumice's seeded decoder, version";
    all[..8].copy_from_slice(&seed.to_le_bytes());
    all[8] = cache as u8;
    all
}

/// The character that stands for a byte in byte-level vocabularies: itself where it can be seen, else one from U+0100
/// on.
fn letter(byte: u8) -> char {
    let seen = |b: u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if seen(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&b| !seen(b)).count() as u32;
    char::from_u32(0x100 + before).unwrap_or('?')
}
