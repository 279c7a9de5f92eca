//! Every name that an op has, with what became of it: `docs/op-names.md`, held against the sources. In: the
//! checkout. Out: the rows, and what of them is not so. Never here: printing, and the duties of an op (`op_table`).
//!
//! A row is `| name | state | by |`. `here`: by is an op, or a function of the builder that composes ops. `planner`: no
//! op, by says what does it. `later`: by is the work that brings it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};
use crate::op_table;

/// The committed table.
pub const TABLE: &str = "docs/op-names.md";
const BUILDER_SOURCES: &str = "crates/ir/src/";
/// Works that may bring an op.
const WORKS: [&str; 4] =
    ["Every op", "Found while running", "Gradients and the step", "Every op, second half"];

/// What became of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Here,
    Planner,
    Later,
}

/// A name of OPS.
#[derive(Debug, Serialize)]
pub struct Named {
    /// The section's heading.
    pub section: String,
    pub name: String,
    pub state: State,
    /// The op or the builder's function, the part of the planner, or the work that brings it.
    pub by: String,
    /// How an op that is here is made: the kind of its line in the list, or `composed`.
    pub how: Option<String>,
    #[serde(skip)]
    line: usize,
}

/// What is wrong with a line of the table.
pub type Mistake = (usize, String);

/// The table and its mistakes.
pub fn read(checkout: &Checkout) -> Outcome<(Vec<Named>, Vec<Mistake>)> {
    let mut rows = parse(&checkout.read(TABLE)?)?;
    let ops = op_table::read(checkout)?.into_iter().map(|row| (row.text, row.kind)).collect();
    let mistakes = settle(&mut rows, &ops, &builder_functions(checkout)?);
    Ok((rows, mistakes))
}

fn parse(text: &str) -> Outcome<Vec<Named>> {
    let (mut rows, mut section) = (Vec::new(), String::new());
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.to_owned();
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", name, state, by, ""] = cells[..] else { continue };
        if name == "name" || name.starts_with("---") {
            continue;
        }
        let state = match state {
            "here" => State::Here,
            "planner" => State::Planner,
            "later" => State::Later,
            other => {
                let message = format!("`{other}` is no state: here, planner or later");
                return Err(Failure::Form { path: TABLE.to_owned(), line: index + 1, message });
            }
        };
        let [name, by] = [name, by].map(|cell| cell.trim_matches('`').to_owned());
        rows.push(Named { section: section.clone(), name, state, by, how: None, line: index + 1 });
    }
    Ok(rows)
}

/// Fills in how what is here is made; says which rows are not so, and which ops no row names.
fn settle(rows: &mut [Named], ops: &BTreeMap<String, String>, builder: &BTreeSet<String>) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let mut unnamed: BTreeSet<&String> = ops.keys().collect();
    let mut seen = BTreeSet::new();
    for row in rows {
        let mut wrong = |message: String| mistakes.push((row.line, message));
        if !seen.insert(row.name.clone()) {
            wrong(format!("{} stands twice", row.name));
        }
        match row.state {
            State::Here => {
                unnamed.remove(&row.by);
                let composed = builder.contains(&row.by).then(|| "composed".to_owned());
                row.how = ops.get(&row.by).cloned().or(composed);
                if row.how.is_none() {
                    wrong(format!(
                        "{}: neither an op nor a function of the builder is called `{}`",
                        row.name, row.by
                    ));
                }
            }
            State::Planner => {}
            State::Later => {
                if !WORKS.contains(&row.by.as_str()) {
                    wrong(format!("{}: `{}` is none of {WORKS:?}", row.name, row.by));
                }
                let name = snake(&row.name);
                if ops.contains_key(&name) || builder.contains(&name) {
                    wrong(format!("{}: `{name}` is here, the table says later", row.name));
                }
            }
        }
    }
    mistakes.extend(unnamed.into_iter().map(|op| (1, format!("no row is by the op `{op}`"))));
    mistakes
}

/// `ReduceL1` is `reduce_l1`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before_was_small = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before_was_small {
            out.push('_');
        }
        before_was_small = !c.is_ascii_uppercase();
        out.extend(c.to_lowercase());
    }
    out
}

/// Public functions of `impl GraphBuilder` blocks.
fn builder_functions(checkout: &Checkout) -> Outcome<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let files = checkout.files()?;
    for path in files.iter().filter(|p| p.starts_with(BUILDER_SOURCES) && p.ends_with(".rs")) {
        let mut inside = false;
        for line in checkout.read(path)?.lines() {
            inside = match line {
                "}" => false,
                _ => inside || (line.starts_with("impl") && line.ends_with("GraphBuilder {")),
            };
            let function = line.strip_prefix("    pub fn ").filter(|_| inside);
            let name =
                |f: &str| f.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned);
            found.extend(function.and_then(name));
        }
    }
    Ok(found)
}

/// The table as text, and how many names are where.
pub fn table(rows: &[Named]) -> String {
    let mut text = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            section = &row.section;
            text.push_str(&format!("\n{section}\n"));
        }
        let by = match (row.state, &row.how) {
            (State::Here, Some(how)) => format!("{how:<13}{}", row.by),
            (State::Here, None) => format!("{:<13}{}", "?", row.by),
            (State::Planner, _) => format!("{:<13}{}", "planner", row.by),
            (State::Later, _) => format!("{:<13}{}", "later", row.by),
        };
        text.push_str(&format!("  {:<29} {by}\n", row.name));
    }
    let count = |state| rows.iter().filter(|row| row.state == state).count();
    let [here, planner, later] = [State::Here, State::Planner, State::Later].map(count);
    text.push_str(&format!("\n{} names: {here} here, {planner} of the planner, {later} later\n", rows.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_what_the_sources_have() {
        let checkout = Checkout::find().expect("tests run in the checkout");
        let (rows, mistakes) = read(&checkout).expect("the table is read");
        assert!(mistakes.is_empty(), "{TABLE}: {mistakes:#?}");
        assert!(rows.len() > 270, "{}", rows.len());
    }

    #[test]
    fn rows_that_are_not_so_are_told() {
        let mut rows = parse(
            "## 3.1 A\n\n| name | state | by |\n|---|---|---|\n| Add | here | `add` |\n| Add | planner | x |\n\
             | Sub | here | `sub` |\n| Mse | here | `mse` |\n| ReduceL1 | later | Every op |\n| If | later | Soon |\n",
        )
        .expect("the form is right");
        let ops = ["add", "mul"].map(|op| (op.to_owned(), "elementwise".to_owned())).into();
        let builder = ["mse", "reduce_l1"].map(str::to_owned).into();
        let mistakes = settle(&mut rows, &ops, &builder);
        let lines: Vec<usize> = mistakes.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [6, 7, 9, 10, 1], "{mistakes:#?}");
        assert_eq!(rows[3].how.as_deref(), Some("composed"));
        assert!(parse("| Add | hidden | x |\n").is_err());
    }
}
