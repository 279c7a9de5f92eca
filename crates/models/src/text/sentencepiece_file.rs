//! `tokenizer.model`: SentencePiece's own file, one message of Protocol Buffers. Of it the pieces and what encoding and
//! decoding go by are read; the rest is how it was trained.
//!
//! Source: the fields' numbers and defaults are those of `sentencepiece_model.proto` in the package `sentencepiece`.

use super::added::AddedToken;
use super::charsmap::Charsmap;
use super::error::TextError;
use super::protobuf::{Value, fields};
use super::settings::FolderSettings;
use super::vocabulary::{MOST_TOKENS, TokenKind};
use std::collections::{BTreeMap, BTreeSet};

/// What the file says.
#[derive(Debug)]
pub(super) struct SentencePieceFile {
    pub tokens: Vec<String>,
    pub kinds: Vec<TokenKind>,
    pub scores: Vec<f32>,
    /// 1 Unigram, 2 BPE, 3 word, 4 char.
    pub model_type: u64,
    pub byte_fallback: bool,
    pub treat_whitespace_as_suffix: bool,
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    /// What the unknown token writes.
    pub unknown_surface: String,
    pub charsmap: Option<Charsmap>,
    pub add_dummy_prefix: bool,
    pub remove_extra_whitespaces: bool,
    pub escape_whitespaces: bool,
    /// Text is changed again after decoding.
    pub denormalizes: bool,
    /// Tokens that the folder adds, which are found in a text before all else; whether each takes the spaces after it
    /// along.
    pub added: BTreeMap<u32, bool>,
}

/// The score of a token that no merging makes.
pub(super) const NEVER: f32 = -1000.0;

impl SentencePieceFile {
    /// Reads the bytes of the file; the message tells what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<SentencePieceFile, String> {
        let mut file = SentencePieceFile {
            tokens: Vec::new(),
            kinds: Vec::new(),
            scores: Vec::new(),
            model_type: 1,
            byte_fallback: false,
            treat_whitespace_as_suffix: false,
            bos: Some(1),
            eos: Some(2),
            unknown_surface: " \u{2047} ".to_owned(),
            charsmap: None,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
            denormalizes: false,
            added: BTreeMap::new(),
        };
        fields(bytes, |number, value| match number {
            1 => file.piece(value.bytes()?),
            2 => fields(value.bytes()?, |number, value| file.trainer_field(number, value)),
            3 => fields(value.bytes()?, |number, value| file.normalizer_field(number, value)),
            5 => fields(value.bytes()?, |number, value| {
                file.denormalizes |= number == 2 && !value.bytes()?.is_empty();
                Ok(())
            }),
            _ => Ok(()),
        })?;
        if file.tokens.is_empty() {
            return Err("has no pieces".to_owned());
        }
        // An id that is -1 says that there is no such token.
        let count = file.tokens.len() as u32;
        file.bos = file.bos.filter(|&id| id < count);
        file.eos = file.eos.filter(|&id| id < count);
        Ok(file)
    }

    /// Adds the tokens of a folder: after the file's own, without a gap, or in place of one with the same text.
    pub fn add(&mut self, added: &[AddedToken]) -> Result<(), TextError> {
        let mut in_order: Vec<&AddedToken> = added.iter().collect();
        in_order.sort_by_key(|token| token.id);
        let texts: BTreeSet<String> =
            if added.is_empty() { BTreeSet::new() } else { self.tokens.iter().cloned().collect() };
        let own = self.tokens.len();
        for token in in_order {
            token.check()?;
            let (id, count) = (token.id as usize, self.tokens.len());
            match self.tokens.get(id) {
                Some(other) if *other != token.text => {
                    return Err(token.wrong(&format!("and that token is `{other}` already")));
                }
                Some(_) => {}
                None if id > count || id >= MOST_TOKENS => {
                    return Err(token.wrong(&format!("and tokens {count} to {} are nowhere", id - 1)));
                }
                None if texts.contains(&token.text) || self.tokens[own..].contains(&token.text) => {
                    return Err(token.wrong("and another token has that text"));
                }
                None => {
                    self.tokens.push(token.text.clone());
                    self.scores.push(NEVER);
                    self.kinds.push(TokenKind::Normal);
                }
            }
            match (self.kinds[id], token.special) {
                // They say that something could not be said, or a byte; text that a user defined is found already.
                (TokenKind::Unknown | TokenKind::Byte, _) | (TokenKind::UserDefined, false) => continue,
                (_, true) => self.kinds[id] = TokenKind::Control,
                (_, false) => self.kinds[id] = TokenKind::UserDefined,
            }
            self.added.insert(token.id, token.takes_spaces);
        }
        Ok(())
    }

    /// The tokens that begin and end a text: as the settings say, else the file's own.
    pub fn ends(&self, settings: &FolderSettings) -> Result<(Option<u32>, Option<u32>), String> {
        let id = |given: &Option<String>, own: Option<u32>, key: &str| {
            let Some(token) = given else { return Ok(own) };
            let found = self.tokens.iter().position(|known| known == token);
            found
                .map(|id| Some(id as u32))
                .ok_or_else(|| format!("has no token for `{key}`, which is `{token}`"))
        };
        Ok((id(&settings.bos, self.bos, "bos_token")?, id(&settings.eos, self.eos, "eos_token")?))
    }

    /// Whether a token is one that a user defined when the file was made.
    pub fn defines(&self, id: u32) -> bool {
        self.kinds[id as usize] == TokenKind::UserDefined && !self.added.contains_key(&id)
    }

    fn piece(&mut self, message: &[u8]) -> Result<(), String> {
        let (mut token, mut score, mut kind) = ("", 0.0, TokenKind::Normal);
        fields(message, |number, value| {
            match number {
                1 => token = value.text()?,
                2 => score = value.float()?,
                3 => kind = kind_of(value.number()?)?,
                _ => {}
            }
            Ok(())
        })?;
        let id = self.tokens.len();
        if token.is_empty() || score.is_nan() {
            return Err(format!("has a piece {id} without a text, or whose score is NaN"));
        }
        self.tokens.push(token.to_owned());
        self.scores.push(score);
        self.kinds.push(kind);
        Ok(())
    }

    fn trainer_field(&mut self, number: u64, value: Value<'_>) -> Result<(), String> {
        match number {
            3 => self.model_type = value.number()?,
            24 => self.treat_whitespace_as_suffix = value.truth()?,
            35 => self.byte_fallback = value.truth()?,
            41 => self.bos = u32::try_from(value.number()?).ok(),
            42 => self.eos = u32::try_from(value.number()?).ok(),
            44 => value.text()?.clone_into(&mut self.unknown_surface),
            _ => {}
        }
        Ok(())
    }

    fn normalizer_field(&mut self, number: u64, value: Value<'_>) -> Result<(), String> {
        match number {
            2 if !value.bytes()?.is_empty() => {
                let read = Charsmap::new(value.bytes()?);
                self.charsmap = Some(read.map_err(|problem| format!("`precompiled_charsmap` {problem}"))?);
            }
            3 => self.add_dummy_prefix = value.truth()?,
            4 => self.remove_extra_whitespaces = value.truth()?,
            5 => self.escape_whitespaces = value.truth()?,
            _ => {}
        }
        Ok(())
    }
}

fn kind_of(number: u64) -> Result<TokenKind, String> {
    let kind = i32::try_from(number).ok().and_then(TokenKind::from_number);
    kind.ok_or_else(|| format!("has a piece of type {number} where 1 to 6 are known"))
}
