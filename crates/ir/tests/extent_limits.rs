//! Extents that grow without bound: a text of 2,099 bytes whose minima were multiplied from node to node took 3.9 GB.

use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::state::FeedKind;
use pumice_ir::{BuildError, GraphBuilder, OpError, Value, f32, i32, sym, text};
use pumice_types::DimExpr;
use std::fmt::Write;

/// Ten minima that no arithmetic puts together.
fn sum_of_minima(s: &DimExpr) -> DimExpr {
    (2u64..12).map(|n| s.min_with(&n.into())).fold(DimExpr::constant(1), |sum, m| sum + m)
}

/// The first mistake of a graph.
fn mistake(build: impl FnOnce(&GraphBuilder, DimExpr) -> Value) -> BuildError {
    let g = GraphBuilder::new("grows");
    let x = g.input("x", f32([sym("s", 1..=64)]));
    let y = build(&g, g.dim_of(x, 0));
    g.output("y", y);
    g.build().expect_err("the graph is refused").0.remove(0).error
}

fn is_too_large(error: &BuildError) -> bool {
    matches!(error, BuildError::Op { source: OpError::ExtentTooLarge { most: DimExpr::MOST_ATOMS, .. }, .. })
}

#[test]
fn the_builder_refuses_an_extent_beyond_the_limit_by_its_node() {
    let squared = mistake(|g, s| {
        let e = sum_of_minima(&s);
        g.input("wide", f32([&e * &e * &e * &e]))
    });
    assert!(is_too_large(&squared), "{squared}");
    assert!(squared.to_string().contains("an extent that it is given has more than 1024"), "{squared}");
    let attribute = mistake(|g, s| {
        let e = sum_of_minima(&s);
        g.expand_to(g.input("one", f32([1u64])), vec![&e * &e * &e * &e])
    });
    assert!(is_too_large(&attribute), "{attribute}");
    // Every extent is small; strides and sizes would be their product.
    let product = mistake(|g, s| g.input("deep", f32([(); 4].map(|()| sum_of_minima(&s)))));
    assert!(is_too_large(&product), "{product}");
    // Inference multiplies extents from node to node.
    let inferred = mistake(|g, s| {
        let x = g.input("a", f32([sum_of_minima(&s)]));
        (0..12).fold(x, |x, _| g.reshape(g.mul(g.unsqueeze(x, &[0]), g.unsqueeze(x, &[1])), &[-1]))
    });
    assert!(is_too_large(&inferred), "{inferred}");
}

#[test]
fn a_feed_refuses_it_too() {
    let g = GraphBuilder::new("fed");
    let x = g.input("x", f32([sym("s", 1..=8)]));
    let e = sum_of_minima(&g.dim_of(x, 0));
    let state = g.state("state", f32([8u64]));
    let at = g.input("at", i32::<u64>([]));
    g.kv_append(g.state("other", f32([8u64])), x, at, 0, AppendMode::Linear);
    g.output("y", x);
    g.feed("y", state, FeedKind::Prefix { axis: 0, len: &e * &e * &e * &e });
    let error = g.build().expect_err("the feed is refused").to_string();
    assert!(error.contains("more than 1024 variables and operations"), "{error}");
}

fn refused(body: &str) -> String {
    text::read(&format!("graph g {{\n  symbol s = 1..=64\n{body}}}\n")).expect_err("refused").to_string()
}

#[test]
fn a_text_is_refused_with_the_place() {
    let sum = |n: u64| (2..2 + n).map(|i| format!("min(s, {i})")).collect::<Vec<_>>().join(" + ");
    // A minimum of a sum is one factor; six of them are one term.
    let factor = format!("min({}, 99)", sum(100));
    let product = vec![factor; 6].join("*");
    let error = refused(&format!("  x: f32[{product}] = input()\n"));
    assert!(error.starts_with("3:") && error.contains("more than 1024"), "{error}");
    let quotient = refused("  x: f32[floordiv(0, 0)] = input()\n");
    assert!(quotient.contains("divides 0 by 0"), "{quotient}");
}

/// Each value is within the limit, all of them together are not: 90 KB would have taken 500 MB.
#[test]
fn a_text_of_many_large_extents_is_refused_before_they_take_memory() {
    let sum = (2..400).map(|i| format!("min(s, {i})")).collect::<Vec<_>>().join(" + ");
    let mut body = format!("  a: f32[{sum}] = input()\n");
    for i in 0..6000 {
        let before = if i == 0 { "a".to_owned() } else { format!("n{}", i - 1) };
        writeln!(body, "  n{i} = neg({before})").expect("text");
    }
    let error = refused(&body);
    assert!(error.contains("than a graph of this size is read with"), "{error}");
}
