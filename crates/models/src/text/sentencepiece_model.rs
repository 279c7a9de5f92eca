//! SentencePiece's BPE from a folder's `tokenizer.model`, with the ids that the package `sentencepiece` gives.
//!
//! A text is normalized (characters replaced by the file's table, spaces at the ends and doubled ones removed, a space
//! put before it, spaces written as ▁: each where the file says so), tokens that a user defined are found in it, and
//! the rest is merged by scores. Tokens that the folder adds are taken out first, with `parse_special` control tokens
//! as well, and each piece of text between them is a text of its own, with its own space before it, as the slow
//! tokenizers of transformers have it.

use super::added::{DAMAGED, ONE_MODEL};
use super::encoder::{Encoder, Frame, Place};
use super::error::TextError;
use super::gguf_sentencepiece::{byte_of, byte_tokens};
use super::pieces::{Lead, Pieces};
use super::sentencepiece::{Merges, Piece};
use super::sentencepiece_file::SentencePieceFile;
use super::settings::FolderSettings;
use super::specials::{BothSpecials, Fragment};
use super::tokenizer::{Parts, TextTokenizer};
use super::vocabulary::TokenKind;
use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use indexmap::IndexMap;
use std::ops::Range;
use std::path::Path;

const KINDS: [&str; 5] = ["of no type", "Unigram", "BPE", "word", "char"];

struct SentencePiece {
    merges: Merges,
    specials: BothSpecials,
    normalizer: Normalizer,
}

/// What is done to a text before it is merged.
struct Normalizer {
    file: SentencePieceFile,
    /// Tokens that a user defined: no character of them is replaced.
    defined: Option<AhoCorasick>,
}

impl TextTokenizer {
    /// Reads the bytes of a `tokenizer.model`, SentencePiece's file; `file` names it in messages. Where the settings
    /// say nothing, the tokens that begin and end a text are the file's, and a prompt begins with the first of them.
    ///
    /// # Errors
    /// A file that is none or contradicts itself; one of another kind than BPE.
    pub fn from_sentencepiece(
        file: &Path,
        bytes: &[u8],
        settings: &FolderSettings,
    ) -> Result<TextTokenizer, TextError> {
        let wrong =
            |problem, remedy| TextError::TokenizerFile { file: file.display().to_string(), problem, remedy };
        let mut read = SentencePieceFile::read(bytes).map_err(|problem| wrong(problem, DAMAGED))?;
        read.add(&settings.added)?;
        supported(&read).map_err(|problem| wrong(problem, "take a model with BPE of the usual settings"))?;
        let kinds = read.kinds.clone();
        let tokens = read.tokens.clone();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let (bos, eos) = read.ends(settings).map_err(|problem| wrong(problem, ONE_MODEL))?;
        let before = bos.filter(|_| settings.add_bos_token.unwrap_or(true));
        let after = eos.filter(|_| settings.add_eos_token.unwrap_or(false));
        let pieces = pieces(&read);
        let encoder = SentencePiece::new(read, &tokens).map_err(|problem| wrong(problem, DAMAGED))?;
        TextTokenizer::from_parts(Parts {
            encoder: Box::new(encoder),
            pieces,
            tokens: &tokens,
            kinds,
            bos,
            eos,
            frame: Frame::new(before, after, false),
        })
    }
}

/// What is not supported, by name.
fn supported(file: &SentencePieceFile) -> Result<(), String> {
    if file.model_type != 2 {
        let kind =
            usize::try_from(file.model_type).ok().and_then(|kind| KINDS.get(kind)).unwrap_or(&KINDS[0]);
        return Err(format!("its model is {kind}, which is not supported yet"));
    }
    let named = [
        (file.treat_whitespace_as_suffix, "`treat_whitespace_as_suffix`"),
        (file.denormalizes, "a table of characters for decoding"),
        (!file.escape_whitespaces, "spaces that are not written as `▁`"),
    ];
    match named.iter().find(|(is_so, _)| *is_so) {
        Some((_, name)) => Err(format!("it has {name}, which is not supported yet")),
        None => Ok(()),
    }
}

impl SentencePiece {
    fn new(file: SentencePieceFile, tokens: &[&str]) -> Result<SentencePiece, String> {
        let mut pieces = IndexMap::with_capacity(tokens.len());
        for (id, &token) in tokens.iter().enumerate() {
            let kind = file.kinds[id];
            let merges = matches!(kind, TokenKind::Normal | TokenKind::UserDefined | TokenKind::Unused);
            if merges && !file.added.contains_key(&(id as u32)) {
                let piece =
                    Piece { id: id as u32, score: file.scores[id], unused: kind == TokenKind::Unused };
                if pieces.insert(token.to_owned(), piece).is_some() {
                    return Err(format!("it has the piece `{token}` twice"));
                }
            }
        }
        let unknown = file.kinds.iter().position(|&kind| kind == TokenKind::Unknown);
        let unknown = unknown.ok_or("it has no unknown token")? as u32;
        let bytes = byte_tokens(tokens, &file.kinds).filter(|_| file.byte_fallback);
        if file.byte_fallback && bytes.is_none() {
            return Err("it has `byte_fallback`, and not a token for each byte".to_owned());
        }
        let defined: Vec<&str> =
            (0..).zip(tokens).filter(|(id, _)| file.defines(*id)).map(|(_, t)| *t).collect();
        Ok(SentencePiece {
            merges: Merges::new(pieces, bytes, Some(unknown)),
            specials: specials(&file, tokens).map_err(|e| e.to_string())?,
            normalizer: Normalizer { defined: prefixes(&defined)?, file },
        })
    }

