//! The bytes that each token writes, in one run of memory.
//!
//! Each kind of tokenizer spells bytes in its own way: byte-level BPE with 256 visible characters, one per byte;
//! SentencePiece with ▁ for a space and tokens as `<0x0A>`. Here they become bytes, once.

use super::gguf_sentencepiece::byte_of;
use super::vocabulary::TokenKind;

/// Bytes by id.
#[derive(Debug)]
pub(super) struct Pieces {
    bytes: Vec<u8>,
    /// Where each token's bytes end; they begin where the ones before end.
    ends: Vec<usize>,
    /// What an id outside of the vocabulary writes.
    missing: &'static str,
    lead: Lead,
}

/// What is taken from the beginning of a text that was decoded: the spaces that encoding had put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// So many spaces, as far as they are there.
    Spaces(usize),
    /// All spaces in the first token, wherever they stand in it: as Metaspace of `tokenizers` has it.
    FirstToken,
}

/// What an id outside of a GGUF file's vocabulary writes: U+FFFD.
const REPLACEMENT: &str = "\u{fffd}";

impl Pieces {
    /// Takes what tokens write, in order of their ids.
    pub fn of(tokens: impl Iterator<Item = Vec<u8>>, lead: Lead, missing: &'static str) -> Pieces {
        let mut pieces = Pieces { bytes: Vec::new(), ends: Vec::new(), missing, lead };
        for token in tokens {
            pieces.bytes.extend(token);
            pieces.ends.push(pieces.bytes.len());
        }
        pieces
    }

    /// Of byte-level BPE. Tokens that merging makes are spelled in the alphabet of bytes; the others are plain text.
    pub fn of_byte_level(tokens: &[&str], kinds: &[TokenKind]) -> Pieces {
        let piece = |(token, kind): (&&str, &TokenKind)| match kind {
            TokenKind::Normal | TokenKind::Byte | TokenKind::Unused => byte_level(token),
            TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined => token.as_bytes().to_vec(),
        };
        Pieces::of(tokens.iter().zip(kinds).map(piece), Lead::Spaces(0), REPLACEMENT)
    }

    /// Of SentencePiece in a GGUF file. `leading` is how many spaces encoding puts before a text.
    pub fn of_sentencepiece(tokens: &[&str], kinds: &[TokenKind], leading: usize) -> Pieces {
        let piece = |(token, kind): (&&str, &TokenKind)| match kind {
            TokenKind::Normal | TokenKind::Unused => token.replace('▁', " ").into_bytes(),
            TokenKind::Byte => byte_of(token).map_or_else(|| token.as_bytes().to_vec(), |b| vec![b]),
            TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined => token.as_bytes().to_vec(),
        };
        Pieces::of(tokens.iter().zip(kinds).map(piece), Lead::Spaces(leading), REPLACEMENT)
    }

    /// The bytes that a token writes.
    pub fn bytes(&self, id: u32) -> &[u8] {
        let Some(&end) = self.ends.get(id as usize) else { return self.missing.as_bytes() };
        let start = (id as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..end]
    }

    /// A decoder that stands at the beginning of a text.
    pub fn beginning(&self) -> Beginning {
        Beginning { lead: Some(self.lead).filter(|&lead| lead != Lead::Spaces(0)) }
    }
}

/// Takes from the first tokens what encoding had put there.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginning {
    lead: Option<Lead>,
}

impl Beginning {
    /// Adds what a token writes at this place of a text.
    pub fn write(&mut self, pieces: &Pieces, id: u32, text: &mut Vec<u8>) {
        let bytes = pieces.bytes(id);
        match self.lead.take() {
            None => text.extend(bytes),
            Some(Lead::FirstToken) => text.extend(bytes.iter().filter(|&&b| b != b' ')),
            Some(Lead::Spaces(wanted)) => {
                let found = bytes.iter().take(wanted).take_while(|&&b| b == b' ').count();
                text.extend(&bytes[found..]);
                let open = wanted - found;
                // A token of nothing but spaces, or without text, does not end the beginning.
                self.lead = Some(Lead::Spaces(open)).filter(|_| open > 0 && found == bytes.len());
            }
        }
    }
}

/// What a token of byte-level BPE writes: plain text where a character is not of the alphabet.
pub(super) fn byte_level(token: &str) -> Vec<u8> {
    let spelled: Option<Vec<u8>> = token.chars().map(byte_of_letter).collect();
    spelled.unwrap_or_else(|| token.as_bytes().to_vec())
}

/// Visible characters of Latin-1 stand for themselves; the other 68 bytes, in order, for U+0100 and on.
fn byte_of_letter(c: char) -> Option<u8> {
    let visible = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match u32::from(c) {
        code @ 0..=0xFF => Some(code as u8).filter(|&b| visible(b)),
        code @ 0x100..=0x143 => (0..=u8::MAX).filter(|&b| !visible(b)).nth(code as usize - 0x100),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Lead, Pieces, byte_of_letter};
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;

    #[test]
    fn the_alphabet_spells_each_byte_once() {
        let alphabet = ByteLevel::alphabet();
        let mut bytes: Vec<u8> = alphabet.iter().filter_map(|&c| byte_of_letter(c)).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=u8::MAX).collect::<Vec<_>>());
        let all = (0..=0x10FFFFu32).filter_map(char::from_u32);
        assert_eq!(all.filter(|&c| byte_of_letter(c).is_some()).count(), 256);
        // Space, line feed, soft hyphen: as GPT-2's vocabulary writes them.
        let letters = ['\u{120}', '\u{10a}', '\u{143}'].map(byte_of_letter);
        assert_eq!(letters, [Some(b' '), Some(b'\n'), Some(0xAD)]);
    }

    #[test]
    fn leading_spaces_are_taken_from_the_beginning_alone() {
        let written = |lead, ids: &[u32]| {
            let tokens = ["", " ", "  a ", "b"].map(|t| t.as_bytes().to_vec());
            let pieces = Pieces::of(tokens.into_iter(), lead, "?");
            let (mut beginning, mut text) = (pieces.beginning(), Vec::new());
            ids.iter().for_each(|&id| beginning.write(&pieces, id, &mut text));
            String::from_utf8(text).expect("letters")
        };
        assert_eq!(written(Lead::Spaces(1), &[2, 2]), " a   a ");
        assert_eq!(written(Lead::Spaces(1), &[0, 1, 1, 3]), " b");
        assert_eq!(written(Lead::Spaces(2), &[1, 0, 2]), " a ");
        assert_eq!(written(Lead::Spaces(1), &[3, 1, 9]), "b ?");
        assert_eq!(written(Lead::Spaces(0), &[1, 3]), " b");
        assert_eq!(written(Lead::FirstToken, &[2, 2]), "a  a ");
    }
}
