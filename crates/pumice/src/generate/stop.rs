//! Texts that end an answer, wherever the borders of tokens are.

/// Finds them in a text that comes in pieces. What may be the beginning of one is held back.
#[derive(Clone, Debug)]
pub(super) struct StopTexts {
    texts: Vec<String>,
    held: String,
}

impl StopTexts {
    /// Of texts that are not empty.
    pub(super) fn new(texts: &[String]) -> StopTexts {
        StopTexts { texts: texts.to_vec(), held: String::new() }
    }

    /// Takes the next piece. The text that is now certain, and whether a text that ends the answer came.
    pub(super) fn push(&mut self, piece: &str) -> (String, bool) {
        self.held.push_str(piece);
        let first = self.texts.iter().filter_map(|text| self.held.find(text.as_str())).min();
        if let Some(at) = first {
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), true);
        }
        let rest = self.held.split_off(self.held.len() - self.begun());
        (std::mem::replace(&mut self.held, rest), false)
    }

    /// What was held back, once no piece follows.
    pub(super) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Bytes at the end that may be the beginning of one of the texts.
    fn begun(&self) -> usize {
        let longest = self.texts.iter().map(String::len).max().unwrap_or(0).saturating_sub(1);
        let starts = self.held.char_indices().map(|(at, _)| at);
        let mut ends = starts.filter(|at| self.held.len() - at <= longest);
        let is_begun = |at: &usize| self.texts.iter().any(|text| text.starts_with(&self.held[*at..]));
        ends.find(is_begun).map_or(0, |at| self.held.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::StopTexts;

    /// The text that comes out of pieces, and whether it was ended.
    fn through(stops: &[&str], pieces: &[&str]) -> (String, bool) {
        let texts: Vec<String> = stops.iter().map(|&s| s.to_owned()).collect();
        let mut stops = StopTexts::new(&texts);
        let mut out = String::new();
        for piece in pieces {
            let (text, ended) = stops.push(piece);
            out += &text;
            if ended {
                return (out, true);
            }
        }
        out += &stops.rest();
        (out, false)
    }

    #[test]
    fn a_text_is_found_across_pieces_and_left_out() {
        assert_eq!(through(&["</s>"], &["a<", "/", "s", ">b"]), ("a".to_owned(), true));
        assert_eq!(through(&["END"], &["EEN", "EN", "D"]), ("EEN".to_owned(), true));
        assert_eq!(through(&["abc", "b"], &["a", "b"]), ("a".to_owned(), true));
        assert_eq!(through(&["é!"], &["caf", "é", "?"]), ("café?".to_owned(), false));
        assert_eq!(through(&["stop"], &["sto", "p"]), (String::new(), true));
        assert_eq!(through(&["stop"], &["sto"]), ("sto".to_owned(), false));
        assert_eq!(through(&[], &["a", "b"]), ("ab".to_owned(), false));
    }

    /// Every way to cut a text into pieces gives the same.
    #[test]
    fn cuts_do_not_matter() {
        let text = "aab ab aaab€x";
        let letters: Vec<String> = text.chars().map(String::from).collect();
        for stop in ["aaab", "b a", "€x", "zz", "aab ab aaab€xy"] {
            let whole = through(&[stop], &[text]);
            for cuts in 0u32..1 << (letters.len() - 1) {
                let mut pieces = vec![String::new()];
                for (i, letter) in letters.iter().enumerate() {
                    pieces.last_mut().expect("one").push_str(letter);
                    if cuts >> i & 1 == 1 {
                        pieces.push(String::new());
                    }
                }
                let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
                assert_eq!(through(&[stop], &pieces), whole, "{stop} {pieces:?}");
            }
        }
    }
}