    fn text_ids(&self, text: &str) -> Result<Vec<u32>, TextError> {
        let text = self.normalizer.normalized(text);
        self.merges.ids(&text, &self.normalizer.whole(&text))
    }
}

impl Encoder for SentencePiece {
    fn encode(&self, text: &str, _: Place, parse_special: bool) -> Result<Vec<u32>, TextError> {
        let mut ids = Vec::new();
        for fragment in self.specials.fragments(text, parse_special) {
            match fragment {
                Fragment::Token(id) => ids.push(id),
                Fragment::Text(text) => ids.extend(self.text_ids(text)?),
            }
        }
        Ok(ids)
    }

    fn control_fragments<'t>(&self, text: &'t str) -> Result<Vec<Fragment<'t>>, TextError> {
        Ok(self.specials.control_fragments(text))
    }
}

/// Control tokens, and those that the folder adds; the file's own that a user defined are found later.
fn specials(file: &SentencePieceFile, tokens: &[&str]) -> Result<BothSpecials, TextError> {
    let kind = |(id, kind): (u32, &TokenKind)| match kind {
        TokenKind::Control => TokenKind::Control,
        _ if file.added.contains_key(&id) => TokenKind::UserDefined,
        _ => TokenKind::Normal,
    };
    let kinds: Vec<TokenKind> = (0..).zip(&file.kinds).map(kind).collect();
    let taking: Vec<&str> =
        file.added.iter().filter(|(_, takes)| **takes).map(|(id, _)| tokens[*id as usize]).collect();
    BothSpecials::of(tokens, &kinds, |token| taking.contains(&token))
}

/// Finds the longest of these at the beginning of a text.
fn prefixes(defined: &[&str]) -> Result<Option<AhoCorasick>, String> {
    if defined.is_empty() {
        return Ok(None);
    }
    let mut builder = AhoCorasick::builder();
    builder.match_kind(MatchKind::LeftmostLongest).start_kind(StartKind::Both);
    builder.build(defined).map(Some).map_err(|e| format!("it has too many tokens that a user defined: {e}"))
}

impl Normalizer {
    /// The bytes at the beginning of a text that are replaced, and by what. A character at least.
    fn next<'t>(&'t self, text: &'t str) -> (usize, &'t str) {
        let anchored = || Input::new(text).anchored(Anchored::Yes);
        if let Some(found) = self.defined.as_ref().and_then(|defined| defined.find(anchored())) {
            return (found.end(), &text[..found.end()]);
        }
        if let Some((len, replacement)) = self.file.charsmap.as_ref().and_then(|map| map.longest(text)) {
            return (len, replacement);
        }
        let len = text.chars().next().map_or(0, char::len_utf8);
        (len, &text[..len])
    }

    fn normalized(&self, text: &str) -> String {
        let removes = self.file.remove_extra_whitespaces;
        let mut rest = text;
        while removes && !rest.is_empty() {
            let (len, replacement) = self.next(rest);
            if replacement != " " {
                break;
            }
            rest = &rest[len..];
        }
        let mut normal = String::with_capacity(rest.len() + 3);
        if rest.is_empty() {
            return normal;
        }
        if self.file.add_dummy_prefix {
            normal.push('▁');
        }
        let mut after_space = removes;
        while !rest.is_empty() {
            let (len, replacement) = self.next(rest);
            rest = &rest[len..];
            let written = if after_space { replacement.trim_start_matches(' ') } else { replacement };
            normal.extend(written.chars().map(|c| if c == ' ' { '▁' } else { c }));
            if !written.is_empty() {
                after_space = removes && written.ends_with(' ');
            }
        }
        if removes {
            normal.truncate(normal.trim_end_matches('▁').len());
        }
        normal
    }

    /// Where tokens that a user defined stand in a normalized text: the first, and there the longest.
    fn whole(&self, text: &str) -> Vec<Range<usize>> {
        self.defined.iter().flat_map(|defined| defined.find_iter(text)).map(|found| found.range()).collect()
    }
}

/// What tokens write. The unknown one has a text of its own.
fn pieces(file: &SentencePieceFile) -> Pieces {
    let piece = |(id, (token, kind)): (u32, (&String, &TokenKind))| match kind {
        _ if file.added.contains_key(&id) => token.as_bytes().to_vec(),
        TokenKind::Normal | TokenKind::Unused | TokenKind::UserDefined => {
            token.replace('▁', " ").into_bytes()
        }
        TokenKind::Byte => byte_of(token).map_or_else(|| token.as_bytes().to_vec(), |b| vec![b]),
        TokenKind::Unknown => file.unknown_surface.as_bytes().to_vec(),
        TokenKind::Control => token.as_bytes().to_vec(),
    };
    let leading = usize::from(file.add_dummy_prefix || file.remove_extra_whitespaces);
    Pieces::of((0..).zip(file.tokens.iter().zip(&file.kinds)).map(piece), Lead::Spaces(leading), "")
}
