//! The vocabulary of a folder as keys of a GGUF file: in, `tokenizer.json` or `tokenizer.model`; out, keys under
//! `tokenizer.ggml`. Rules for words that have no name there are refused; so is what the keys cannot say.

use super::error::TextError;
use super::json_tokenizer::{self, frame};
use super::pre_tokenizer_rules::{GPT2, ROWS};
use super::sentencepiece_file::{NEVER, SentencePieceFile};
use super::settings::FolderSettings;
use super::vocabulary::TokenKind;
use pumice_import::{GgufStrings, GgufValue};
use serde_json::Value;
use std::path::Path;
use tokenizers::{ModelWrapper, PreTokenizerWrapper, Tokenizer};

/// Keys and values.
pub(crate) type VocabularyKeys = Vec<(String, GgufValue)>;

/// The files of a folder's tokenizer.
pub(crate) struct TokenizerFiles<'f> {
    /// `tokenizer.json`, and what it is called in messages.
    pub json: Option<(&'f Path, &'f str)>,
    /// `tokenizer.model`.
    pub sentencepiece: Option<(&'f Path, &'f [u8])>,
    pub settings: &'f FolderSettings,
    /// Rows of the token table: ids without a token get one that is not used.
    pub rows: u64,
}

impl TokenizerFiles<'_> {
    /// The keys; none where there is no file.
    ///
    /// # Errors
    /// Files that are damaged or of an unsupported kind, rules that GGUF files have no name for.
    pub fn keys(&self) -> Result<Option<VocabularyKeys>, TextError> {
        let named = |file: &Path, problem| TextError::TokenizerFile {
            file: file.display().to_string(),
            problem,
            remedy: "take a GGUF file of the model",
        };
        let json = self.json.map(|(file, text)| {
            let inner = json_tokenizer::read(text).map_err(|problem| named(file, problem))?;
            Ok((file, inner))
        });
        let json = json.transpose()?;
        match (&json, self.sentencepiece) {
            (Some((file, inner)), _) if rules(inner).is_some() => {
                self.byte_level(inner).map(Some).map_err(|problem| named(file, problem))
            }
            (_, Some((file, bytes))) => {
                let inner = json.as_ref().map(|(_, inner)| inner);
                let mut read = SentencePieceFile::read(bytes).map_err(|problem| named(file, problem))?;
                if inner.is_none() {
                    read.add(&self.settings.added)?;
                }
                self.pieces(read, inner).map(Some).map_err(|problem| named(file, problem))
            }
            (Some((file, _)), None) => {
                let problem =
                    "is not byte-level, and there is no tokenizer.model beside it, which has the scores";
                Err(named(file, problem.to_owned()))
            }
            (None, None) => Ok(None),
        }
    }

    /// Of byte-level BPE.
    fn byte_level(&self, inner: &Tokenizer) -> Result<VocabularyKeys, String> {
        let ModelWrapper::BPE(bpe) = inner.get_model() else { return Err("is no BPE".to_owned()) };
        let pre = pre_name(&rules(inner).unwrap_or_default(), bpe.ignore_merges)?;
        let normalizer = serde_json::to_value(inner.get_normalizer()).map_err(|e| e.to_string())?;
        if !normalizer.is_null() && normalizer["type"] != "NFC" {
            return Err(format!("changes characters ({}), which GGUF files do not say", normalizer["type"]));
        }
        let (tokens, kinds) = json_tokenizer::vocabulary(inner)?;
        let mut keys = Keys::of("gpt2", pre);
        keys.tokens(tokens, kinds, self.rows);
        keys.put("merges", GgufValue::from(merges(inner)?));
        let id_of = |token: &Option<String>| token.as_ref().and_then(|token| inner.token_to_id(token));
        let (bos, eos) = (id_of(&self.settings.bos), id_of(&self.settings.eos));
        let frame = frame(inner, self.settings, bos, eos)?;
        let [adds_bos, adds_eos] =
            [(&frame.before, bos), (&frame.after, eos)].map(|(ids, own)| match ids[..] {
                [] => Ok(false),
                [id] if Some(id) == own => Ok(true),
                _ => Err("puts other tokens around a text than those that begin and end one".to_owned()),
            });
        keys.ends(bos, eos, adds_bos?, adds_eos?);
        Ok(keys.0)
    }

    /// Of SentencePiece's BPE; `json` may have more tokens, and says what they are.
    fn pieces(
        &self,
        mut file: SentencePieceFile,
        json: Option<&Tokenizer>,
    ) -> Result<VocabularyKeys, String> {
        if file.model_type != 2 || file.treat_whitespace_as_suffix || file.charsmap.is_some() {
            return Err(
                "is no BPE, or changes characters, which GGUF files of this kind do not say".to_owned()
            );
        }
        if let Some(inner) = json {
            let (all, added) = json_tokenizer::vocabulary(inner)?;
            for (id, (token, kind)) in all.into_iter().zip(added).enumerate() {
                if id >= file.tokens.len() {
                    file.tokens.push(token);
                    file.kinds.push(kind);
                    file.scores.push(NEVER);
                } else if matches!(kind, TokenKind::Control | TokenKind::UserDefined) {
                    (file.tokens[id], file.kinds[id]) = (token, kind);
                }
            }
        }
        let (bos, eos) = file.ends(self.settings)?;
        let (tokens, kinds, mut scores) = (file.tokens, file.kinds, file.scores);
        let unknown = kinds.iter().position(|kind| *kind == TokenKind::Unknown);
        let mut keys = Keys::of("llama", "default");
        scores.resize(scores.len().max(self.rows as usize), NEVER);
        keys.tokens(tokens, kinds, self.rows);
        keys.put("scores", scores);
        if let Some(id) = unknown {
            keys.put("unknown_token_id", id as u32);
        }
        keys.put("add_space_prefix", file.add_dummy_prefix);
        let (adds_bos, adds_eos) = (self.settings.add_bos_token, self.settings.add_eos_token);
        keys.ends(bos, eos, adds_bos.unwrap_or(true), adds_eos.unwrap_or(false));
        Ok(keys.0)
    }
}

