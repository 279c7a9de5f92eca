//! Operators of templates, paid for before they work.
//!
//! In: a template's source. Out: the same with filters put in that take the fuel for an operand. The engine takes
//! little for what its operators do with lists, or takes it afterwards, and a list of lists that are shared has items
//! without bound. `~` writes its operands as text: beside a safe string it does that through the formatter, which is
//! ours and takes the fuel first. `in`, comparisons, names of objects and subscripts compare; `+` and `*` join and
//! repeat. Never here: what is outside of tags.

use std::borrow::Cow;

/// What stands in place of `~`. It binds more tightly than what stands beside it.
const SIGN: &str = "~''|safe~";

/// The filter that takes the fuel for what stands to the left of `in`.
pub(super) const SOUGHT: &str = "unpaid_sought";
/// The filter for what is compared: to the left of a comparison, a name in an object, a subscript.
pub(super) const COMPARED: &str = "unpaid_compared";
/// The filter for what stands to the left of `+` and `*`.
pub(super) const JOINED: &str = "unpaid_joined";

/// Comparisons, longer ones first.
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

/// Words after which another operand begins.
const BEFORE_OPERANDS: [&str; 7] = ["and", "or", "not", "if", "elif", "else", "in"];

/// Puts an empty safe string between the operands of every `~`, and filters behind the operands of other operators.
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

/// A bracket that is open, or the tag itself.
struct Bracket {
    /// What its items are: nothing to pay for, names in an object, or what is compared.
    items: Items,
    /// Where the item began: after the bracket or a comma.
    item: usize,
    /// Where the operand began: there, or after a comparison or a word.
    operand: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Items {
    Free,
    Named,
    Compared,
}

/// A tag as far as it is copied.
struct Tag<'o> {
    out: &'o mut String,
    /// The tag and what is open in it, outermost first; never empty.
    open: Vec<Bracket>,
    /// The last word.
    word: String,
    /// Whether this is a loop whose `in` is still to come, which is no operator.
    in_loop: bool,
    /// Where the operand before the last `not` began: `a not in b` is one operator.
    before_not: usize,
}

