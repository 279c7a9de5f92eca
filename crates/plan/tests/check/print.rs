//! What people see of a plan.

use crate::plans;
use pumice_plan::Segment;
use pumice_plan::diff::{Difference, diff};
use pumice_plan::hist::histogram;
use pumice_plan::print::summary;
use pumice_types::{Branch, DimExpr, SymbolId, When};

#[test]
fn a_plan_prints_as_people_read_it() {
    let text = plans::everything().to_string();
    println!("{text}");
    for line in [
        "plan sketch  target lavapipe  precision exact  placement packed",
        "symbols  n=1..=4",
        "scalar pos  i32  0..=100  default 0  advances by 1",
        "run 0  n=1..=4",
        "frame  0:4*n  1:ceildiv(4*n, 1024)  2:1  3:1  4:$pos  5:_  advance of 2 instructions",
        "level 1  1 step  1 barrier before",
        "  s3  elementwise_flat.plain [body]   a@scratch+0x0:64  b@scratch+0x100:64 -> c@scratch+0x200:64   grid frame[1]  origin sum",
        "level 3  1 step  segment 1 host",
    ] {
        assert!(text.lines().any(|l| l == line), "no line `{line}`");
    }
}

#[test]
fn a_summary_fits_one_screen() {
    let text = summary(&plans::chain(300));
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.contains("300"), "{text}");
}

#[test]
fn a_histogram_counts_every_step() {
    let all = histogram(&plans::everything());
    assert_eq!(
        all.iter().map(|h| (h.range.as_str(), h.steps())).collect::<Vec<_>>(),
        [("load", 1), ("stream of t", 2), ("n=1..=4", 11)]
    );
    assert_eq!(
        (all[2].kernels[0].label.as_str(), all[2].kernels[0].steps),
        ("elementwise_flat.plain [body]", 7)
    );
}

#[test]
fn differences_are_named() {
    let (a, mut b) = (plans::everything(), plans::everything());
    assert_eq!(diff(&a, &b), []);
    b.runs[0].program.steps[3].uses[0].span.offset.0 += 256;
    let found: Vec<String> = diff(&a, &b).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("~ n=1..=4: sum elementwise_flat.plain [body], spans: "), "{found:?}");
    b.runs[0].ranges = vec![(1, 3)];
    assert!(diff(&a, &b).contains(&Difference::Added { what: "run n=1..=3".into() }));
    let mut c = plans::everything();
    c.runs[0].checks.push(pumice_plan::RunCheck {
        value: 1u64.into(),
        min: 0,
        max: 1,
        what: "one".into(),
        sides: None,
    });
    assert_eq!(diff(&a, &c).len(), 1);
}

#[test]
fn branches_and_loops_are_named() {
    let (a, mut b) = (plans::everything(), plans::everything());
    let n = SymbolId(0);
    b.runs[0].program.steps[3].when = When::all(vec![Branch { taken: DimExpr::symbol(n), otherwise: true }]);
    let Segment::Gpu { levels } = b.runs[0].program.segments[0].clone() else { panic!("another segment") };
    b.runs[0].program.segments[0] =
        Segment::Repeat { levels: levels.clone(), turns: 7, running: n, count: None };
    let found: Vec<String> = diff(&a, &b).iter().map(ToString::to_string).collect();
    let loops = format!("levels {}..{} at most 7 turns while n", levels.start, levels.end);
    let wanted = [
        format!("~ n=1..=4: loops: none -> {loops}"),
        "~ n=1..=4: sum elementwise_flat.plain [body], when: always -> not n".to_owned(),
    ];
    assert_eq!(found, wanted);
    let text = b.to_string();
    assert!(text.contains("segment 0, at most 7 turns while n") && text.contains("  when not n  origin sum"));
}
