//! The op x duty table, read from the files. In: the checkout. Out: one row per op, each duty with where it is
//! done or what would do it. Never here: a compiler; the table can be read while nothing compiles.
//!
//! A duty is done by a file named after the op, by what the op's kind says (an elementwise op needs no lowering of its
//! own), or by a mark in another file of the folder: a macro call outside any function that names the op's type, or an
//! `impl ... for` that type. The table shows `file`, the kind, the macro's name, or that file's.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};
use crate::tidy::{Source, Token};

/// The one list of ops.
pub const OP_LIST: &str = "crates/ir/src/ops/mod.rs";
const OP_FOLDER: &str = "crates/ir/src/ops";

const REFERENCE_FOLDER: &str = "crates/cpu-ref/src/ops";
const LOWERING_FOLDER: &str = "crates/compile/src/lower";
/// The kind of ops that have a lowering of their own.
const LOWERED: &str = "lowered";
/// The kind of ops that map elements to elements.
const ELEMENTWISE: &str = "elementwise";
/// The kind of ops that are defined by other ops.
const COMPOSITE: &str = "composite";

/// One op with its duties.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Type name, as in `Op::Name`.
    pub name: String,
    /// Name in `.ir` text.
    pub text: String,
    /// File name without `.rs`.
    pub file: String,
    /// Heading of its group in the list.
    pub section: String,
    /// Folder of its group.
    pub folder: String,
    /// What it is to lowering.
    pub kind: String,
    /// Line in the list.
    pub line: usize,
    /// Every duty, in the table's column order.
    pub duties: Vec<Duty>,
}

/// One cell.
#[derive(Debug, Serialize)]
pub struct Duty {
    /// The column.
    pub name: &'static str,
    /// `file` or the mark's macro; `None` is a hole.
    pub by: Option<String>,
    /// What would fill the hole.
    pub how: String,
}

impl Row {
    /// Duties that nothing does, each with what would.
    pub fn holes(&self) -> Vec<(&'static str, &str)> {
        self.duties
            .iter()
            .filter(|duty| duty.by.is_none())
            .map(|duty| (duty.name, duty.how.as_str()))
            .collect()
    }
}

impl Row {
    /// What its declaration says: that it is there, its samples, and what a composite op is made of.
    fn declaration(&mut self, path: &str, source: Option<&Source>) {
        let file = |there: bool| there.then(|| "file".to_owned());
        let how = |what: &str| format!("{what} {path}");
        self.duties.push(Duty { name: "declaration", by: file(source.is_some()), how: how("write") });
        let by = source.and_then(samples);
        self.duties.push(Duty { name: "samples", by, how: how("fn samples in") });
        let expands = source.is_some_and(|source| has_function(source, "expand"));
        let kept = (self.kind != COMPOSITE).then(|| "kept".to_owned());
        self.duties.push(Duty { name: "expansion", by: file(expands).or(kept), how: how("fn expand in") });
        let by = source.map(|source| gradient(source, &self.kind));
        self.duties.push(Duty { name: "gradient", by, how: how("const GRAD in") });
    }
}

/// Reads the list and looks for each duty of each op.
pub fn read(checkout: &Checkout) -> Outcome<Vec<Row>> {
    let files = checkout.files()?;
    let mut rows = listed(&checkout.read(OP_LIST)?);
    if rows.is_empty() {
        let message = "for_each_op! lists no op (`file Type \"name\" kind;` per line)".to_owned();
        return Err(Failure::Form { path: OP_LIST.to_owned(), line: 1, message });
    }
    let references = marks(checkout, &files, REFERENCE_FOLDER)?;
    let lowerings = marks(checkout, &files, LOWERING_FOLDER)?;
    for row in &mut rows {
        let path = format!("{OP_FOLDER}/{}/{}.rs", row.folder, row.file);
        let source = match files.contains(&path) {
            true => Some(Source::parse(&path, checkout.read(&path)?)?),
            false => None,
        };
        row.declaration(&path, source.as_ref());
        let path = format!("{REFERENCE_FOLDER}/{}/{}.rs", row.folder, row.file);
        let by = files.contains(&path).then(|| "file".to_owned());
        let by = by.or_else(|| references.get(&row.name).cloned());
        row.duties.push(Duty { name: "reference", by, how: format!("write {path}") });
        let path = format!("{LOWERING_FOLDER}/{}.rs", row.file);
        let by = files.contains(&path).then(|| "file".to_owned());
        let by = by.or_else(|| lowerings.get(&row.name).cloned());
        let by = if row.kind == LOWERED { by } else { Some(row.kind.clone()) };
        let how = format!("write {path}, or another kind in {OP_LIST}");
        row.duties.push(Duty { name: "lowering", by, how });
    }
    Ok(rows)
}

