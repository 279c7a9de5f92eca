//! Tokens to text while they arrive: what a token completes comes out, an unfinished character waits.

use super::pieces::{Beginning, Pieces};
use std::sync::Arc;

/// Turns ids into text one by one. All that comes out, in order, is what decoding all ids at once gives.
#[derive(Clone, Debug)]
pub struct DecodeStream {
    pieces: Arc<Pieces>,
    beginning: Beginning,
    /// The beginning of a character, at most three bytes.
    held: Vec<u8>,
}

impl DecodeStream {
    /// At the beginning of a text.
    pub(super) fn new(pieces: Arc<Pieces>) -> DecodeStream {
        DecodeStream { beginning: pieces.beginning(), pieces, held: Vec::new() }
    }

    /// After other text: a space that begins the first token is text.
    pub(super) fn after(pieces: Arc<Pieces>) -> DecodeStream {
        DecodeStream { beginning: Beginning::default(), pieces, held: Vec::new() }
    }

    /// Takes the next id and gives the text that is now certain. Bytes that no character has become U+FFFD.
    pub fn push(&mut self, id: u32) -> String {
        self.beginning.write(&self.pieces, id, &mut self.held);
        let certain = self.held.len() - unfinished(&self.held);
        let text = String::from_utf8_lossy(&self.held[..certain]).into_owned();
        self.held.drain(..certain);
        text
    }

    /// Gives what is left when no id follows: U+FFFD for a character that was not finished. The stream is as new then.
    pub fn flush(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.held).into_owned();
        self.held.clear();
        text
    }
}

/// How many bytes at the end are the beginning of a character that more bytes could finish.
fn unfinished(bytes: &[u8]) -> usize {
    // Only the last invalid run can be one, and only where nothing but the end is wrong with it.
    let last = bytes.utf8_chunks().last();
    let open = last.map(|chunk| chunk.invalid()).filter(|open| {
        std::str::from_utf8(open).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
    });
    open.map_or(0, <[u8]>::len)
}

#[cfg(test)]
mod tests {
    use super::{DecodeStream, Pieces, unfinished};
    use crate::text::vocabulary::TokenKind;
    use std::sync::Arc;

    /// One token per byte, spelled as the alphabet does.
    fn bytes_stream() -> (DecodeStream, Vec<u32>) {
        let alphabet = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet();
        let mut spelled: Vec<String> = alphabet.iter().map(|c| c.to_string()).collect();
        spelled.sort();
        let tokens: Vec<&str> = spelled.iter().map(String::as_str).collect();
        let pieces = Pieces::of_byte_level(&tokens, &[TokenKind::Normal; 256]);
        let mut ids = vec![0; 256];
        (0..256).for_each(|id| ids[usize::from(pieces.bytes(id)[0])] = id);
        (DecodeStream::new(Arc::new(pieces)), ids)
    }

    fn check(bytes: &[u8]) {
        let (mut stream, ids) = bytes_stream();
        let mut text: String = bytes.iter().map(|&b| stream.push(ids[usize::from(b)])).collect();
        text += &stream.flush();
        assert_eq!(text, String::from_utf8_lossy(bytes), "{bytes:x?}");
    }

    #[test]
    fn pieces_of_characters_wait_and_broken_ones_are_replaced() {
        check("aé€😀z".as_bytes());
        check(b"\xf0\x9f\x98");
        check(b"\xf0\x9f\x98a\xc3");
        check(b"\xe2\x82\xe2\x82\xac\x80\x80\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80");
        let mut state = 1u64;
        for _ in 0..300 {
            let bytes: Vec<u8> = (0..12)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let b = (state >> 56) as u8;
                    if b & 3 == 0 { 0xF0 | (b >> 5) } else { 0x80 | (b >> 2) }
                })
                .collect();
            check(&bytes);
        }
    }

    #[test]
    fn only_what_could_be_finished_is_held_back() {
        assert_eq!(unfinished("é".as_bytes()), 0);
        assert_eq!(unfinished(b"a\xc3"), 1);
        assert_eq!(unfinished(b"\xf0\x9f\x98"), 3);
        assert_eq!(unfinished(b"\xff"), 0);
        assert_eq!(unfinished(b"\xc3a"), 0);
        assert_eq!(unfinished(b"\xed\xa0"), 0);
    }

    #[test]
    fn an_id_that_is_no_token_shows() {
        let (mut stream, _) = bytes_stream();
        assert_eq!(stream.push(256), "\u{fffd}");
    }
}
