//! Marks on what a message says, so that its text never becomes control tokens, whatever a template does with it.
//!
//! Before rendering, characters of a message that stand in the text of a control token are replaced, one by one, by
//! *marks*: characters of a private plane that neither the template nor the conversation has. A template moves, cuts
//! and joins text; it cannot turn a mark into a character of a control token. So a control token that is found in the
//! rendered text has none of the marked characters in it. Afterwards each mark becomes its character again, as text.
//!
//! What is marked decides what is proved:
//! - [`Strength::All`]: every character of any control token. A token that is found is the template's, letter by
//!   letter.
//! - [`Strength::Signs`]: those that are neither letters nor digits, for templates that change letters (`upper`), and
//!   the first character of tokens that have no such sign. Each control token has one of these, so no text of a message
//!   is one, nor begins, ends or completes one at a sign.
//!
//! Texts that the template itself looks for in messages (its string literals, as `</think>`) stay as they are, so that
//! it finds them, where they have no control token in them and are in none. Should unmarked characters make one
//! together, these are marked, too.

use super::error::TextError;
use super::specials::{Fragment, Specials};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Which characters of messages are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// All that stand in control tokens.
    All,
    /// Of these, what is neither a letter nor a digit.
    Signs,
}

/// The first character of the private plane from which marks are taken, and the last.
const PLANE: std::ops::RangeInclusive<char> = '\u{100000}'..='\u{10FFFD}';

/// Marks for the characters of control tokens.
pub(super) struct Marks<'c> {
    by_char: BTreeMap<char, char>,
    by_mark: BTreeMap<char, char>,
    /// Literals of the template that stay as they are.
    kept: Vec<&'c str>,
    control: &'c Specials,
}

impl<'c> Marks<'c> {
    /// Marks for the control tokens of these texts, which `control` finds. `literals` are the template's, `texts` all
    /// that is rendered.
    ///
    /// # Errors
    /// Texts that leave no character of the private plane for a mark.
    pub fn new<'t>(
        strength: Strength,
        tokens: &[&str],
        control: &'c Specials,
        literals: &'c [String],
        texts: impl Iterator<Item = &'t str>,
    ) -> Result<Marks<'c>, TextError> {
        let wanted = wanted(strength, tokens);
        let taken: BTreeSet<char> = texts.flat_map(str::chars).filter(|c| PLANE.contains(c)).collect();
        let free = PLANE.filter(|c| !taken.contains(c));
        let by_char: BTreeMap<char, char> = wanted.iter().copied().zip(free).collect();
        if by_char.len() < wanted.len() {
            return Err(TextError::Unmarkable);
        }
        let by_mark = by_char.iter().map(|(&c, &mark)| (mark, c)).collect();
        let is_harmless = |literal: &&String| {
            let has_token = control.fragments(literal).iter().any(|f| matches!(f, Fragment::Token(_)));
            !literal.is_empty() && !has_token && !tokens.iter().any(|t| t.contains(literal.as_str()))
        };
        let kept = literals.iter().filter(is_harmless).map(String::as_str).collect();
        Ok(Marks { by_char, by_mark, kept, control })
    }

    /// The text with its marks.
    pub fn mark(&self, text: &str) -> String {
        let marked = self.mark_except(text, &self.kept);
        let forms_a_token = self.control.fragments(&marked).iter().any(|f| matches!(f, Fragment::Token(_)));
        if forms_a_token { self.mark_except(text, &[]) } else { marked }
    }

    fn mark_except(&self, text: &str, kept: &[&str]) -> String {
        let mut marked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match kept.iter().find(|literal| rest.starts_with(**literal)) {
                Some(literal) => {
                    marked.push_str(literal);
                    rest = &rest[literal.len()..];
                }
                None => {
                    marked.push(self.by_char.get(&c).copied().unwrap_or(c));
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        marked
    }

    /// The text without marks.
    pub fn unmark<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !text.contains(|c| self.by_mark.contains_key(&c)) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.chars().map(|c| self.by_mark.get(&c).copied().unwrap_or(c)).collect())
    }
}

/// The characters that get marks.
fn wanted(strength: Strength, tokens: &[&str]) -> BTreeSet<char> {
    let all = tokens.iter().flat_map(|token| token.chars());
    match strength {
        Strength::All => all.collect(),
        Strength::Signs => {
            let is_sign = |c: &char| !c.is_alphanumeric();
            let without = tokens.iter().filter(|token| !token.contains(|c: char| is_sign(&c)));
            let first = without.filter_map(|token| token.chars().next());
            all.filter(is_sign).chain(first).collect()
        }
    }
}

/// The bytes of the longest tag without its string literals; `None` where there is no tag.
pub(super) fn longest_tag(source: &str) -> Option<usize> {
    let mut longest = None;
    let mut rest = source;
    while let Some(at) = [rest.find("{{"), rest.find("{%")].into_iter().flatten().min() {
        let tag = &rest[at + 2..];
        let mut found = Vec::new();
        rest = literals_of_tag(tag, &mut |literal| found.push(literal.len()));
        let of_literals: usize = found.iter().sum();
        longest = longest.max(Some(tag.len() - rest.len() - of_literals));
    }
    longest
}

