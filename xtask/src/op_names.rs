//! Every name that an op has, with what became of it: `docs/op-names.md`, held against the sources. In: the
//! checkout. Out: the rows, and what of them is not so. Never here: printing, and the duties of an op (`op_table`).
//!
//! A row is `| name | state | by |`. `here`: by is an op, or a function of the builder that composes ops. `as`: by is
//! names of other rows. `planner`: no op, by says what does it. `later`: by is the work that brings it. Rows of the
//! section [`COMING`] are `| name | attribute | work |`. Attributes and dtypes of ops are those of [`ATTRIBUTES`],
//! which a test of `pumice-tests` holds against op list and samples; attributes of functions are their arguments.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};
use crate::{builder_methods, op_table};

/// The committed table.
pub const TABLE: &str = "docs/op-names.md";
/// Attributes and dtypes of ops, as samples show them.
pub const ATTRIBUTES: &str = "docs/op-attributes.md";
/// The section of attributes that come later.
const COMING: &str = "Attributes that come later";
/// Works that may bring an op.
const WORKS: [&str; 3] = ["Found while running", "Gradients and the step", "Every op, second half"];

/// What became of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Here,
    As,
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
    /// What it can be told.
    pub attributes: Vec<String>,
    /// Of an op, dtypes of operands and results; functions take those of the ops that they are made of.
    pub dtypes: Option<String>,
    /// Attributes that come later, with the work that brings each.
    pub coming: Vec<(String, String)>,
    #[serde(skip)]
    line: usize,
}

/// What is wrong with a line of the table.
pub type Mistake = (usize, String);

/// What the sources have.
struct Sources {
    /// Kinds of ops.
    ops: BTreeMap<String, String>,
    /// Functions of the builder.
    methods: builder_methods::Methods,
    /// Attributes and dtypes of ops.
    shown: BTreeMap<String, (Vec<String>, String)>,
}

impl Sources {
    fn read(checkout: &Checkout) -> Outcome<Sources> {
        Ok(Sources {
            ops: op_table::read(checkout)?.into_iter().map(|row| (row.text, row.kind)).collect(),
            methods: builder_methods::read(checkout)?,
            shown: shown(&checkout.read(ATTRIBUTES)?),
        })
    }

    fn has(&self, name: &str) -> bool {
        self.ops.contains_key(name) || self.methods.contains_key(name)
    }

    /// Fills in how something that is here is made.
    fn fill(&self, row: &mut Named) {
        let composed = self.methods.get(&row.by).map(|_| "composed".to_owned());
        row.how = self.ops.get(&row.by).cloned().or(composed);
        if self.ops.contains_key(&row.by) {
            let (attributes, dtypes) = self.shown.get(&row.by).cloned().unwrap_or_default();
            (row.attributes, row.dtypes) = (attributes, Some(dtypes));
        } else {
            row.attributes = self.methods.get(&row.by).cloned().unwrap_or_default();
        }
    }
}

/// The table and its mistakes.
pub fn read(checkout: &Checkout) -> Outcome<(Vec<Named>, Vec<Mistake>)> {
    let (mut rows, coming) = parse(&checkout.read(TABLE)?)?;
    let sources = Sources::read(checkout)?;
    let mut mistakes = settle(&mut rows, &sources);
    mistakes.extend(come(&mut rows, coming));
    let without = sources.ops.keys().filter(|op| !sources.shown.contains_key(*op));
    mistakes.extend(without.map(|op| (1, format!("{ATTRIBUTES} has no row of the op `{op}`"))));
    Ok((rows, mistakes))
}

/// The cells of a row with three of them; none for heads and other lines.
fn cells(line: &str) -> Option<[&str; 3]> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let ["", a, b, c, ""] = cells[..] else { return None };
    (!matches!(a, "name" | "op") && !a.starts_with("---")).then_some([a, b, c])
}

/// Attributes and dtypes by op.
fn shown(text: &str) -> BTreeMap<String, (Vec<String>, String)> {
    let row = |[op, attributes, dtypes]: [&str; 3]| {
        let attributes = attributes.split_whitespace().map(str::to_owned).collect();
        (op.to_owned(), (attributes, dtypes.to_owned()))
    };
    text.lines().filter_map(cells).map(row).collect()
}

/// An attribute that comes later: the line, and the cells.
type Coming = (usize, [String; 3]);

fn parse(text: &str) -> Outcome<(Vec<Named>, Vec<Coming>)> {
    let (mut rows, mut coming, mut section) = (Vec::new(), Vec::new(), String::new());
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.to_owned();
        }
        let Some(cells) = cells(line) else { continue };
        if section == COMING {
            coming.push((index + 1, cells.map(str::to_owned)));
            continue;
        }
        let [name, state, by] = cells;
        let state = state_of(state).ok_or_else(|| Failure::Form {
            path: TABLE.to_owned(),
            line: index + 1,
            message: format!("`{state}` is no state: here, as, planner or later"),
        })?;
        let [name, by] = [name, by].map(|cell| cell.trim_matches('`').to_owned());
        let (how, attributes, dtypes) = (None, Vec::new(), None);
        let (section, line) = (section.clone(), index + 1);
        rows.push(Named { section, name, state, by, how, attributes, dtypes, coming: Vec::new(), line });
    }
    Ok((rows, coming))
}

fn state_of(word: &str) -> Option<State> {
    Some(match word {
        "here" => State::Here,
        "as" => State::As,
        "planner" => State::Planner,
        "later" => State::Later,
        _ => return None,
    })
}

