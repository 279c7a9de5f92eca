//! What the verifier, the patches and the text reader refuse, as far as it can be reached from outside. Not reachable:
//! `VerifyError::Order` and `VerifyError::Definition`, since builder, reader and patches number nodes and values as
//! they push them.

use pumice_ir::ops::{Abs, Add, Neg, StateRead, StateWrite};
use pumice_ir::{
    BuildError, Form, Graph, GraphBuilder, OpError, Patch, PatchError, PatchRef, ValueId, VerifyError, f32,
    sym, text, verify,
};
use pumice_types::{Symbol, SymbolTable};

fn graph(build: impl FnOnce(&GraphBuilder)) -> Graph {
    let g = GraphBuilder::new("g");
    build(&g);
    g.build().expect("a graph")
}

fn value(graph: &Graph, name: &str) -> ValueId {
    graph.find(name).unwrap_or_else(|| panic!("no value `{name}`"))
}

fn old(graph: &Graph, name: &str) -> PatchRef {
    PatchRef::Old(value(graph, name))
}

/// x → a → b → y.
fn chain() -> Graph {
    graph(|g| {
        let a = g.named("a").neg(g.input("x", f32([4])));
        g.output("y", g.named("b").neg(a));
    })
}

fn message(text: &str) -> String {
    text::read(text).expect_err("the text is wrong").to_string()
}

#[test]
fn a_patch_may_break_a_rule_of_programs() {
    let graph = graph(|g| {
        let (s, x) = (g.state("s", f32([4])), g.input("x", f32([4])));
        g.output("y", g.named("r").state_read(g.state_write(s, x)));
    });
    let mut patch = Patch::new("write once more");
    let again = patch.add(StateWrite {}, "again", &[old(&graph, "s"), old(&graph, "x")]);
    let read = patch.add(StateRead {}, "reread", &[again]);
    patch.replace(value(&graph, "r"), read);
    let patched = graph.apply(&[patch]).expect("types agree");
    let errors = verify(&patched, Form::Source).expect_err("two writers");
    let of_s = |e: &VerifyError| {
        matches!(e, VerifyError::Program(BuildError::State { state, reason })
        if state == "s" && reason.contains("two ops write"))
    };
    assert!(errors.len() == 1 && of_s(&errors[0]), "{errors:?}");
}

/// Inference decides min(n, 10) by the range of n, so a range that another one replaces can leave a type behind.
#[test]
fn a_type_must_be_what_inference_gives() {
    let graph = graph(|g| {
        let x = g.input("x", f32([sym("n", 1..=64)]));
        g.output("y", g.named("head").slice(x, &[0], &[10], &[], &[]));
    });
    let mut symbols = SymbolTable::default();
    symbols.push(Symbol { name: "n".to_owned(), min: 16, max: 64, multiple_of: 1, found: false });
    let errors = verify(&graph.with_symbols(symbols), Form::Source).expect_err("a stale type");
    assert!(
        matches!(&errors[..], [VerifyError::Type { value, stored, inferred }]
            if value == "head" && stored.contains("min") && inferred == "f32[10]"),
        "{errors:?}"
    );
}

#[test]
fn a_composite_may_not_be_left() {
    let graph = graph(|g| {
        let (x, w) = (g.input("x", f32([2, 3])), g.param("w", f32([4, 3])));
        g.output("y", g.named("dense").linear(x, w, None));
    });
    assert!(verify(&graph, Form::Source).is_ok());
    let errors = verify(&graph, Form::Lowerable).expect_err("a linear is left");
    assert_eq!(errors, [VerifyError::Form { node: "dense".to_owned(), op: "linear" }]);
}

#[test]
fn a_patch_may_not_need_what_it_replaces_later() {
    let graph = chain();
    let mut patch = Patch::new("a from b");
    let new = patch.add(Abs {}, "new", &[old(&graph, "b")]);
    patch.replace(value(&graph, "a"), new);
    let error = graph.apply(&[patch]).expect_err("a cycle");
    assert!(
        matches!(&error, PatchError::Cycle { labels, node } if labels == &["a from b"] && ["new", "b"].contains(&node.as_str())),
        "{error}"
    );
}

/// Each of the two is sound alone; together they need each other.
#[test]
fn two_patches_may_not_need_each_other() {
    let graph = graph(|g| {
        let x = g.input("x", f32([4]));
        let (a, b) = (g.named("a").neg(x), g.named("b").abs(x));
        g.output("y", g.add(a, b));
    });
    let from = |of: &str, replaced: &str| {
        let mut patch = Patch::new(format!("{replaced} from {of}"));
        let new = patch.add(Neg {}, format!("new {replaced}"), &[old(&graph, of)]);
        patch.replace(value(&graph, replaced), new);
        patch
    };
    let patches = [from("b", "a"), from("a", "b")];
    assert!(patches.chunks(1).all(|alone| graph.apply(alone).is_ok()));
    let error = graph.apply(&patches).expect_err("a cycle");
    let shown = error.to_string();
    assert!(matches!(error, PatchError::Cycle { .. }), "{error}");
    assert!(["a from b", "b from a", "cycle through new "].iter().all(|t| shown.contains(t)), "{shown}");
}

