//! What calls of functions refuse.

use super::mistake;
use pumice_ir::shape::TypeSpec;
use pumice_ir::{FeedKind, Graph, GraphBuilder, OpError, Value, ValueType, f16, f32, i32, sym};
use pumice_types::{DType, DimExpr, SymbolId};

fn function(build: impl FnOnce(&GraphBuilder)) -> Graph {
    let f = GraphBuilder::new("f");
    build(&f);
    f.build().expect("a function")
}

/// A function of rows and columns that adds a row to all, with a weight and a scalar.
fn plain() -> Graph {
    function(|f| {
        let (x, y) = (f.input("x", f32([sym("n", 2..=8), 4.into()])), f.input("y", f32([sym("n", 2..=8)])));
        let (w, s) = (f.param("w", f32([4])), f.scalar("s", f32::<u64>([]), 0.0, 1.0, 0.5));
        f.output("z", f.mul(f.add(x, w), f.unsqueeze(f.mul(y, s), &[1])));
    })
}

fn called(g: &GraphBuilder, types: &[TypeSpec]) -> Value {
    let operands: Vec<Value> =
        types.iter().enumerate().map(|(k, ty)| g.input(&format!("in{k}"), ty.clone())).collect();
    g.call(&plain(), &operands)[0]
}

fn of(g: &GraphBuilder, build: impl FnOnce(&GraphBuilder)) -> Value {
    g.call(&function(build), &[g.input("in", f32([4]))])[0]
}

refuses! {
    calls_with_too_few_operands: |g| called(g, &[f32([3, 4])]) => OpError::Invalid(_),
    calls_with_too_many_operands: |g| called(g, &[f32([3, 4]), f32([3]), f32([3])]) => OpError::Invalid(_),
    calls_with_another_dtype: |g| called(g, &[f16([3, 4]), f32([3])]) => OpError::Invalid(_),
    calls_with_another_rank: |g| called(g, &[f32([3, 4, 1]), f32([3])]) => OpError::Invalid(_),
    calls_with_another_extent: |g| called(g, &[f32([3, 5]), f32([3])]) => OpError::ExtentMismatch { .. },
    calls_with_unlike_bindings: |g| called(g, &[f32([3, 4]), f32([5])]) => OpError::ExtentMismatch { .. },
    calls_below_a_range: |g| called(g, &[f32([1, 4]), f32([1])]) => OpError::ExtentExceeds { .. },
    calls_above_a_range: |g| called(g, &[f32([9, 4]), f32([9])]) => OpError::ExtentExceeds { .. },
    calls_between_multiples: |g| {
        let f = function(|f| {
            let n = sym("n", 0..=16).multiple_of(4);
            f.output("y", f.neg(f.input("x", f32([n]))));
        });
        g.call(&f, &[g.input("in", f32([6]))])[0]
    } => OpError::ExtentMismatch { .. },
    calls_of_a_state: |g| of(g, |f| {
        let (x, s) = (f.input("x", f32([4])), f.state("s", f32([4])));
        f.output("y", f.add(x, f.state_read(s)));
    }) => OpError::Invalid(_),
    calls_of_a_feed: |g| of(g, |f| {
        let (x, s) = (f.input("x", f32([4])), f.state("s", f32([4])));
        f.output("y", x);
        f.feed("y", s, FeedKind::Whole);
    }) => OpError::Invalid(_),
    calls_of_a_stop: |g| of(g, |f| {
        let x = f.input("x", f32([4]));
        f.output("y", f.greater(f.reduce_sum(x, &[0], false), f.constant_scalar(DType::F32, 1.0)));
        f.stop("y");
    }) => OpError::Invalid(_),
    calls_with_a_symbol_that_nothing_binds: |g| {
        let f = GraphBuilder::with_symbols("f", plain().symbols().clone());
        let n = DimExpr::symbol(SymbolId(0));
        f.output("y", f.neg(f.input("x", ValueType::new(DType::F32, [n.clone() + n]))));
        g.call(&f.build().expect("a function"), &[g.input("in", f32([4]))])[0]
    } => OpError::Invalid(_),
    calls_with_another_weight_of_that_name: |g| {
        g.param("w", f32([5]));
        called(g, &[f32([3, 4]), f32([3])])
    } => OpError::Invalid(_),
    calls_with_an_input_of_a_weights_name: |g| {
        g.input("w", f32([4]));
        called(g, &[f32([3, 4]), f32([3])])
    } => OpError::Invalid(_),
    calls_with_another_scalar_of_that_name: |g| {
        g.scalar("s", i32::<u64>([]), 0.0, 1.0, 1.0);
        called(g, &[f32([3, 4]), f32([3])])
    } => OpError::Invalid(_),
}
