//! The operators `~` and `in` of templates, paid for before they write.
//!
//! In: a template's source. Out: the same with calls put in. Both operators write a list as text, and the engine takes
//! fuel afterwards or not at all, so a list that holds one long string many times takes memory without bound. Beside a
//! safe string `~` writes through the formatter, which is ours and takes the fuel first; the left operand of `in` goes
//! through a filter that does. Never here: what is outside of tags.

use std::borrow::Cow;

/// What stands in place of `~`. It binds more tightly than what stands beside it.
const SIGN: &str = "~''|safe~";

/// The filter that takes the fuel for what stands to the left of `in`.
pub(super) const SOUGHT: &str = "unpaid_sought";

/// Words after which another operand begins.
const BEFORE_OPERANDS: [&str; 8] = ["and", "or", "not", "if", "elif", "else", "in", "is"];

/// Puts an empty safe string between the operands of every `~`, and the filter [`SOUGHT`] before every operator `in`.
pub(super) fn paid(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.match_indices('{').map(|(at, _)| at).find(|&at| begins_tag(&rest[at..])) {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let length = match tag.as_bytes()[1] {
            b'#' => tag.find("#}").map_or(tag.len(), |end| end + 2),
            _ if is_block(tag, "raw") => raw(tag),
            _ => {
                rest = expression(tag, &mut out);
                continue;
            }
        };
        out.push_str(&tag[..length]);
        rest = &tag[length..];
    }
    out + rest
}

fn begins_tag(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|sign| text.starts_with(sign))
}

/// Whether the text begins with a block of that name.
fn is_block(text: &str, name: &str) -> bool {
    let Some(body) = text.strip_prefix("{%") else { return false };
    let body = body.strip_prefix(['-', '+']).unwrap_or(body).trim_start();
    let after = body.strip_prefix(name);
    after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The length of a raw block up to the block that ends it.
fn raw(text: &str) -> usize {
    let ends = text.match_indices("{%").map(|(at, _)| at).find(|&at| is_block(&text[at..], "endraw"));
    ends.unwrap_or(text.len())
}

/// A tag as far as it is copied.
struct Tag<'o> {
    out: &'o mut String,
    /// Where the operand began, outermost bracket first: after a bracket, a comma, a comparison, a word.
    began: Vec<usize>,
    /// The last word, and whether it is of a loop, whose `in` is no operator, or of a test.
    word: String,
    in_loop: bool,
}

impl Tag<'_> {
    /// The next operand begins here.
    fn begin(&mut self) {
        if let Some(began) = self.began.last_mut() {
            *began = self.out.len();
        }
    }

    fn open(&mut self) {
        self.began.push(self.out.len());
    }

    fn close(&mut self) {
        if self.began.len() > 1 {
            self.began.pop();
        }
    }

    fn word(&mut self, word: &str, is_first: bool) {
        let is_test = self.word == "is" || self.word == "is not";
        if word == "in" && std::mem::take(&mut self.in_loop) {
            // The names of a loop are no operand.
        } else if word == "in" && !is_test {
            let not = if self.word == "not" { self.out.rfind("not") } else { None };
            let end = not.unwrap_or(self.out.len());
            let began = self.began.last().copied().unwrap_or(0).min(end);
            self.out.insert_str(end, &format!(")|{SOUGHT} "));
            self.out.insert(began, '(');
        }
        self.in_loop |= is_first && word == "for";
        self.out.push_str(word);
        let joined = if self.word == "is" && word == "not" { "is not" } else { word };
        self.word = joined.to_owned();
        // `a not in b` is one operator: what stands before `not` stays the operand.
        if is_first || (BEFORE_OPERANDS.contains(&word) && word != "not") {
            self.begin();
        }
    }

    /// Copies a sign or a literal that begins with `c`.
    fn sign(&mut self, c: char, text: &str) {
        if matches!(c, ')' | ']' | '}') {
            self.close();
        }
        self.out.push_str(if c == '~' { SIGN } else { text });
        match c {
            '(' | '[' | '{' => self.open(),
            ',' | ':' | '=' | '<' | '>' | '!' => self.begin(),
            _ => {}
        }
        if !c.is_whitespace() {
            self.word.clear();
        }
    }
}

