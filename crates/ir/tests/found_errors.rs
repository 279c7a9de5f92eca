//! What a graph refuses of extents that only the run finds: where they must be known before, and outside of their
//! turns.

use pumice_ir::{GraphBuilder, Value, f32, i32};
use pumice_types::{DType, DimExpr};

/// What only the run finds is refused where it must be known before, and each condition names its node once.
#[test]
fn what_the_run_finds_is_not_known_before() {
    type Wrong = fn(&GraphBuilder, Value, DimExpr);
    let cases: [(Wrong, &str); 5] = [
        (
            |g, _, n| g.output("y", g.input("s", f32([n]))),
            "s (input): an extent of an input is n, which only the run finds; it must be known before, at ",
        ),
        (
            |g, _, n| g.output("y", g.scalar_advancing("t", 0, 9, 0, n)),
            "t (scalar): what a scalar advances by is n, which only the run finds; it must be known before, at ",
        ),
        (
            |g, x, n| g.output("y", g.reshape_to(x, vec![n])),
            "reshape: number of elements: 7 must be n, which only the run finds, at ",
        ),
        (
            |g, x, _| {
                let never = |g: &GraphBuilder| g.constant_scalar(DType::Bool, 0.0);
                g.output("y", g.while_(u64::MAX, [x], |g, _| never(g), |_, x| x)[0]);
            },
            "while: attribute `most`: 18446744073709551615 turns, not 1 to 16777216, at ",
        ),
        (
            |g, x, _| {
                let never = |g: &GraphBuilder| g.constant_scalar(DType::Bool, 0.0);
                g.output("y", g.while_((1 << 24) + 1, [x], |g, _| never(g), |_, x| x)[0]);
            },
            "while: attribute `most`: 16777217 turns, not 1 to 16777216, at ",
        ),
    ];
    for (wrong, expected) in cases {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([7]));
        let n = g.named("n").extent_of(g.input("count", i32::<u64>([])), 0..=7);
        wrong(&g, x, n);
        let errors = g.build().expect_err(expected).to_string();
        let shown = errors.lines().nth(1).unwrap_or_default().trim_start();
        assert!(shown.starts_with(expected) && shown.contains("found_errors.rs"), "{shown}");
        assert!(!shown.contains("reshape: reshape"), "{shown}");
    }
}

/// What a turn of one loop finds is not there in another: the plan of such a graph was wrong.
#[test]
fn what_one_loop_finds_is_no_extent_in_another() {
    let g = GraphBuilder::new("g");
    let (x, one) = (g.input("x", f32([7])), g.constant_scalar(DType::I32, 1.0));
    let found = std::cell::RefCell::new(DimExpr::constant(0));
    let below = |g: &GraphBuilder, i: Value| g.less(i, g.constant_scalar(DType::I32, 5.0));
    let [k] = g.while_(
        9,
        [one],
        |g, [i]| below(g, i),
        |g, [i]| {
            let n = g.extent_of(i, 0..=7);
            found.replace(n.clone());
            let rows = g.reduce_sum(g.narrow(x, 0, 0u64, n), &[0], false);
            [g.add(i, g.cast(g.square(rows), DType::I32))]
        },
    );
    let n = found.take();
    let [m] = g.while_(
        9,
        [one],
        |g, [i]| below(g, i),
        |g, [i]| {
            let rows = g.named("foreign").narrow(x, 0, 0u64, n.clone());
            let more = g.mul(g.reduce_sum(rows, &[0], false), g.cast(i, DType::F32));
            [g.add(i, g.cast(more, DType::I32))]
        },
    );
    g.output("k", k);
    g.output("m", m);
    let errors = g.build().expect_err("refused").to_string();
    assert!(errors.contains("what a turn makes is used outside of its loop"), "{errors}");
}
