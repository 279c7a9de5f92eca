//! Methods of Python's texts that the second crate lacks, or that Rust's own do otherwise: what counts as space, where
//! lines end, arguments by name.

use minijinja::value::{Kwargs, Tuple, from_args};
use minijinja::{Error, ErrorKind, Value};

/// What `str.isspace` holds for: Unicode's white space and the four separators of ASCII.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Where `str.splitlines` ends a line; `\r\n` is one end.
fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Calls a method; `None` where it is not one of these.
pub(super) fn call(text: &str, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    Some(match method {
        "strip" => strip(text, args, (true, true)),
        "lstrip" => strip(text, args, (true, false)),
        "rstrip" => strip(text, args, (false, true)),
        "split" => split(text, args, false),
        "rsplit" => split(text, args, true),
        "splitlines" => split_lines(text, args),
        "partition" => partition(text, args, false),
        "rpartition" => partition(text, args, true),
        "removeprefix" => one(args).map(|part: &str| text.strip_prefix(part).unwrap_or(text).into()),
        "removesuffix" => one(args).map(|part: &str| text.strip_suffix(part).unwrap_or(text).into()),
        "index" => one(args).and_then(|part: &str| place(text, text.find(part))),
        "rindex" => one(args).and_then(|part: &str| place(text, text.rfind(part))),
        "isspace" => none(args).map(|()| (!text.is_empty() && text.chars().all(is_space)).into()),
        "swapcase" => none(args).map(|()| text.chars().flat_map(swapped).collect::<String>().into()),
        "casefold" => none(args).map(|()| text.to_lowercase().replace('ß', "ss").into()),
        "zfill" => one(args).map(|width| zero_filled(text, width).into()),
        "ljust" => filled(text, args, |missing| (0, missing)),
        "rjust" => filled(text, args, |missing| (missing, 0)),
        "center" => filled(text, args, |missing| (missing / 2, missing - missing / 2)),
        "replace" => replace(text, args),
        _ => return None,
    })
}

fn none(args: &[Value]) -> Result<(), Error> {
    from_args(args)
}

fn one<'a, T>(args: &'a [Value]) -> Result<T, Error>
where
    T: minijinja::value::ArgType<'a, Output = T>,
{
    from_args::<(T,)>(args).map(|(arg,)| arg)
}

fn wrong(problem: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, problem)
}

/// Without white space, or the characters that are given, at the start and at the end.
pub(super) fn stripped<'t>(text: &'t str, chars: Option<&str>, (start, end): (bool, bool)) -> &'t str {
    let is_stripped = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let text = if start { text.trim_start_matches(is_stripped) } else { text };
    if end { text.trim_end_matches(is_stripped) } else { text }
}

fn strip(text: &str, args: &[Value], sides: (bool, bool)) -> Result<Value, Error> {
    let (chars,): (Option<&str>,) = from_args(args)?;
    Ok(stripped(text, chars, sides).into())
}

/// At a separator, or at runs of white space; so many times at most, from the start or from the end.
fn split(text: &str, args: &[Value], from_end: bool) -> Result<Value, Error> {
    let (place_sep, place_most, named): (Option<&str>, Option<i64>, Kwargs) = from_args(args)?;
    let separator = place_sep.or(named.get::<Option<&str>>("sep")?);
    let most = place_most.or(named.get("maxsplit")?).unwrap_or(-1);
    named.assert_all_used()?;
    // -1 and other negative numbers are no limit.
    let most = usize::try_from(most).unwrap_or(usize::MAX - 1);
    let parts: Vec<&str> = match (separator, from_end) {
        (Some(""), _) => return Err(wrong("split: an empty separator")),
        (Some(separator), false) => text.splitn(most + 1, separator).collect(),
        (Some(separator), true) => {
            let mut parts: Vec<&str> = text.rsplitn(most + 1, separator).collect();
            parts.reverse();
            parts
        }
        (None, from_end) => words(text, most, from_end),
    };
    Ok(parts.into_iter().collect())
}

/// The words of a text; what is left after so many keeps its inner space.
fn words(text: &str, most: usize, from_end: bool) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = stripped(text, None, (!from_end, from_end));
    while !rest.is_empty() {
        let at = if from_end { rest.rfind(is_space) } else { rest.find(is_space) };
        let Some(at) = at.filter(|_| words.len() < most) else {
            words.push(rest);
            break;
        };
        let after = at + rest[at..].chars().next().map_or(0, char::len_utf8);
        let (word, other) =
            if from_end { (&rest[after..], &rest[..at]) } else { (&rest[..at], &rest[after..]) };
        words.push(word);
        rest = stripped(other, None, (!from_end, from_end));
    }
    if from_end {
        words.reverse();
    }
    words
}

fn split_lines(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (place, named): (Option<bool>, Kwargs) = from_args(args)?;
    let keeps = place.or(named.get("keepends")?).unwrap_or(false);
    named.assert_all_used()?;
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some((at, end)) = rest.char_indices().find(|(_, c)| ends_line(*c)) {
        let length = if rest[at..].starts_with("\r\n") { 2 } else { end.len_utf8() };
        lines.push(&rest[..if keeps { at + length } else { at }]);
        rest = &rest[at + length..];
    }
    lines.extend((!rest.is_empty()).then_some(rest));
    Ok(lines.into_iter().collect())
}

fn partition(text: &str, args: &[Value], from_end: bool) -> Result<Value, Error> {
    let separator: &str = one(args)?;
    if separator.is_empty() {
        return Err(wrong("partition: an empty separator"));
    }
    let at = if from_end { text.rfind(separator) } else { text.find(separator) };
    let parts = match at {
        Some(at) => [&text[..at], separator, &text[at + separator.len()..]],
        None if from_end => ["", "", text],
        None => [text, "", ""],
    };
    Ok(Value::from(Tuple::from(parts.map(Value::from))))
}

/// A place in bytes as one in characters.
fn place(text: &str, at: Option<usize>) -> Result<Value, Error> {
    let at = at.ok_or_else(|| wrong("index: the text has no such part"))?;
    Ok(Value::from(text[..at].chars().count()))
}

fn swapped(c: char) -> Vec<char> {
    if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() }
}

/// Zeros stand between the sign and the digits.
fn zero_filled(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    let sign = usize::from(text.starts_with(['+', '-']));
    format!("{}{}{}", &text[..sign], "0".repeat(missing), &text[sign..])
}

fn filled(text: &str, args: &[Value], sides: fn(usize) -> (usize, usize)) -> Result<Value, Error> {
    let (width, fill): (usize, Option<&str>) = from_args(args)?;
    let fill = fill.unwrap_or(" ");
    if fill.chars().count() != 1 {
        return Err(wrong("a text is filled with one character"));
    }
    let (before, after) = sides(width.saturating_sub(text.chars().count()));
    Ok(format!("{}{text}{}", fill.repeat(before), fill.repeat(after)).into())
}

fn replace(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (old, new, place, named): (&str, &str, Option<i64>, Kwargs) = from_args(args)?;
    let most = place.or(named.get("count")?).unwrap_or(-1);
    named.assert_all_used()?;
    Ok(match usize::try_from(most) {
        Ok(most) => text.replacen(old, new, most),
        Err(_) => text.replace(old, new),
    }
    .into())
}