struct Keys(VocabularyKeys);

impl Keys {
    fn of(model: &str, pre: &str) -> Keys {
        let mut keys = Keys(Vec::new());
        keys.put("model", model);
        keys.put("pre", pre);
        keys
    }

    fn put(&mut self, name: &str, value: impl Into<GgufValue>) {
        self.0.push((format!("tokenizer.ggml.{name}"), value.into()));
    }

    /// Tokens and their kinds, as many as the table has rows at least.
    fn tokens(&mut self, mut tokens: Vec<String>, mut kinds: Vec<TokenKind>, rows: u64) {
        let rows = tokens.len().max(rows as usize);
        tokens.resize(rows, String::new());
        kinds.resize(rows, TokenKind::Unused);
        for (id, (token, kind)) in tokens.iter_mut().zip(&mut kinds).enumerate() {
            if token.is_empty() {
                (*token, *kind) = (format!("[PAD{id}]"), TokenKind::Unused);
            }
        }
        self.put("tokens", tokens.iter().collect::<GgufStrings>());
        self.put("token_type", kinds.iter().map(|kind| kind.number()).collect::<Vec<i32>>());
    }

    fn ends(&mut self, bos: Option<u32>, eos: Option<u32>, adds_bos: bool, adds_eos: bool) {
        for (name, id) in [("bos_token_id", bos), ("eos_token_id", eos)] {
            if let Some(id) = id {
                self.put(name, id);
            }
        }
        self.put("add_bos_token", adds_bos);
        self.put("add_eos_token", adds_eos);
    }
}

/// The patterns by which a byte-level tokenizer cuts words; `None` of any other.
fn rules(inner: &Tokenizer) -> Option<Vec<String>> {
    let mut cuts = Vec::new();
    add_rules(inner.get_pre_tokenizer()?, &mut cuts).then_some(cuts)
}

/// Adds patterns; whether bytes become characters in the end.
fn add_rules(rule: &PreTokenizerWrapper, cuts: &mut Vec<String>) -> bool {
    let json = serde_json::to_value(rule).unwrap_or_default();
    match rule {
        PreTokenizerWrapper::Sequence(steps) => {
            let steps: &[PreTokenizerWrapper] = steps.as_ref();
            steps.iter().fold(false, |_, step| add_rules(step, cuts))
        }
        PreTokenizerWrapper::ByteLevel(bytes) => {
            cuts.extend(bytes.use_regex.then(|| GPT2.to_owned()));
            !bytes.add_prefix_space
        }
        PreTokenizerWrapper::Digits(_) if json["individual_digits"] == true => {
            cuts.push(r"\p{N}".to_owned());
            false
        }
        PreTokenizerWrapper::Split(_) => {
            // Text between is kept whole: what it is cut by then has no pattern.
            let pattern = json["pattern"]["Regex"].as_str().filter(|_| json["behavior"] == "Isolated");
            cuts.push(pattern.filter(|_| json["invert"] != true).unwrap_or_default().to_owned());
            false
        }
        _ => {
            cuts.push(String::new());
            false
        }
    }
}

/// The first name of rules for words.
fn pre_name(cuts: &[String], keeps_whole_words: bool) -> Result<&'static str, String> {
    let row = ROWS.iter().find(|(_, rule)| rule.cuts == cuts && rule.keeps_whole_words == keeps_whole_words);
    let name = row.and_then(|(names, _)| names.first());
    name.copied().ok_or_else(|| format!("cuts words by rules that have no name in GGUF files: {cuts:?}"))
}

/// Pairs of tokens, divided by a space.
fn merges(inner: &Tokenizer) -> Result<GgufStrings, String> {
    let model = serde_json::to_value(inner.get_model()).map_err(|e| e.to_string())?;
    let merge = |merge: &Value| match merge {
        Value::String(text) => Some(text.clone()),
        pair => Some(format!("{} {}", pair[0].as_str()?, pair[1].as_str()?)),
    };
    let merges = model["merges"].as_array().map(|all| all.iter().map(merge).collect::<Option<Vec<String>>>());
    let merges = merges.flatten().ok_or("has merges that are no pairs")?;
    Ok(merges.iter().collect())
}
