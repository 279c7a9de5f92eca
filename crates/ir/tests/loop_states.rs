//! States in loops: what a loop may do with those that it carries, and what it may not, by the reason that is said.

use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::text::{print, read};
use pumice_ir::{BuildErrors, Graph, GraphBuilder, Value, bool_, f32, i32};
use pumice_types::DType;

/// A graph of two states, s and t, and an input x.
fn graph(build: impl FnOnce(&GraphBuilder, [Value; 3])) -> Result<Graph, BuildErrors> {
    let g = GraphBuilder::new("g");
    let leaves = [g.state("s", f32([4])), g.state("t", f32([4])), g.input("x", f32([4]))];
    g.output("x", leaves[2]);
    build(&g, leaves);
    g.build()
}

/// Turns while an input says so.
fn turns<const N: usize>(
    g: &GraphBuilder,
    carried: [Value; N],
    body: impl FnOnce(&GraphBuilder, [Value; N]) -> [Value; N],
) -> [Value; N] {
    let goes_on = g.input("goes_on", bool_::<u64>([]));
    g.while_(20, carried, |_, _| goes_on, body)
}

/// What all that is wrong with a graph says.
fn said(build: impl FnOnce(&GraphBuilder, [Value; 3])) -> String {
    graph(build).expect_err("it is wrong").to_string()
}

#[track_caller]
fn refused(reason: &str, build: impl FnOnce(&GraphBuilder, [Value; 3])) {
    let said = said(build);
    assert!(said.contains(reason), "{said}");
    assert!(said.contains("loop_states.rs"), "where it was made: {said}");
}

#[test]
fn a_turn_writes_the_states_that_its_loop_carries() {
    refused("a turn writes a state that its loop does not carry", |g, [s, _, x]| {
        turns(g, [x], |g, [x]| {
            g.state_write(s, x);
            [g.neg(x)]
        });
    });
    refused("a turn writes a state that its loop does not carry", |g, [s, t, x]| {
        turns(g, [s, x], |g, [s, x]| {
            g.state_write(t, x);
            [g.state_write(s, x), g.neg(x)]
        });
    });
}

#[test]
fn a_turn_leaves_a_version_that_it_made_of_the_state() {
    let reason = "what a turn leaves in place 0 is no version of the state: write it with `state_write`";
    refused(reason, |g, [s, ..]| {
        turns(g, [s], |g, [s]| [g.neg(g.state_read(s))]);
    });
    refused("a turn leaves a version of another state in the place of one", |g, [s, t, _]| {
        turns(g, [s, t], |_, [s, t]| [t, s]);
    });
    refused("a turn leaves a version of a state that it does not follow on", |g, [s, ..]| {
        turns(g, [s], |_, _| [s]);
    });
    refused("a turn leaves a version that it has written since", |g, [s, _, x]| {
        turns(g, [s], |g, [s]| {
            g.state_write(s, g.add(g.state_read(s), x));
            [s]
        });
    });
}

#[test]
fn a_version_is_carried_once() {
    let reason = "a loop carries a version that is carried or written already";
    refused(reason, |g, [s, ..]| {
        turns(g, [s, s], |_, all| all);
    });
    refused(reason, |g, [s, _, x]| {
        g.state_write(s, x);
        turns(g, [s], |_, [s]| [s]);
    });
    refused("two ops write the same version", |g, [s, _, x]| {
        turns(g, [s], |g, [s]| [g.state_write(s, g.neg(g.state_read(s)))]);
        g.state_write(s, x);
    });
}

#[test]
fn a_turn_reads_what_was_before_through_state_read() {
    refused("read it through state_read before the write", |g, [s, _, x]| {
        turns(g, [s, x], |g, [now, x]| [g.state_write(now, x), g.add(x, s)]);
    });
    refused("read it through state_read before the write", |g, [s, _, x]| {
        turns(g, [s, x], |g, [now, x]| {
            let next = g.state_write(now, x);
            [next, g.add(now, g.state_read(next))]
        });
    });
    graph(|g, [s, _, x]| {
        let before = g.state_read(s);
        turns(g, [s, x], |g, [now, x]| [g.state_write(now, x), g.add(x, before)]);
    })
    .expect("it is read before");
}

#[test]
fn no_branch_writes_a_state_by_a_loop() {
    refused("a branch writes a state", |g, [s, _, x]| {
        let c = g.input("c", bool_::<u64>([]));
        g.if_(c, |g| [turns(g, [s, x], |g, [s, x]| [s, g.neg(x)])[1]], |_| [x]);
    });
    refused("a branch writes a state", |g, [s, _, x]| {
        let c = g.input("c", bool_::<u64>([]));
        turns(g, [s, x], |g, [s, x]| {
            let [y] = g.if_(c, |g| [g.state_read(g.state_write(s, x))], |_| [x]);
            [s, y]
        });
    });
}

#[test]
fn a_result_is_a_version_of_the_state() {
    let graph = graph(|g, [s, _, x]| {
        let at = g.input("at", i32::<u64>([]));
        let one = g.constant_scalar(DType::I32, 1.0);
        let [s, x, at] = turns(g, [s, x, at], |g, [s, x, at]| {
            let row = g.narrow(x, 0, 0u64, 1u64);
            [g.kv_append(s, row, at, 0, AppendMode::Circular), g.neg(x), g.add(at, one)]
        });
        let behind = g.named("behind").state_write(s, x);
        g.output("y", g.state_read(behind));
        g.output("at", at);
    });
    let graph = graph.expect("sound");
    let [s, t] = graph.states()[..] else { panic!("{graph:?}") };
    let behind = graph.find("behind").expect("there");
    assert_eq!(graph.final_states(), [behind, t]);
    assert_eq!(graph.state_of(behind), Some(s));
    let versions = graph.values().filter(|(v, _)| graph.state_of(*v) == Some(s)).count();
    assert_eq!(versions, 5, "as it was, as turns begin, what they leave, what the loop leaves, behind");
    assert_eq!(read(&print(&graph)), Ok(graph));
}