#[test]
fn a_patch_may_wrap_what_it_replaces() {
    let graph = chain();
    let mut patch = Patch::new("|a| for a");
    let new = patch.add(Abs {}, "wrapped", &[old(&graph, "a")]);
    patch.replace(value(&graph, "a"), new);
    let patched = graph.apply(&[patch]).expect("no cycle");
    assert_eq!(verify(&patched, Form::Source), Ok(()));
    assert!(patched.find("a").is_some() && patched.find("wrapped").is_some());
}

#[test]
fn a_patch_keeps_types_and_refers_to_its_own_nodes() {
    let graph = graph(|g| {
        let (x, row) = (g.input("x", f32([3, 4])), g.input("row", f32([4])));
        g.output("y", g.named("a").neg(x));
        g.output("z", row);
    });
    let replace_a = |label: &str, build: &dyn Fn(&mut Patch) -> PatchRef| {
        let mut patch = Patch::new(label);
        let new = build(&mut patch);
        patch.replace(value(&graph, "a"), new);
        graph.apply(&[patch]).expect_err("the patch is wrong")
    };
    let error = replace_a("narrow", &|p| p.add(Neg {}, "n", &[old(&graph, "row")]));
    assert!(
        matches!(&error, PatchError::Type { label, name, old, new }
            if label == "narrow" && name == "a" && old == "f32[3, 4]" && new == "f32[4]"),
        "{error}"
    );
    let error = replace_a("beyond", &|_| PatchRef::New(3, 0));
    assert_eq!(error, PatchError::Reference { label: "beyond".to_owned(), index: 3 });
    let error = replace_a("half", &|p| p.add(Add {}, "half", &[old(&graph, "x")]));
    assert!(
        matches!(&error, PatchError::Infer { label, node, source: OpError::MissingOperand(_) }
            if label == "half" && node == "half"),
        "{error}"
    );
}

#[test]
fn a_text_may_not_have_a_cycle() {
    let shown =
        message("graph g {\n  x: f32[4] = input()\n  a = add(x, b)\n  b = neg(a)\n  output y = b\n}\n");
    assert_eq!(shown, "3:14: `b` is not defined above; nodes are in order, cycles cannot be");
    let shown = message("graph g { a = neg(a) output y = a }");
    assert!(shown.contains("`a` is not defined above"), "{shown}");
}

#[test]
fn a_text_is_held_to_the_rules_of_programs() {
    let cases = [
        ("graph g { x: f32[4] = input() }", "the graph has no output"),
        (
            "graph g { x: f32[4] = input() s: f32[4] = state() a = state_write(s, x) b = state_write(s, x) }",
            "state `s`: two ops write the same version",
        ),
        ("graph g { x: f32[4] = input() y: f32[5] = neg(x) output y = y }", "`y` is f32[4]"),
        ("graph g { x: f32[4] = input() x = neg(x) output y = x }", "`x` is defined twice"),
        ("graph g { x: f32[4] = input() output y = x feed y -> x whole }", "the target is not a state"),
        ("graph g { x: f32[4] = input() y: i32[3] = input() z = add(x, y) output z = z }", "z (add): "),
    ];
    for (text, expected) in cases {
        let shown = message(text);
        assert!(shown.contains(expected), "`{shown}` should hold `{expected}`");
    }
}

/// A loop whose parts are given as text.
fn loop_text(init: &str, again: &str, turns: &str) -> String {
    format!(
        "graph g {{ symbol s = 0..=9 symbol go = 0..=1 found x: i32[s] = input() zero: i32[] = constant() \
         {{data = i32[] [0]}} one: i32[] = constant() {{data = i32[] [1]}} flag: i32[] = carry(one) \
         {{number = 1, place = 0}} found: i32[] = extent_of(flag) {{extent = go}} c: i32[] = carry({init}) \
         {{number = 1, place = 1}} d: i32[] = add(c, one) l: i32[], y: i32[] = loop({again}, d, flag, c) \
         {{number = 1, running = go, most = 9{turns}}} output y = y }}"
    )
}

#[test]
fn a_text_is_held_to_the_rules_of_loops() {
    assert!(text::read(&loop_text("zero", "flag", ", turns = s")).is_ok());
    let cases = [
        (loop_text("flag", "flag", ""), "c: its turns begin with what a turn makes"),
        (loop_text("zero", "zero", ", turns = s"), "l: its turns are counted, and yet something says"),
    ];
    for (text, expected) in cases {
        let shown = message(&text);
        assert!(shown.contains(expected), "`{shown}` should hold `{expected}`");
    }
}