impl Tag<'_> {
    fn bracket(&mut self) -> Option<&mut Bracket> {
        self.open.last_mut()
    }

    fn operand(&self) -> usize {
        self.open.last().map_or(0, |bracket| bracket.operand)
    }

    /// The next operand begins here.
    fn begin(&mut self) {
        let here = self.out.len();
        if let Some(bracket) = self.bracket() {
            bracket.operand = here;
        }
    }

    fn begin_item(&mut self) {
        let here = self.out.len();
        if let Some(bracket) = self.bracket() {
            (bracket.item, bracket.operand) = (here, here);
        }
    }

    /// Whether an operand ends here: a sign that follows is between two, a bracket belongs to it.
    fn is_operand(&self) -> bool {
        let is_word = self.word.is_empty() || !BEFORE_OPERANDS.contains(&self.word.as_str());
        let copied = self.out.trim_end();
        let ends = copied.ends_with(|c: char| c.is_alphanumeric() || "_)]}\"'".contains(c));
        is_word && copied.len() > self.operand() && ends
    }

    /// Puts a filter behind what was copied from there to `end`, but not behind what is one literal.
    fn pay(&mut self, from: usize, end: usize, filter: &str) {
        let operand = self.out[from..end].trim();
        let is_literal = operand.starts_with(['"', '\'']) && literal(operand) == operand.len();
        let is_number = operand.bytes().all(|b| b.is_ascii_digit());
        if !is_literal && !is_number {
            self.out.insert_str(end, &format!(")|{filter} "));
            self.out.insert(from, '(');
        }
    }

    /// An item ends here.
    fn end_item(&mut self, items: Items) {
        let (here, bracket) = (self.out.len(), self.bracket());
        if let Some(item) = bracket.filter(|bracket| bracket.items == items).map(|bracket| bracket.item) {
            self.pay(item, here, COMPARED);
        }
    }

    fn open(&mut self, sign: char) {
        let is_call = self.word == "changed" && sign == '(';
        let items = match sign {
            '{' => Items::Named,
            '[' if self.is_operand() => Items::Compared,
            _ if is_call => Items::Compared,
            _ => Items::Free,
        };
        self.out.push(sign);
        let here = self.out.len();
        self.open.push(Bracket { items, item: here, operand: here });
    }

    fn close(&mut self, sign: char) {
        self.end_item(Items::Compared);
        self.out.push(sign);
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    fn word(&mut self, word: &str, is_first: bool) {
        let is_test = self.word == "is" || self.word == "is not";
        if word == "in" && std::mem::take(&mut self.in_loop) {
            // The names of a loop are no operand.
        } else if word == "in" && !is_test {
            let is_negated = self.word == "not";
            let not = if is_negated { self.out.rfind("not") } else { None };
            let end = not.unwrap_or(self.out.len());
            let began = if is_negated { self.before_not } else { self.operand() };
            self.pay(began.min(end), end, SOUGHT);
        }
        self.in_loop |= is_first && word == "for";
        self.out.push_str(word);
        let joined = if self.word == "is" && word == "not" { "is not" } else { word };
        self.word = joined.to_owned();
        if is_first || (BEFORE_OPERANDS.contains(&word) && self.word != "is not") {
            self.before_not = self.operand();
            self.begin();
        }
    }

    /// Copies a sign of operators, or of what separates items.
    fn operator(&mut self, sign: &str) {
        match sign {
            _ if COMPARISONS.contains(&sign) => {
                self.pay(self.operand(), self.out.len(), COMPARED);
            }
            "+" | "*" if self.is_operand() => {
                let copied = self.out.trim_end();
                let word =
                    copied.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                let is_literal =
                    copied.ends_with(['"', '\'']) || word.starts_with(|c: char| c.is_ascii_digit());
                if !is_literal {
                    self.out.insert_str(copied.len(), &format!("|{JOINED}"));
                }
            }
            "," => self.end_item(Items::Compared),
            ":" => {
                self.end_item(Items::Named);
                if let Some(bracket) = self.bracket().filter(|bracket| bracket.items == Items::Compared) {
                    bracket.items = Items::Free;
                }
            }
            _ => {}
        }
        self.out.push_str(if sign == "~" { SIGN } else { sign });
        match sign {
            "," => self.begin_item(),
            ":" | "=" => self.begin(),
            _ if COMPARISONS.contains(&sign) => self.begin(),
            _ => {}
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
    let all = Bracket { items: Items::Free, item: out.len(), operand: out.len() };
    let mut copy = Tag { open: vec![all], out, word: String::new(), in_loop: false, before_not: 0 };
    while let Some(c) = tag[at..].chars().next() {
        let rest = &tag[at..];
        if copy.open.len() == 1 && rest.starts_with(end) {
            copy.out.push_str(end);
            return &rest[2..];
        }
        let word = word_of(rest);
        if !word.is_empty() {
            copy.word(word, std::mem::take(&mut is_first));
            at += word.len();
            continue;
        }
        at += copied(&mut copy, rest, c, end);
    }
    ""
}

/// Copies what the text begins with, a sign or a literal; gives its bytes.
fn copied(copy: &mut Tag<'_>, text: &str, c: char, end: &str) -> usize {
    let length = match c {
        '"' | '\'' => {
            let length = literal(text);
            copy.out.push_str(&escapes(&text[..length]));
            length
        }
        '(' | '[' | '{' => {
            copy.open(c);
            1
        }
        ')' | ']' | '}' => {
            copy.close(c);
            1
        }
        // The sign that takes the space after the tag.
        '+' if copy.open.len() == 1 && text[1..].starts_with(end) => {
            copy.out.push(c);
            1
        }
        _ => {
            let long = COMPARISONS.into_iter().chain(["**"]).find(|sign| text.starts_with(sign));
            let sign = long.unwrap_or(&text[..c.len_utf8()]);
            copy.operator(sign);
            sign.len()
        }
    };
    if !c.is_whitespace() {
        copy.word.clear();
    }
    length
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
        let filters = [(SOUGHT, "!"), (COMPARED, "?"), (JOINED, "&")];
        let plain = filters.iter().fold(paid(source), |out, (filter, sign)| {
            out.replace(&format!(")|{filter} "), &format!("){sign}")).replace(&format!("|{filter}"), sign)
        });
        plain.replace(SIGN, "≈")
    }

    fn are_found(cases: &[(&str, &str)]) {
        for (source, expected) in cases {
            assert_eq!(signs(source), *expected);
        }
    }

    #[test]
    fn operators_inside_of_tags_are_found_and_no_others() {
        are_found(&[
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
            ("{", "{"),
        ]);
    }

    #[test]
    fn what_is_sought_is_all_that_stands_before_the_operator() {
        are_found(&[
            ("{% if a.b in c %}", "{% if( a.b )!in c %}"),
            (
                "{%- if not x and b + 1 not in c[d in e] -%}",
                "{%- if not x and( b& + 1 )!not in c[((d )!in e)?] -%}",
            ),
            ("{% if not x in y and not z %}", "{% if not( x )!in y and not z %}"),
            ("{% if x is defined in y %}", "{% if( x is defined )!in y %}"),
            ("{% for a, b in c if a in d %}in", "{% for a, b in c if( a )!in d %}in"),
            ("{{ x is in(y) or x is not in y or x in z }}", "{{ x is in(y) or x is not in y or( x )!in z }}"),
            ("{{ f(a in b, c=d in e) }}", "{{ f((a )!in b, c=(d )!in e) }}"),
            ("{{ a in b in c }}{{ inner in main }}", "{{( a )!in( b )!in c }}{{( inner )!in main }}"),
            ("{% set x = a in b %}", "{% set x =( a )!in b %}"),
            ("{% if 'a' in b and \"c\" not in d %}", "{% if 'a' in b and \"c\" not in d %}"),
        ]);
    }

    #[test]
    fn what_is_compared_or_joined_is_paid_for() {
        are_found(&[
            ("{{ a == b != c }}{{ 1 <= d }}", "{{( a )?==( b )?!= c }}{{ 1 <= d }}"),
            ("{%- if x is defined == true -%}", "{%- if( x is defined )?== true -%}"),
            ("{%- if not a + b>c or a['b'] == 'c' %}", "{%- if not( a& + b)?>c or( a['b'] )?== 'c' %}"),
            ("{% set a=b==c %}{{ f(a=b<c) }}", "{% set a=(b)?==c %}{{ f(a=(b)?<c) }}"),
            ("{{ {a: b, 'c': d, e + f : 1}[g] }}", "{{ {(a)?: b, 'c': d,( e& + f )?: 1}[(g)?] }}"),
            ("{{ a[1:b][c, d][0][-1] + [e, f] }}", "{{ a[1:b][(c)?,( d)?][0][(-1)?]& + [e, f] }}"),
            ("{{ 'a' + b|length + 1 + c * 2 -1 }}", "{{ 'a' + b|length& + 1 + c& * 2 -1 }}"),
            ("{{ f(*a, **b) ** 2 + +c }}", "{{ f(*a, **b) ** 2 + +c }}"),
            ("{% if loop.changed(a, b) +%}+{{ a +}}", "{% if loop.changed((a)?,( b)?) +%}+{{ a +}}"),
            ("{% for a in [b] + c %}{% if [a] %}", "{% for a in [b]& + c %}{% if [a] %}"),
        ]);
    }
}