/// The string literals inside the tags of a template, as they are written.
pub(super) fn literals(source: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut rest = source;
    while let Some(at) = [rest.find("{{"), rest.find("{%")].into_iter().flatten().min() {
        rest = literals_of_tag(&rest[at + 2..], &mut |literal| {
            found.insert(literal.to_owned());
        });
    }
    // Longer ones first, so that the longest that begins somewhere stays.
    let mut found: Vec<String> = found.into_iter().collect();
    found.sort_by_key(|literal| std::cmp::Reverse(literal.len()));
    found
}

/// The names inside the tags of a template, and its string literals.
pub(super) fn names(source: &str) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = literals(source).into_iter().collect();
    let mut rest = source;
    while let Some(at) = [rest.find("{{"), rest.find("{%")].into_iter().flatten().min() {
        let tag = &rest[at + 2..];
        let mut ends = 0;
        let mut between = |text: &str| {
            let words =
                text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            names.extend(words.map(str::to_owned));
        };
        rest = literals_of_tag(tag, &mut |literal| {
            let begins = literal.as_ptr() as usize - tag.as_ptr() as usize;
            between(&tag[ends..begins]);
            ends = begins + literal.len();
        });
        between(&tag[ends..tag.len() - rest.len()]);
    }
    names
}

/// Shows the literals up to the end of the tag; gives what follows.
fn literals_of_tag<'s>(tag: &'s str, found: &mut dyn FnMut(&'s str)) -> &'s str {
    let mut rest = tag;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("}}") || rest.starts_with("%}") {
            return &rest[2..];
        }
        rest = &rest[c.len_utf8()..];
        if c != '"' && c != '\'' {
            continue;
        }
        let end = end_of_literal(rest, c);
        found(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    rest
}

/// Where the quote stands that ends a literal; a backslash takes the character after it along.
fn end_of_literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let ends = |(_, c): &(usize, char)| {
        let end = !escaped && *c == quote;
        escaped = !escaped && *c == '\\';
        end
    };
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::TokenKind::{Control, Normal};
    use super::*;

    const TOKENS: [&str; 3] = ["<|end|>", "[X]", "eos"];

    fn with_marks(strength: Strength, template: &str, test: impl FnOnce(&Marks<'_>)) {
        let kinds = [Control; 3];
        let control = Specials::new(&TOKENS, &kinds, &[Control]).expect("few tokens");
        let literals = literals(template);
        let texts = ["\u{100000}taken", template];
        let marks = Marks::new(strength, &TOKENS, &control, &literals, texts.into_iter());
        test(&marks.expect("characters enough"));
    }

    #[test]
    fn marked_text_has_no_character_of_a_token_and_comes_back() {
        let text = "a <|end|> [X] eos \u{100000} Δ";
        with_marks(Strength::All, "", |marks| {
            let marked = marks.mark(text);
            assert!(!marked.contains(['<', '|', 'e', 'n', 'd', '>', '[', 'X', ']', 'o', 's']), "{marked}");
            assert_eq!(marks.unmark(&marked), text);
            assert_eq!(marked.chars().count(), text.chars().count());
        });
        with_marks(Strength::Signs, "", |marks| {
            let marked = marks.mark(text);
            assert!(!marked.contains(['<', '|', '>', '[', ']', 'e']) && marked.contains("nd"), "{marked}");
            assert_eq!(marks.unmark(&marked), text);
        });
    }

    #[test]
    fn what_the_template_looks_for_stays_unless_it_helps_to_make_a_token() {
        let template =
            "{{ m.split('</think>') }} don't '<|end' {% if \"it\\\"s <\" in m %}{{ '<|' + r + '|>' }}";
        assert_eq!(literals(template), ["</think>", "it\\\"s <", "<|", "|>"]);
        with_marks(Strength::All, template, |marks| {
            assert!(marks.mark("<think></think>").contains("</think>"));
            // Parts of control tokens are marked although the template has them.
            assert!(!marks.mark("<|end|>").contains(['<', '|', '>']));
        });
        // Two harmless literals that overlap a control token together.
        with_marks(Strength::All, "{{ 'a<|e' }}{{ 'nd|>b' }}", |marks| {
            assert!(!marks.mark("a<|end|>b").contains(['<', '|', '>']));
        });
    }

    #[test]
    fn texts_that_use_the_whole_plane_are_refused() {
        let control = Specials::new(&["<|end|>"], &[Normal], &[Control]).expect("no tokens");
        let all: String = PLANE.collect();
        let marks = Marks::new(Strength::All, &["<|end|>"], &control, &[], [all.as_str()].into_iter());
        assert!(matches!(marks, Err(TextError::Unmarkable)));
    }
}