/// Two prefixes of x as long as two counts say, at most 8 each.
fn counts_text(held: [&str; 2], rest: &str) -> String {
    let [n, m] = held;
    format!(
        "graph g {{ symbol n = 0..=8 found symbol m = 0..=8 found k: i32[2] = input() \
         x: i32[8] = input() first: i32[1] = slice(k) {{starts = [0], ends = [1], axes = [0]}} \
         c: i32[] = reshape(first) {{shape = []}} hn = {n} hm = {m} en = extent_of(hn) {{extent = n}} \
         em = extent_of(hm) {{extent = m}} a: i32[n] = slice(x) {{starts = [0], ends = [n], axes = [0]}} \
         b: i32[m] = slice(x) {{starts = [0], ends = [m], axes = [0]}} {rest} }}"
    )
}

/// Whether two extents are equal that the run finds was left to nobody: sums of as many as one of them were wrong.
#[test]
fn a_text_may_not_ask_for_what_only_the_run_finds() {
    const HELD: [&str; 2] = ["found_count(c) {largest = 8}"; 2];
    let sound = counts_text(HELD, "output a = a output b = b");
    assert_eq!(text::read(&sound).map(drop).map_err(|e| e.to_string()), Ok(()));
    let cases = [
        (
            "sa = cum_sum(a) sb = cum_sum(b) y = add(sa, sb) output y = y",
            "y (add): broadcast extents, at line 1 of the graph's text: n must be m, which only the run finds",
        ),
        (
            "output a = a output b = b require \"rows\" at_most {left = n, right = m}",
            "rows, at line 1 of the graph's text: n must be at most m, which only the run finds",
        ),
        (
            "s: i32[n] = input() output a = s output b = b",
            "s (input): an extent of an input is n, which only the run finds; it must be known before",
        ),
        (
            "p: i32[] = scalar() {min = 0, max = 9, default = 0, advance = n} output a = p output b = b",
            "p (scalar): what a scalar advances by is n, which only the run finds",
        ),
    ];
    for (rest, expected) in cases {
        let shown = message(&counts_text(HELD, rest));
        assert!(shown.contains(expected), "`{shown}` should hold `{expected}`");
    }
}

/// A count beyond its extent was taken for the largest, and no report said so.
#[test]
fn the_count_of_an_extent_is_held() {
    let read = |held: &str| {
        let text = counts_text([held, "found_count(c) {largest = 8}"], "output a = a output b = b");
        text::read(&text).map(drop).map_err(|e| e.to_string())
    };
    for held in ["found_count(c) {largest = 3}", "found_count(c) {largest = 8}", "extent(x) {axis = 0}"] {
        assert_eq!(read(held), Ok(()), "{held}");
    }
    let too_large = "en: its count is at most 9, and n at most 8";
    let not_held = "en: nothing holds its count between 0 and 8: `found_count` does";
    for (held, expected) in [
        ("found_count(c) {largest = 9}", too_large),
        ("constant() {data = i32[] [9]}", too_large),
        ("constant() {data = i32[] [-1]}", not_held),
        ("reshape(first) {shape = []}", not_held),
        ("add(c, c)", not_held),
        ("cast(c) {to = i32}", not_held),
    ] {
        let shown = read(held).expect_err(held);
        assert!(shown.contains(expected), "`{shown}` should hold `{expected}`");
    }
}

/// What says whether a loop runs is 0 or 1: a symbol that was 0 always brought the evaluator down.
#[test]
fn a_loop_runs_by_a_symbol_of_0_and_1() {
    let sound = loop_text("zero", "flag", ", turns = s");
    for (from, to) in
        [("0..=1 found", "0..=0 found"), ("0..=1 found", "0..=2 found"), ("go,", "1,"), ("go,", "s,")]
    {
        let shown = message(&sound.replace(from, to));
        let named = to.trim_end_matches(',').replace("0..=0 found", "go").replace("0..=2 found", "go");
        let expected = format!("l (loop): attribute `running`: {named} is no symbol of 0..=1 that is found");
        assert!(shown.contains(&expected), "`{shown}` should hold `{expected}`");
    }
}

/// A state that the caller gives stands in `.ir` text, and has no initial value besides.
#[test]
fn a_state_is_given_or_has_an_initial_value() {
    let given = graph(|g| g.output("y", g.state_read(g.state_given("s", f32([4])))));
    let text = text::print(&given);
    assert!(text.contains("state() {given = true}"), "{text}");
    assert_eq!(text::print(&text::read(&text).expect("its own text")), text);
    let twice = graph(|g| {
        let w = g.param("w", f32([4]));
        g.output("y", g.state_read(g.state_from("s", w)));
    });
    let text = text::print(&twice).replace("state(w)", "state(w) {given = true}");
    assert!(
        message(&text).contains("it is given by the caller and has an initial value"),
        "{}",
        message(&text)
    );
}