/// Copies a tag; gives what follows it. Brackets inside keep `}}` from ending it, as in the engine.
fn expression<'s>(tag: &'s str, out: &mut String) -> &'s str {
    let (end, is_block) = if tag.starts_with("{{") { ("}}", false) } else { ("%}", true) };
    let (mut at, mut is_first) = (2, is_block);
    out.push_str(&tag[..2]);
    let sign = tag[at..].chars().next().filter(|c| "-+".contains(*c));
    out.extend(sign);
    at += sign.map_or(0, char::len_utf8);
    let mut copy = Tag { began: vec![out.len()], out, word: String::new(), in_loop: false };
    while let Some(c) = tag[at..].chars().next() {
        if copy.began.len() == 1 && tag[at..].starts_with(end) {
            copy.out.push_str(end);
            return &tag[at + 2..];
        }
        let word = word_of(&tag[at..]);
        if !word.is_empty() {
            copy.word(word, std::mem::take(&mut is_first));
            at += word.len();
            continue;
        }
        let is_literal = matches!(c, '"' | '\'');
        let length = if is_literal { literal(&tag[at..]) } else { c.len_utf8() };
        let text = &tag[at..at + length];
        copy.sign(c, &if is_literal { escapes(text) } else { Cow::Borrowed(text) });
        at += length;
    }
    ""
}

/// The name or number that the text begins with.
fn word_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// A string literal whose escapes the engine reads as Python does: what is no escape there keeps its backslash.
fn escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let sign = escape[1..].chars().next();
        let length = 1 + sign.map_or(0, char::len_utf8);
        let code = escape.get(2..10).filter(|_| sign == Some('U'));
        match (sign, code.and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?))) {
            (_, Some(c)) => {
                out.push(c);
                rest = &escape[10..];
                continue;
            }
            (Some('a'), _) => out.push_str("\\x07"),
            (Some('v'), _) => out.push_str("\\x0b"),
            (Some('\n'), _) => {}
            (Some('\\' | '\'' | '"' | 'b' | 'f' | 'n' | 'r' | 't' | 'x' | 'u' | '0'..='7'), _)
            | (None, _) => {
                out.push_str(&escape[..length]);
            }
            _ => out.extend(["\\", &escape[..length]]),
        }
        rest = &escape[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The bytes of a string literal with its quotes; a backslash takes the character after it along.
fn literal(text: &str) -> usize {
    let quote = &text[..1];
    let mut escaped = false;
    let ends = |(_, c): &(usize, char)| {
        let end = !escaped && quote.starts_with(*c);
        escaped = !escaped && *c == '\\';
        end
    };
    text.char_indices().skip(1).find(ends).map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(source: &str) -> String {
        paid(source).replace(SIGN, "≈").replace(&format!("|{SOUGHT}"), "!")
    }

    #[test]
    fn operators_inside_of_tags_are_found_and_no_others() {
        for (source, expected) in [
            ("a ~ b {{ c ~ d }} ~", "a ~ b {{ c ≈ d }} ~"),
            ("{%- set x = a ~'~' ~ \"\\\"~\" -%}~", "{%- set x = a ≈'~' ≈ \"\\\"~\" -%}~"),
            ("{# {{ 'don't ~ #} ~ {{ a~b }}", "{# {{ 'don't ~ #} ~ {{ a≈b }}"),
            (
                "{% raw %}{{ a ~ b }}{% set %}{%- endraw %}{{ a ~ b }}",
                "{% raw %}{{ a ~ b }}{% set %}{%- endraw %}{{ a ≈ b }}",
            ),
            ("{{ {'a': {'b': 1}} ~ x }} ~", "{{ {'a': {'b': 1}} ≈ x }} ~"),
            ("{{ {'a': {}}['a'] }}~{%+ if x ~ y %}~", "{{ {'a': {}}['a'] }}~{%+ if x ≈ y %}~"),
            ("{ ~ {x} {% rawest ~ %}", "{ ~ {x} {% rawest ≈ %}"),
            ("{{ a ~ 'open", "{{ a ≈ 'open"),
            ("{% raw %} ~", "{% raw %} ~"),
            ("{{ a", "{{ a"),
            ("{% if a.b in c %}", "{% if( a.b )! in c %}"),
            (
                "{%- if not x and 'a' + b not in c[d in e] -%}",
                "{%- if not x and( 'a' + b )! not in c[(d )! in e] -%}",
            ),
            ("{% for a, b in c if a in d %}in", "{% for a, b in c if( a )! in d %}in"),
            (
                "{{ x is in(y) or x is not in y or x == y in z }}",
                "{{ x is in(y) or x is not in y or x ==( y )! in z }}",
            ),
            ("{{ f(a in b, c=d in e) }}", "{{ f((a )! in b, c=(d )! in e) }}"),
            ("{{ a in b in c }}{{ inner in main }}", "{{( a )! in( b )! in c }}{{( inner )! in main }}"),
            ("{% set x = a in b %}", "{% set x =( a )! in b %}"),
            ("{", "{"),
        ] {
            assert_eq!(signs(source), expected);
        }
    }
}
