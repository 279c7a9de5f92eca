//! The bytes that each token writes, in one run of memory.
//!
//! Byte-level BPE spells a token with 256 visible characters, one per byte. Here they become bytes again, once.

use super::vocabulary::TokenKind;

/// Bytes by id.
#[derive(Debug)]
pub(super) struct Pieces {
    bytes: Vec<u8>,
    /// Where each token's bytes end; they begin where the ones before end.
    ends: Vec<usize>,
}

/// What an id outside of the vocabulary writes: U+FFFD.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

impl Pieces {
    /// Tokens that merging makes are spelled in the alphabet of bytes; the others are plain text.
    pub fn new(tokens: &[&str], kinds: &[TokenKind]) -> Pieces {
        let mut pieces = Pieces { bytes: Vec::new(), ends: Vec::with_capacity(tokens.len()) };
        for (token, kind) in tokens.iter().zip(kinds) {
            let spelled = match kind {
                TokenKind::Normal | TokenKind::Byte | TokenKind::Unused => spelled_bytes(token),
                TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined => None,
            };
            match spelled {
                Some(spelled) => pieces.bytes.extend(spelled),
                None => pieces.bytes.extend(token.as_bytes()),
            }
            pieces.ends.push(pieces.bytes.len());
        }
        pieces
    }

    /// The bytes that a token writes; the replacement character for an id that is none.
    pub fn bytes(&self, id: u32) -> &[u8] {
        let Some(&end) = self.ends.get(id as usize) else { return REPLACEMENT };
        let start = (id as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..end]
    }
}

/// `None` where a character is not of the alphabet: the token is plain text then.
fn spelled_bytes(token: &str) -> Option<Vec<u8>> {
    token.chars().map(byte_of).collect()
}

/// Visible characters of Latin-1 stand for themselves; the other 68 bytes, in order, for U+0100 and on.
fn byte_of(c: char) -> Option<u8> {
    let visible = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match u32::from(c) {
        code @ 0..=0xFF => Some(code as u8).filter(|&b| visible(b)),
        code @ 0x100..=0x143 => (0..=u8::MAX).filter(|&b| !visible(b)).nth(code as usize - 0x100),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::byte_of;
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;

    #[test]
    fn the_alphabet_spells_each_byte_once() {
        let alphabet = ByteLevel::alphabet();
        let mut bytes: Vec<u8> = alphabet.iter().filter_map(|&c| byte_of(c)).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=u8::MAX).collect::<Vec<_>>());
        let known = (0..=0x10FFFFu32).filter_map(char::from_u32).filter(|&c| byte_of(c).is_some()).count();
        assert_eq!(known, 256);
        // Space, line feed, soft hyphen: as GPT-2's vocabulary writes them.
        assert_eq!(['\u{120}', '\u{10a}', '\u{143}'].map(byte_of), [Some(b' '), Some(b'\n'), Some(0xAD)]);
    }
}
