//! The table by which a `tokenizer.model` replaces characters (NFKC and the like): `precompiled_charsmap`.
//!
//! Four bytes for the size of a trie in bytes, the trie, then the replacements, each ended by a zero byte. The trie is
//! a double array of 32-bit units as Darts-clone (S. Yata) writes it: a unit holds the label by which it is reached
//! (bits 0 to 7, and 31), where its children are (bits 10 to 30, shifted by 8 where bit 9 is set), and whether a value
//! follows (bit 8); a value is a unit's lower 31 bits, here the place of a replacement. The longest match is taken.

/// Replacements of the longest prefixes.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    replacements: String,
}

impl Charsmap {
    /// Reads the table.
    pub fn new(bytes: &[u8]) -> Result<Charsmap, String> {
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or("is shorter than its own size")?;
        let size = u32::from_le_bytes(*size) as usize;
        let (trie, replacements) = rest.split_at_checked(size).ok_or("is shorter than its trie")?;
        if size == 0 || !size.is_multiple_of(4) {
            return Err(format!("has a trie of {size} bytes, which are no whole units"));
        }
        let unit = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let replacements = String::from_utf8(replacements.to_vec());
        Ok(Charsmap {
            units: trie.chunks_exact(4).map(unit).collect(),
            replacements: replacements.map_err(|e| format!("has replacements that are no UTF-8: {e}"))?,
        })
    }

    /// How many bytes of the text's beginning are replaced, and by what.
    pub fn longest<'m>(&'m self, text: &str) -> Option<(usize, &'m str)> {
        let mut found = None;
        let mut at = offset(*self.units.first()?);
        for (place, byte) in text.bytes().enumerate() {
            at ^= usize::from(byte);
            let unit = *self.units.get(at)?;
            // A zero byte is the label of values.
            if byte == 0 || unit & (1 << 31 | 0xFF) != u32::from(byte) {
                break;
            }
            at ^= offset(unit);
            if unit & 1 << 8 != 0
                && let Some(replacement) = self.units.get(at).and_then(|&value| self.replacement(value))
                && text.is_char_boundary(place + 1)
            {
                found = Some((place + 1, replacement));
            }
        }
        found
    }

    fn replacement(&self, value: u32) -> Option<&str> {
        self.replacements.get((value & 0x7FFF_FFFF) as usize..)?.split('\0').next()
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}

#[cfg(test)]
mod tests {
    use super::Charsmap;

    #[test]
    fn damaged_tables_are_refused_or_find_nothing() {
        for bytes in
            [&[][..], &[4, 0, 0, 0], &[0, 0, 0, 0], &[3, 0, 0, 0, 1, 1, 1], &[4, 0, 0, 0, 1, 1, 1, 1, 0xFF]]
        {
            assert!(Charsmap::new(bytes).is_err(), "{bytes:?}");
        }
        let wild = [&[8, 0, 0, 0][..], &[0xFF; 8], b"x\0"].concat();
        assert_eq!(Charsmap::new(&wild).expect("whole").longest("abc\0"), None);
    }
}
