//! What a method of the builder needs of symbols is a condition of its graph, whether or not one of its nodes needs it,
//! and stands in `.ir` text.

use pumice_ir::ops::dot_general::DotGeneral;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::text::{print, read};
use pumice_ir::{Graph, GraphBuilder, f32, i32, sym};

fn graph(make: impl FnOnce(&GraphBuilder)) -> Graph {
    let g = GraphBuilder::new("g");
    make(&g);
    g.build().expect("the graph is right")
}

/// The conditions as text, in order.
fn conditions(graph: &Graph) -> Vec<String> {
    let shown = |d| pumice_ir::shape::display_dim(d, graph.symbols()).to_string();
    let mut all: Vec<String> = graph
        .constraints()
        .iter()
        .map(|c| format!("{} {} {}: {}", shown(&c.left), c.relation.name(), shown(&c.right), c.what))
        .collect();
    all.sort();
    all
}

fn holds(graph: &Graph, wanted: &[&str]) {
    let found = conditions(graph);
    for wanted in wanted {
        assert!(found.iter().any(|c| c == wanted), "{wanted} is not in {found:#?}");
    }
    let text = print(graph);
    let back = read(&text).expect("the text is read back");
    assert_eq!(conditions(&back), found, "{text}");
    assert_eq!(print(&back), text);
}

#[test]
fn as_many_targets_as_cases_and_a_weight_for_each_class() {
    let [n, c, m, k] = ["n", "c", "m", "k"].map(|name| sym(name, 2..=9));
    let graph = graph(|g| {
        let logp = g.input("logp", f32([n, c]));
        let target = g.input("target", i32([m]));
        let weight = g.input("weight", f32([k]));
        g.output("loss", g.nll_loss(logp, target, Some(weight), NllLoss::default()).0);
    });
    holds(
        &graph,
        &[
            "n equal m: nll_loss: axis 0 of `logp` and of `target`",
            "c equal k: nll_loss: classes of `logp` and of `class_weight`",
        ],
    );
}

#[test]
fn contracted_axes_are_equal_one_by_one() {
    let [p, q, r, s] = ["p", "q", "r", "s"].map(|name| sym(name, 2..=9));
    let graph = graph(|g| {
        let a = g.input("a", f32([p, q, 7.into()]));
        let b = g.input("b", f32([r, s, 5.into()]));
        let op =
            DotGeneral { lhs_contracting: vec![0, 1], rhs_contracting: vec![0, 1], ..DotGeneral::default() };
        g.output("y", g.named("pairs").dot_general(a, b, op));
    });
    let what = "pairs (dot_general): axes of `lhs` and `rhs` that go together";
    holds(&graph, &[&format!("p equal r: {what}"), &format!("q equal s: {what}")]);
}

#[test]
fn distances_of_all_pairs_are_square() {
    let [n, m] = ["n", "m"].map(|name| sym(name, 4..=9));
    let graph = graph(|g| {
        let (distances, _) = g.knn_from_pairwise(g.input("d", f32([n, m])), 3);
        g.output("y", distances);
    });
    holds(&graph, &["n equal m: knn_from_pairwise: rows and columns of the distances of all pairs"]);
}
