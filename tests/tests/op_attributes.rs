//! `docs/op-attributes.md`: of every op its attributes, and the dtypes of its operands and results, as its samples
//! show them. `UPDATE=1` writes it; `cargo xtask ops --table` prints it beside the names. And no attribute is without a
//! sample.

use pumice_ir::{Graph, Node, Op};
use pumice_types::DType;
use std::collections::{BTreeMap, BTreeSet};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/op-attributes.md");

const HEAD: &str = "# Every op with its attributes and dtypes

As the samples of the op list show them: `any` dtype, any `number`, `float` (f32 f16 bf16), `integer`; `ty` is the type that the op states. `UPDATE=1 cargo nextest run -p pumice-tests --test
op_attributes` writes it. Its names are those of `.ir` text; [op-names.md](op-names.md) says what they are called elsewhere.

| op | attributes | dtypes |
|---|---|---|
";

/// Dtypes by name: of operands, and of the results as one.
type Seen = BTreeMap<String, BTreeSet<DType>>;

/// What the samples of an op show of it.
#[derive(Default)]
struct Shown {
    operands: Seen,
    order: Vec<String>,
    results: BTreeSet<DType>,
    /// Attributes that are not at their defaults somewhere.
    written: BTreeSet<&'static str>,
}

impl Shown {
    fn of(name: &str) -> Shown {
        let mut shown = Shown::default();
        for sample in Op::samples(name) {
            let graph = sample.graph.unwrap_or_else(|e| panic!("{name}: {e}"));
            graph.nodes().filter(|(_, n)| n.op.name() == name).for_each(|(_, n)| shown.add(&graph, n));
        }
        shown
    }

    fn add(&mut self, graph: &Graph, node: &Node) {
        self.written.extend(node.op.attrs().into_iter().map(|(name, _)| name));
        let names = node.op.operand_names();
        for (i, v) in node.inputs.iter().enumerate() {
            let Some(name) = names.get(i).or(names.last()) else { continue };
            let Some(v) = v else { continue };
            if !self.operands.contains_key(*name) {
                self.order.push((*name).to_owned());
            }
            self.operands.entry((*name).to_owned()).or_default().insert(graph.ty(*v).dtype());
        }
        self.results.extend(node.outputs.iter().map(|&v| graph.ty(v).dtype()));
    }

    /// `x any, ids i32 i64 → any`.
    fn dtypes(&self) -> String {
        let of =
            |name: &String| format!("{} {}", name.trim_end_matches(['?', '*']), told(&self.operands[name]));
        let operands: Vec<String> = self.order.iter().map(of).collect();
        let space = if operands.is_empty() { "" } else { " " };
        format!("{}{space}→ {}", operands.join(", "), told(&self.results))
    }
}

/// Which dtypes have one name together.
type Group = fn(DType) -> bool;

fn told(dtypes: &BTreeSet<DType>) -> String {
    let groups: [(&str, Group); 4] = [
        ("any", |_| true),
        ("number", |d| d != DType::Bool),
        ("float", DType::is_float),
        ("integer", |d| d != DType::Bool && !d.is_float()),
    ];
    let is = |group: Group| DType::ALL.iter().all(|d| group(*d) == dtypes.contains(d));
    if let Some((name, _)) = groups.iter().find(|(_, group)| is(*group)) {
        return (*name).to_owned();
    }
    let named: Vec<&str> = DType::ALL.into_iter().filter(|d| dtypes.contains(d)).map(DType::name).collect();
    named.join(" ")
}

fn table() -> String {
    let row = |name: &&str| {
        let attributes = Op::attribute_names(name).join(" ");
        format!("| {name} | {attributes} | {} |\n", Shown::of(name).dtypes())
    };
    let mut names = Op::NAMES.to_vec();
    names.sort_unstable();
    names.iter().map(row).fold(HEAD.to_owned(), |text, row| text + &row)
}

#[test]
fn the_table_is_what_samples_show() {
    let table = table();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PATH, &table).expect("written");
    }
    let kept = std::fs::read_to_string(PATH).expect("the table");
    for (kept, now) in kept.lines().zip(table.lines()) {
        assert_eq!(kept, now, "docs/op-attributes.md; UPDATE=1 writes it");
    }
    assert_eq!(kept.lines().count(), table.lines().count(), "docs/op-attributes.md; UPDATE=1 writes it");
}

/// Attributes that no user sets in an op: products are rounded as the options of compiling say, with which the op suite
/// runs every sample; a cache is declared by `GraphBuilder::cache`, a state that is set by name by
/// `GraphBuilder::state_given`.
const NOT_SET: &[(&str, &str)] = &[
    ("matmul", "rounding"),
    ("grouped_matmul", "rounding"),
    ("linear", "rounding"),
    ("conv", "rounding"),
    ("conv_transpose", "rounding"),
    ("attention", "rounding"),
    ("attention_parts", "rounding"),
    ("attention_grad", "rounding"),
    ("state", "capacity_axis"),
    ("state", "given"),
];

#[test]
fn every_attribute_has_a_sample() {
    let mut missing = Vec::new();
    for name in Op::NAMES {
        let shown = Shown::of(name);
        let wanted = Op::attribute_names(name).iter().filter(|a| !shown.written.contains(*a));
        missing.extend(wanted.map(|a| (*name, *a)));
    }
    missing.sort_unstable();
    let mut expected = NOT_SET.to_vec();
    expected.sort_unstable();
    assert_eq!(missing, expected, "attributes that are never at another value than the default");
}