/// The lines of `for_each_op!`: `file Type "name" kind;` in groups `folder { ... }` under comments that head them. A
/// mark may follow the kind.
fn listed(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut section, mut folder) = (String::new(), String::new());
    let lines = text.lines().enumerate().skip_while(|(_, line)| !line.contains("macro_rules! for_each_op"));
    for (index, line) in lines.take_while(|(_, line)| *line != "}") {
        if let Some(title) = line.trim().strip_prefix("// ") {
            section = title.to_owned();
        }
        if let Some(name) = line.trim().strip_suffix(" {") {
            folder = name.to_owned();
        }
        let words: Vec<&str> = line.trim().strip_suffix(';').unwrap_or("").split_whitespace().collect();
        if let [file, name, text, kind, ..] = words[..]
            && text.starts_with('"')
            && text.ends_with('"')
        {
            rows.push(Row {
                name: name.to_owned(),
                text: text.trim_matches('"').to_owned(),
                file: file.trim_start_matches("r#").to_owned(),
                section: section.clone(),
                folder: folder.clone(),
                kind: kind.to_owned(),
                line: index + 1,
                duties: Vec::new(),
            });
        }
    }
    rows
}

/// How a declaration gives its samples: its own function, or the macro that declares the whole op.
fn samples(source: &Source) -> Option<String> {
    let words: Vec<&str> = source.tokens.iter().map(|token| token.text.as_str()).collect();
    if let Some(at) = words.windows(2).position(|pair| pair == ["fn", "samples"]) {
        let body: Vec<&str> = words[at..].iter().skip_while(|word| **word != "{").take(5).copied().collect();
        let empty = body.starts_with(&["{", "Vec", ":", ":", "new"])
            || body.starts_with(&["{", "vec", "!", "[", "]"]);
        return (!empty).then(|| "file".to_owned());
    }
    let calls = item_macros(&source.tokens);
    calls.into_iter().map(|(name, _)| name).find(|name| name != "op").map(|name| format!("{name}!"))
}

/// How an op says that gradients pass it: the word after `Grad::` (`rule`, `scalar`, `expansion`, `zero`, `no`), or
/// what the macro that declares it says for all.
fn gradient(source: &Source, kind: &str) -> String {
    let words: Vec<&str> = source.tokens.iter().map(|token| token.text.as_str()).collect();
    let stated = words.iter().position(|word| *word == "GRAD" || *word == "grad");
    let kinds = ["Rule", "Scalar", "Expansion", "Zero", "No"];
    let said = stated.and_then(|at| words[at..].iter().take(24).find(|word| kinds.contains(word)));
    match said {
        Some(word) => word.to_lowercase(),
        None if kind == ELEMENTWISE => "scalar".to_owned(),
        None if has_function(source, "rule") => "rule".to_owned(),
        None => "macro".to_owned(),
    }
}

/// Whether a file has a function of that name.
fn has_function(source: &Source, name: &str) -> bool {
    source.tokens.windows(2).any(|pair| pair[0].text == "fn" && pair[1].text == name)
}

/// Type names inside the item-level macro calls of a folder (and of the file that is its parent module).
fn marks(checkout: &Checkout, files: &[String], folder: &str) -> Outcome<BTreeMap<String, String>> {
    let mut marks = BTreeMap::new();
    let inside = format!("{folder}/");
    let parent = format!("{folder}.rs");
    for path in
        files.iter().filter(|path| path.ends_with(".rs") && (path.starts_with(&inside) || **path == parent))
    {
        let source = Source::parse(path, checkout.read(path)?)?;
        for (name, words) in item_macros(&source.tokens) {
            for word in words {
                marks.entry(word).or_insert_with(|| format!("{name}!"));
            }
        }
        for name in implemented_types(&source.tokens) {
            let file = path.rsplit('/').next().unwrap_or(path);
            marks.entry(name).or_insert_with(|| file.to_owned());
        }
    }
    Ok(marks)
}

