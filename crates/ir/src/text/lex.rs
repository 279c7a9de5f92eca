//! Text to tokens.

use std::fmt;

/// A place in the text, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Text that is not a graph.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct TextError {
    /// Where.
    pub at: Position,
    /// What is wrong.
    pub message: String,
}

pumice_types::debug_as_display!(TextError);

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Quoted(String),
    Hex(Vec<u8>),
    Int(i64),
    Float(f64),
    Punct(&'static str),
    End,
}

const PUNCT: [&str; 19] =
    ["..=", "->", "{", "}", "(", ")", "[", "]", ",", ":", "=", "+", "-", "*", "$", "_", ".", "/", ";"];

/// The most tokens of a text: each takes some 40 bytes, whatever it takes in the text. The data of a constant is one.
const MOST_TOKENS: usize = 1 << 22;

/// All tokens with their places; comments run from `//` to the end of the line.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, Position)>, TextError> {
    let mut lexer = Lexer { rest: text, at: Position { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space();
        let at = lexer.at;
        let token = lexer.next()?;
        let end = token == Token::End;
        if tokens.len() == MOST_TOKENS {
            return lexer.error(format!("the text has more than {MOST_TOKENS} words and signs"));
        }
        tokens.push((token, at));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    rest: &'t str,
    at: Position,
}

impl<'t> Lexer<'t> {
    fn advance(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        for c in taken.chars() {
            if c == '\n' {
                self.at = Position { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn skip_space(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        Err(TextError { at: self.at, message: message.into() })
    }

    fn next(&mut self) -> Result<Token, TextError> {
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        if self.rest.starts_with("x\"") {
            return self.hex();
        }
        if first == '"' {
            return self.quoted();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            return Ok(if word == "_" { Token::Punct("_") } else { Token::Word(word.to_owned()) });
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        for p in PUNCT {
            if self.rest.starts_with(p) {
                self.advance(p.len());
                return Ok(Token::Punct(p));
            }
        }
        self.error(format!("unexpected character {first:?}"))
    }

    fn number(&mut self) -> Result<Token, TextError> {
        let mut end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let mut is_float = false;
        let tail = |end: usize| &self.rest[end..];
        // `1..=4` is a range, not a float.
        if tail(end).starts_with('.') && !tail(end).starts_with("..") {
            is_float = true;
            end += 1;
            end += tail(end).find(|c: char| !c.is_ascii_digit()).unwrap_or(tail(end).len());
        }
        if tail(end).starts_with(['e', 'E']) {
            is_float = true;
            end += 1;
            if tail(end).starts_with(['+', '-']) {
                end += 1;
            }
            end += tail(end).find(|c: char| !c.is_ascii_digit()).unwrap_or(tail(end).len());
        }
        let text = &self.rest[..end];
        let token = if is_float {
            text.parse().map(Token::Float).ok()
        } else {
            // i64::MIN is written as -9223372036854775808: its magnitude wraps to the same bits.
            text.parse::<u64>().ok().filter(|&v| v <= 1 << 63).map(|v| Token::Int(v as i64))
        };
        match token {
            Some(token) => {
                self.advance(end);
                Ok(token)
            }
            None => self.error(format!("{text} is not a number that can be held")),
        }
    }

    fn quoted(&mut self) -> Result<Token, TextError> {
        let start = self.at;
        self.advance(1);
        let mut out = String::new();
        loop {
            let Some(c) = self.rest.chars().next() else {
                return Err(TextError { at: start, message: "the string does not end".into() });
            };
            self.advance(c.len_utf8());
            match c {
                '"' => return Ok(Token::Quoted(out)),
                '\\' => out.push(self.escape()?),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, TextError> {
        let Some(c) = self.rest.chars().next() else { return self.error("the string does not end") };
        self.advance(c.len_utf8());
        match c {
            'n' => Ok('\n'),
            '"' | '\\' => Ok(c),
            'u' => {
                let digits = self.take_while(|c| c == '{' || c.is_ascii_hexdigit());
                let code =
                    u32::from_str_radix(digits.trim_start_matches('{'), 16).ok().and_then(char::from_u32);
                if !self.rest.starts_with('}') {
                    return self.error("\\u{…} does not end");
                }
                self.advance(1);
                code.map_or_else(|| self.error("not a character"), Ok)
            }
            c => self.error(format!("unknown escape \\{c}")),
        }
    }

    fn hex(&mut self) -> Result<Token, TextError> {
        self.advance(2);
        let digits = self.take_while(|c| c.is_ascii_hexdigit());
        if !self.rest.starts_with('"') || !digits.len().is_multiple_of(2) {
            return self.error("data in x\"…\" is pairs of hexadecimal digits");
        }
        self.advance(1);
        let byte = |pair: &[u8]| {
            let nibble = |d: u8| (d as char).to_digit(16).unwrap_or(0) as u8;
            nibble(pair[0]) << 4 | nibble(pair[1])
        };
        Ok(Token::Hex(digits.as_bytes().chunks_exact(2).map(byte).collect()))
    }
}