/// Fills in how what is here is made; says which rows are not so, and which ops no row names.
fn settle(rows: &mut [Named], sources: &Sources) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let mut unnamed: BTreeSet<&String> = sources.ops.keys().collect();
    let names: BTreeSet<String> = rows.iter().map(|row| row.name.clone()).collect();
    let mut seen = BTreeSet::new();
    for row in rows {
        if !seen.insert(row.name.clone()) {
            mistakes.push((row.line, format!("{} stands twice", row.name)));
        }
        if row.state == State::Here {
            unnamed.remove(&row.by);
            sources.fill(row);
        }
        mistakes.extend(wrong(row, &names, sources).map(|message| (row.line, message)));
    }
    mistakes.extend(unnamed.into_iter().map(|op| (1, format!("no row is by the op `{op}`"))));
    mistakes
}

/// What is not so in a row.
fn wrong(row: &Named, names: &BTreeSet<String>, sources: &Sources) -> Option<String> {
    let Named { name, by, .. } = row;
    match row.state {
        State::Here if row.how.is_none() => {
            Some(format!("{name}: neither an op nor a function of the builder is called `{by}`"))
        }
        State::As => {
            let other = by.split(", ").find(|other| other == name || !names.contains(*other))?;
            Some(format!("{name}: there is no other row `{other}`"))
        }
        State::Later if !WORKS.contains(&by.as_str()) => Some(format!("{name}: `{by}` is none of {WORKS:?}")),
        State::Later if sources.has(&snake(name)) => {
            Some(format!("{name}: `{}` is here, the table says later", snake(name)))
        }
        _ => None,
    }
}

/// Puts attributes that come later beside their names, which must be here and not have them.
fn come(rows: &mut [Named], coming: Vec<Coming>) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (line, [name, attribute, work]) in coming {
        let Some(row) = rows.iter_mut().find(|row| row.name == name && row.state == State::Here) else {
            mistakes.push((line, format!("{name} is not here, so no attribute of it comes later")));
            continue;
        };
        if !WORKS.contains(&work.as_str()) {
            mistakes.push((line, format!("{name}: `{work}` is none of {WORKS:?}")));
        }
        // One that is declared and refused counts as later.
        row.attributes.retain(|here| *here != attribute);
        row.coming.push((attribute, work));
    }
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

/// The table as text, and how many names are where.
pub fn table(rows: &[Named]) -> String {
    let mut text = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            section = &row.section;
            text.push_str(&format!("\n{section}\n"));
        }
        text.push_str(&line(row));
    }
    let count = |state| rows.iter().filter(|row| row.state == state).count();
    let [here, other, planner, later] = [State::Here, State::As, State::Planner, State::Later].map(count);
    let all = rows.len();
    text.push_str(&format!(
        "\n{all} names: {here} here, {other} as others, {planner} of the planner, {later} later\n"
    ));
    text
}

/// A row: what does it, its attributes in braces, its dtypes; and below it what comes later.
fn line(row: &Named) -> String {
    let how = match row.state {
        State::Here => row.how.as_deref().unwrap_or("?"),
        State::As => "as",
        State::Planner => "planner",
        State::Later => "later",
    };
    let mut text = format!("  {:<29} {how:<13}{}", row.name, row.by);
    if !row.attributes.is_empty() {
        text.push_str(&format!(" {{{}}}", row.attributes.join(", ")));
    }
    let composed = (row.how.as_deref() == Some("composed")).then_some("dtypes of its ops");
    if let Some(dtypes) = row.dtypes.as_deref().or(composed) {
        text.push_str(&format!("  {dtypes}"));
    }
    text.push('\n');
    for (attribute, work) in &row.coming {
        text.push_str(&format!("  {:<29} later        {attribute}: {work}\n", ""));
    }
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
        let (mut rows, coming) = parse(
            "## 3.1 A\n\n| name | state | by |\n|---|---|---|\n| Add | here | `add` |\n| Add | planner | x |\n\
             | Sub | here | `sub` |\n| Mse | here | `mse` |\n| ReduceL1 | later | Every op, second half |\n| If | later | Soon |\n\
             | Plus | as | Add |\n| Minus | as | Add, Less |\n\n## Attributes that come later\n\n\
             | name | attribute | work |\n|---|---|---|\n| Mse | sums | Gradients and the step |\n| If | when | Gradients and the step |\n",
        )
        .expect("the form is right");
        let shown =
            shown("| op | attributes | dtypes |\n|---|---|---|\n| add | by to | x any \u{2192} any |\n");
        let sources = Sources {
            ops: ["add", "mul"].map(|op| (op.to_owned(), "elementwise".to_owned())).into(),
            methods: ["mse", "reduce_l1"].map(|f| (f.to_owned(), vec!["sums".to_owned()])).into(),
            shown,
        };
        let mut mistakes = settle(&mut rows, &sources);
        mistakes.extend(come(&mut rows, coming));
        let lines: Vec<usize> = mistakes.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [6, 7, 9, 10, 12, 1, 19], "{mistakes:#?}");
        assert_eq!(rows[3].how.as_deref(), Some("composed"));
        let told = line(&rows[3]);
        assert!(told.contains("sums: Gradients and the step") && !told.contains("{sums}"), "{told}");
        assert!(line(&rows[0]).contains("elementwise  add {by, to}  x any"), "{}", line(&rows[0]));
        assert!(parse("| Add | hidden | x |\n").is_err());
    }
}