/// Macro calls outside any item: the macro's name and the words it was given.
fn item_macros(tokens: &[Token]) -> Vec<(String, Vec<String>)> {
    let mut calls = Vec::new();
    for (index, three) in tokens.windows(3).enumerate() {
        let opens = matches!(three[2].text.as_str(), "(" | "{" | "[");
        if three[0].depth == 0 && three[0].is_word && three[1].text == "!" && opens {
            let inside = tokens[index + 3..].iter().take_while(|token| token.depth > 0);
            let words = inside.filter(|token| token.is_word).map(|token| token.text.clone());
            calls.push((three[0].text.clone(), words.collect()));
        }
    }
    calls
}

/// Last words of the paths in `impl ... for path {` outside any item.
fn implemented_types(tokens: &[Token]) -> Vec<String> {
    let outside = |at: &usize| tokens[*at].depth == 0 && tokens[*at].text == "for";
    let path = |at: usize| tokens[at + 1..].iter().take_while(|token| token.is_word || token.text == ":");
    (0..tokens.len())
        .filter(outside)
        .filter_map(|at| path(at).last().map(|token| token.text.clone()))
        .collect()
}

/// The table as text: a line per op, a heading per group, a count at the end.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            section = &row.section;
            let mut heading = format!("\n{:<24}", section.chars().take(23).collect::<String>());
            for duty in &row.duties {
                heading.push_str(&format!("{:<15}", duty.name));
            }
            text.push_str(heading.trim_end());
            text.push('\n');
        }
        let mut line = format!("  {:<22}", row.name);
        for duty in &row.duties {
            line.push_str(&format!("{:<15}", duty.by.as_deref().unwrap_or("-- HOLE --")));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let holes: usize = rows.iter().map(|row| row.holes().len()).sum();
    text.push_str(&format!(
        "\n{} ops, {} duties, {holes} holes\n",
        rows.len(),
        rows.iter().map(|row| row.duties.len()).sum::<usize>()
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_with_its_groups() {
        let text = "#[macro_export]\nmacro_rules! for_each_op {\n  ($m:ident) => {\n    $m! {\n      // 2 Leaves\n      control {\n      input Input \"input\" leaf;\n      }\n      // 3.1 Elementwise\n      elementwise {\n      add Add \"add\" elementwise;\n      slice Slice \"slice\" lowered boxed;\n      }\n    }\n  };\n}\nnot Here \"no\";\n";
        let rows = listed(text);
        let seen: Vec<_> = rows.iter().map(|r| (r.name.as_str(), r.section.as_str(), r.line)).collect();
        assert_eq!(
            seen,
            [("Input", "2 Leaves", 7), ("Add", "3.1 Elementwise", 11), ("Slice", "3.1 Elementwise", 12)]
        );
        let kinds: Vec<_> = rows.iter().map(|r| (r.folder.as_str(), r.kind.as_str())).collect();
        assert_eq!(kinds, [("control", "leaf"), ("elementwise", "elementwise"), ("elementwise", "lowered")]);
    }

    #[test]
    fn marks_stand_outside_functions() {
        let text = "keep!(Add, Mul);\nfn f() { host!(Sub); }\ncrate::host! { Fft }\n";
        let source = Source::parse("crates/opt/src/decompose/mod.rs", text.to_owned()).expect("Rust");
        let calls = item_macros(&source.tokens);
        assert_eq!(calls[0], ("keep".to_owned(), vec!["Add".to_owned(), "Mul".to_owned()]));
        assert_eq!(calls[1], ("host".to_owned(), vec!["Fft".to_owned()]));
        assert_eq!(calls.len(), 2);
    }

    #[test]
    fn implementations_are_seen_by_their_last_word() {
        let text =
            "impl Lower for pumice_ir::ops::ArgMax { fn f() { for x in y {} } }\nimpl Lower for Sub {}\n";
        let source = Source::parse("crates/compile/src/lower/mod.rs", text.to_owned()).expect("Rust");
        assert_eq!(implemented_types(&source.tokens), ["ArgMax", "Sub"]);
    }

    #[test]
    fn empty_samples_are_a_hole() {
        let parse = |text: &str| Source::parse("crates/ir/src/ops/x.rs", text.to_owned()).expect("Rust");
        assert_eq!(samples(&parse("fn samples() -> Vec<Sample> { Vec::new() }")), None);
        assert_eq!(samples(&parse("crate::op! { struct X {} }")), None);
        assert_eq!(samples(&parse("unary! { X x }")).as_deref(), Some("unary!"));
        assert_eq!(samples(&parse("fn samples() -> Vec<Sample> { vec![case()] }")).as_deref(), Some("file"));
    }
}
