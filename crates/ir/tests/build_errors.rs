//! What a graph refuses as a whole: one wrong graph for each mistake, found by its kind and by the name it gives.
//! What single ops refuse is in `op_errors.rs`. No builder method returns `BuildError::Constant`.

use pumice_ir::error::OpError;
use pumice_ir::ops::{Conv, Input, MaxPool, StateWrite};
use pumice_ir::shape::tensor;
use pumice_ir::{BuildError, FeedKind, Graph, GraphBuilder, Op, Value, bool_, f32, i32, sym};
use pumice_types::{DType, DimExpr, Scheme};

/// Every mistake of a graph.
fn mistakes(build: impl FnOnce(&GraphBuilder)) -> Vec<BuildError> {
    let g = GraphBuilder::new("wrong");
    build(&g);
    g.build().expect_err("the graph is wrong").0.into_iter().map(|m| m.error).collect()
}

/// Checks that the graph has this one mistake, and that its text holds the name and the reason.
fn check(matches: impl Fn(&BuildError) -> bool, texts: [&str; 2], build: impl FnOnce(&GraphBuilder)) {
    let errors = mistakes(build);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(matches(&errors[0]), "{:?}", errors[0]);
    let shown = errors[0].to_string();
    assert!(texts.iter().all(|t| shown.contains(t)), "`{shown}` should hold {texts:?}");
}

/// `name: Pattern, "what is named", "part of the reason" => |g| a wrong graph`.
macro_rules! refuses {
    ($($name:ident: $pattern:pat, $named:literal, $reason:literal => |$g:ident| $build:block)*) => {$(
        #[test]
        fn $name() {
            check(|e| matches!(e, $pattern), [$named, $reason], |$g| $build);
        }
    )*};
}

refuses! {
    op: BuildError::Op { op: "mul", .. }, "layer.scaled", "broadcast" => |g| {
        let (x, y) = (g.input("x", f32([2])), g.input("y", f32([3])));
        g.output("z", g.scoped("layer", |g| g.named("scaled").mul(x, y)));
    }
    the_extent_of_a_missing_axis: BuildError::Op { op: "dim_of", .. }, "x", "axis 2" => |g| {
        let x = g.input("x", f32([4, 5]));
        g.output("y", g.narrow(x, 0, 0u64, g.dim_of(x, 2)));
    }
    a_variable_of_no_scalar: BuildError::Op { op: "scalar_expr", .. }, "x", "not a dynamic scalar" => |g| {
        let x = g.input("x", i32([4]));
        g.scalar_expr(x);
        g.output("y", x);
    }
    the_extent_of_another_graph: BuildError::ForeignValue { .. }, "dim_of", "another graph" => |g| {
        let other = GraphBuilder::new("other");
        let x = other.input("x", f32([4]));
        g.dim_of(x, 0);
        g.output("y", g.input("x", f32([4])));
    }
    a_state_from_another_graph: BuildError::ForeignValue { .. }, "`s`", "another graph" => |g| {
        let other = GraphBuilder::new("other");
        let x = other.param("x", f32([4]));
        g.state_from("`s`", x);
        g.output("y", g.input("x", f32([4])));
    }
    more_than_there_is: BuildError::Op { op: "slice", source: OpError::OutsideAxis { .. }, .. },
        "slice", "from 3 to 6" => |g| {
        g.output("y", g.narrow(g.input("x", f32([5])), 0, 3u64, 3u64));
    }
    more_than_a_symbol_can_be: BuildError::Op { op: "slice", source: OpError::OutsideAxis { .. }, .. },
        "slice", "from 0 to 9" => |g| {
        g.output("y", g.narrow(g.input("x", f32([sym("n", 1..=8)])), 0, 0u64, 9u64));
    }
    two_inputs_of_one_name: BuildError::DuplicateName(_), "`x`", "twice" => |g| {
        g.output("y", g.add(g.input("x", f32([2])), g.input("x", f32([2]))));
    }
    an_input_named_as_a_node: BuildError::DuplicateName(_), "`neg`", "twice" => |g| {
        let y = g.neg(g.input("x", f32([2])));
        g.output("y", g.add(y, g.input("neg", f32([2]))));
    }
    two_outputs_of_one_name: BuildError::DuplicateName(_), "`y`", "twice" => |g| {
        let x = g.input("x", f32([2]));
        g.output("y", x);
        g.output("y", g.neg(x));
    }
    a_leaf_without_a_name: BuildError::EmptyName("param"), "param", "needs a name" => |g| {
        g.output("y", g.param("", f32([2])));
    }
    an_output_without_a_name: BuildError::EmptyName(_), "an output", "needs a name" => |g| {
        g.output("", g.input("x", f32([2])));
    }
    symbol_of_two_ranges: BuildError::Symbol { .. }, "`batch`", "different ranges" => |g| {
        let x = g.input("x", f32([sym("batch", 1..=8)]));
        g.output("y", x);
        g.input("z", f32([sym("batch", 1..=9)]));
    }
    symbol_of_two_steps: BuildError::Symbol { .. }, "`batch`", "different ranges" => |g| {
        g.output("y", g.input("x", f32([sym("batch", 0..=8)])));
        g.input("z", f32([sym("batch", 0..=8).multiple_of(4)]));
    }
    symbol_of_an_empty_range: BuildError::Symbol { .. }, "`n`: its range is empty", "" => |g| {
        #[expect(clippy::reversed_empty_ranges, reason = "the mistake")]
        let n = sym("n", 4..=3);
        g.output("y", g.input("x", f32([n])));
    }
    symbol_of_step_0: BuildError::Symbol { .. }, "`n`: its step is 0", "" => |g| {
        g.output("y", g.input("x", f32([sym("n", 0..=8).multiple_of(0)])));
    }
    symbol_that_is_too_long: BuildError::Symbol { .. }, "`n`: the end of its range is 2^63", "" => |g| {
        g.output("y", g.input("x", f32([sym("n", 0..=1 << 63)])));
    }
    symbol_without_a_name: BuildError::Symbol { .. }, "``", "needs a name" => |g| {
        g.output("y", g.input("x", f32([sym("", 0..=8)])));
    }
    value_of_another_graph: BuildError::ForeignValue { operand: 1, .. }, "total", "another graph" => |g| {
        let other = GraphBuilder::new("other");
        let theirs = other.neg(other.input("x", f32([2])));
        let ours = g.input("x", f32([2]));
        g.output("y", g.named("total").add(ours, theirs));
    }
    nothing_to_compute: BuildError::NoOutput, "no output", "computes nothing" => |g| {
        g.neg(g.input("x", f32([2])));
    }
    output_in_blocks: BuildError::BlocksOutput { .. }, "`y`", "dequantize" => |g| {
        g.output("y", g.param("w", tensor(Scheme::Q4_0, [2u64, 32])));
    }
    sum_of_blocks: BuildError::Op { .. }, "`x`", "q4_0" => |g| {
        g.output("y", g.neg(g.param("w", tensor(Scheme::Q4_0, [2u64, 32]))));
    }
    row_that_ends_in_a_block: BuildError::Op { .. }, "axis 1", "multiple of 256" => |g| {
        g.output("y", g.dequantize(g.param("w", tensor(Scheme::Q6_K, [2u64, 300]))));
    }
    cut_inside_a_block: BuildError::Op { .. }, "columns (slice)", "axis 1" => |g| {
        let w = g.param("w", tensor(Scheme::Q4_0, [4u64, 96]));
        g.output("y", g.dequantize(g.named("columns").narrow(w, 1, 32u64, 40u64)));
    }
    cut_before_a_block_begins: BuildError::Op { .. }, "q5_1", "from 5 on" => |g| {
        let w = g.param("w", tensor(Scheme::Q5_1, [4u64, 96]));
        g.output("y", g.dequantize(g.slice(w, &[5], &[37], &[-1], &[])));
    }
    every_second_element_of_blocks: BuildError::Op { .. }, "axis 1", "dequantize" => |g| {
        let w = g.param("w", tensor(Scheme::Q4_K, [4u64, 512]));
        g.output("y", g.dequantize(g.slice(w, &[0], &[512], &[1], &[2])));
    }
    input_in_blocks: BuildError::Op { .. }, "its result", "q4_0" => |g| {
        g.output("y", g.dequantize(g.input("x", tensor(Scheme::Q4_0, [2u64, 32]))));
    }
    values_dequantized_again: BuildError::Op { .. }, "f32", "blocks" => |g| {
        g.output("y", g.dequantize(g.input("x", f32([2]))));
    }
    two_unordered_writers: BuildError::State { .. }, "`s`", "two ops write the same version" => |g| {
        let (s, x) = (g.state("s", f32([2])), g.input("x", f32([2])));
        g.state_write(s, x);
        g.state_write(s, g.neg(x));
    }
    two_writers_of_a_later_version: BuildError::State { .. }, "`once`", "two ops write the same version" => |g| {
        let (s, x) = (g.state("s", f32([2])), g.input("x", f32([2])));
        let once = g.named("once").state_write(s, x);
        g.state_write(once, x);
        g.state_write(once, g.neg(x));
    }
    write_into_no_state: BuildError::State { .. }, "`oops`", "not a version of a state" => |g| {
        let x = g.input("x", f32([2]));
        g.output("y", g.named("oops").state_write(g.neg(x), x));
    }
    read_of_no_state: BuildError::State { .. }, "`sum`", "not a version of one" => |g| {
        let x = g.input("x", f32([2]));
        g.output("y", g.state_read(g.named("sum").add(x, x)));
    }
    state_of_booleans: BuildError::State { .. }, "`s`", "float or integer" => |g| {
        g.output("y", g.state_read(g.state("s", pumice_ir::bool_([2]))));
    }
    state_from_a_computed_value: BuildError::State { .. }, "`s`", "a param or a constant" => |g| {
        g.state_from("s", g.neg(g.param("w", f32([2]))));
    }
    reader_after_the_next_version: BuildError::State { .. }, "`s`", "late reads this version" => |g| {
        let (s, x) = (g.state("s", f32([2])), g.input("x", f32([2])));
        let after = g.state_read(g.state_write(s, x));
        g.output("y", g.named("late").add(s, after));
    }
    feed_of_no_output: BuildError::Feed { .. }, "output `z` into state `s`", "no such output" => |g| {
        g.output("y", g.input("x", f32([2])));
        g.feed("z", g.state("s", f32([2])), FeedKind::Whole);
    }
    feed_into_no_state: BuildError::Feed { .. }, "output `y` into state `x`", "not a state" => |g| {
        let x = g.input("x", f32([2]));
        g.output("y", x);
        g.feed("y", x, FeedKind::Whole);
    }
    feed_into_a_later_version: BuildError::Feed { .. }, "output `y` into state `once`", "not a state" => |g| {
        let (s, x) = (g.state("s", f32([2])), g.input("x", f32([2])));
        g.output("y", x);
        g.feed("y", g.named("once").state_write(s, x), FeedKind::Whole);
    }
    feed_of_another_dtype: BuildError::Feed { .. }, "output `y` into state `s`", "insert a cast" => |g| {
        g.output("y", g.input("x", i32([2])));
        g.feed("y", g.state("s", f32([2])), FeedKind::Whole);
    }
    feed_of_another_rank: BuildError::Feed { .. }, "output `y` into state `s`", "ranks differ" => |g| {
        g.output("y", g.input("x", f32([2])));
        g.feed("y", g.state("s", f32([1, 2])), FeedKind::Whole);
    }
    feed_along_no_axis: BuildError::Feed { .. }, "output `y` into state `s`", "axis is outside" => |g| {
        g.output("y", g.input("x", f32([2])));
        g.feed("y", g.state("s", f32([2])), FeedKind::Prefix { axis: 1, len: DimExpr::constant(1) });
    }
    feed_of_another_extent: BuildError::Feed { .. }, "output `y` into state `s`", "axis 1 differs: 3 and 4" => |g| {
        g.output("y", g.input("x", f32([2, 3])));
        let one = || DimExpr::constant(1);
        g.feed("y", g.state("s", f32([8, 4])), FeedKind::Row { axis: 0, src: one(), dst: one(), count: one() });
    }
    advance_by_no_scalar: BuildError::Scalar { .. }, "`pos`", "not a symbol or an integer scalar" => |g| {
        let by = DimExpr::scalar(pumice_types::ScalarId(7));
        g.output("y", g.scalar_advancing("pos", 0, 9, 0, by));
    }
    advance_by_a_float: BuildError::Scalar { .. }, "`pos`", "not a symbol or an integer scalar" => |g| {
        let rate = g.scalar("rate", f32::<u64>([]), 0.0, 1.0, 0.5);
        g.output("y", g.scalar_advancing("pos", 0, 9, 0, g.scalar_expr(rate)));
    }
    extent_of_a_scalar: BuildError::Scalar { .. }, "`x`", "extents are symbols" => |g| {
        let n = g.scalar("n", i32::<u64>([]), 0.0, 9.0, 1.0);
        g.output("y", g.input("x", f32([g.scalar_expr(n)])));
    }
}

/// The kinds of mistakes that are found while the graph is made: each is there, in the order in which it was made.
#[test]
fn four_mistakes_of_nodes_are_four_errors() {
    let g = GraphBuilder::new("wrong");
    {
        let (x, w) = (g.input("x", f32([2, 3])), g.param("w", f32([4, 5])));
        let h = g.named("hidden").matmul(x, w);
        let theirs = GraphBuilder::new("other");
        let first = theirs.input("a", f32([2]));
        let far = (0..9).fold(first, |v, _| theirs.neg(v));
        g.named("borrowed").add(x, far);
        let s = g.param("w", f32([2, 3]));
        // Whatever comes out of a mistake causes no further one.
        g.output("y", g.mul(g.relu(h), s));
        g.named("narrow").concat(&[x, g.input("i", i32([2, 3]))], 0);
        g.feed("y", h, FeedKind::Whole);
    }
    let shown = g.build().expect_err("the graph is wrong");
    let errors: Vec<&BuildError> = shown.0.iter().map(|m| &m.error).collect();
    assert!(
        matches!(
            &errors[..],
            [
                BuildError::Op { node: product, op: "matmul", .. },
                BuildError::ForeignValue { node: sum, operand: 1 },
                BuildError::DuplicateName(name),
                BuildError::Op { node: joined, op: "concat", .. },
            ] if product == "hidden" && sum == "borrowed" && name == "w" && joined == "narrow"
        ),
        "{errors:?}"
    );
    let shown = shown.to_string();
    assert!(shown.starts_with("4 mistakes in the graph:\n  hidden (matmul): "), "{shown}");
    assert_eq!(shown.lines().count(), 5, "{shown}");
}

/// The rules between nodes: all of them are looked at, whatever the first finds.
#[test]
fn four_mistakes_between_nodes_are_four_errors() {
    let errors = mistakes(|g| {
        let (s, x) = (g.state("s", f32([2])), g.input("x", f32([2])));
        g.state_write(s, x);
        g.state_write(s, g.neg(x));
        g.state("flags", pumice_ir::bool_([2]));
        g.output("y", x);
        g.feed("y", g.state("t", f32([3])), FeedKind::Whole);
        g.scalar_advancing("pos", 0, 9, 0, DimExpr::scalar(pumice_types::ScalarId(7)));
    });
    let names: Vec<&str> = errors
        .iter()
        .map(|e| match e {
            BuildError::State { state, .. } | BuildError::Feed { state, .. } => state.as_str(),
            BuildError::Scalar { name, .. } => name.as_str(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(names, ["s", "flags", "t", "pos"], "{errors:?}");
}

/// Meanings of steps write a state that is an input there, so the rule lets inputs pass.
#[test]
fn an_input_may_stand_for_a_state() {
    let g = GraphBuilder::new("meaning");
    let ty = pumice_ir::ValueType::fixed(DType::F32, &[2]);
    let s = g.apply(Input { ty: ty.clone() }, &[]);
    let x = g.apply(Input { ty }, &[]);
    g.output("y", g.apply(StateWrite {}, &[s, x]));
    let graph: Graph = g.build().expect("a graph");
    assert!(graph.nodes().any(|(_, n)| matches!(n.op, Op::StateWrite(_))), "{graph:?}");
}

/// Whether the id is in range there or not: a value knows its builder.
#[test]
fn values_of_another_builder_are_found_wherever_they_go() {
    let other = GraphBuilder::new("other");
    let near = other.input("a", f32([2]));
    let far = (0..9).fold(near, |v, _| other.neg(v));
    for foreign in [near, far] {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([2]));
        g.output("operand", g.neg(foreign));
        g.output("output", foreign);
        g.output("y", x);
        g.feed("y", foreign, FeedKind::Whole);
        assert_eq!(g.type_of(foreign), None);
        let errors = g.build().expect_err("three mistakes").0;
        let nodes: Vec<&str> = errors
            .iter()
            .map(|m| match &m.error {
                BuildError::ForeignValue { node, .. } => node.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(nodes, ["neg", "output", "the feed of `y`"]);
    }
}

/// A mistake tells the line that made the node, whatever kind of method it was, and the value tells its mistake.
#[test]
fn mistakes_carry_their_place() {
    let g = GraphBuilder::new("wrong");
    let (x, y) = (g.input("x", f32([2, 3])), g.input("y", f32([4, 5])));
    let first = line!() + 2;
    let made = [
        g.add(x, y),
        g.matmul(x, y),
        g.softmax(x, 7),
        g.linear(x, y, None),
        g.reduce_sum(x, &[5], false),
        g.reshape(x, &[7]),
        g.concat(&[x, y], 0),
        g.input("z", f32([sym("n", 9..=9), sym("n", 1..=2)])),
        g.state_from("s", GraphBuilder::new("other").input("a", f32([1]))),
        g.split(x, 0, &[1, 2])[0],
    ];
    for (i, value) in made.into_iter().enumerate() {
        let mistake = g.check(value).expect_err("each is wrong");
        let site = mistake.site.expect("a line");
        assert!(site.file().ends_with("build_errors.rs"), "{mistake}");
        assert_eq!(site.line(), first + i as u32, "{mistake}");
        // What comes out of a mistake tells the same one.
        assert_eq!(g.check(g.relu(value)), Err(mistake));
    }
    assert_eq!(g.check(x), Ok(()));
    assert_eq!(g.mistakes().len(), made.len());
    // An output of a mistaken value is there for the feed that names it.
    g.output("lost", made[0]);
    g.feed("lost", g.state("t", f32([2])), FeedKind::Whole);
    assert_eq!(g.build().expect_err("ten mistakes").0.len(), made.len());
}

/// Rules of the whole graph tell the line, too.
#[test]
fn a_rule_of_the_graph_tells_the_place() {
    let g = GraphBuilder::new("wrong");
    let s = g.state("s", f32([2]));
    g.output("y", g.input("x", f32([3])));
    let line = line!() + 1;
    g.feed("y", s, FeedKind::Whole);
    let errors = g.build().expect_err("3 into 2").0;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].site.map(|p| p.line()), Some(line), "{}", errors[0]);
}

/// `add (add)` said the same word twice.
#[test]
fn an_unnamed_node_has_one_name() {
    let shown = |scope: &str| {
        let g = GraphBuilder::new("wrong");
        let add = |g: &GraphBuilder| g.add(g.input("x", f32([2])), g.input("y", f32([3])));
        let value = if scope.is_empty() { add(&g) } else { g.scoped(scope, add) };
        g.check(value).expect_err("wrong").to_string()
    };
    assert!(shown("").starts_with("add: shapes [2] and [3]"), "{}", shown(""));
    assert!(shown("layer").starts_with("layer.add: shapes"), "{}", shown("layer"));
}

/// NumPy stretches an extent that happens to be 1. Which axis stretches is part of a plan, so a symbol that may be 1 in
/// some runs is refused beside anything that is not the same extent: such a run failed, with other runs right.
#[test]
fn an_extent_that_may_be_1_is_refused() {
    let refused = |build: &dyn Fn(&GraphBuilder) -> pumice_ir::Value| {
        let g = GraphBuilder::new("g");
        let value = build(&g);
        matches!(
            g.check(value).map_err(|m| m.error),
            Err(BuildError::Op { source: pumice_ir::OpError::MayStretch { .. }, .. })
        )
    };
    let n = |g: &GraphBuilder, name: &str, low: u64| g.input(name, f32([sym(name, low..=8), 3.into()]));
    assert!(refused(&|g| g.add(n(g, "n", 1), g.input("x", f32([4, 3])))));
    assert!(refused(&|g| g.add(n(g, "n", 0), n(g, "m", 2))));
    assert!(refused(&|g| g.expand(n(g, "n", 1), &[4, 3])));
    // The same symbol, a symbol that is never 1, an extent that is always 1.
    assert!(!refused(&|g| g.add(n(g, "n", 1), g.input("x", f32([sym("n", 1..=8), 3.into()])))));
    assert!(!refused(&|g| g.add(n(g, "n", 2), n(g, "m", 2))));
    assert!(!refused(&|g| g.add(n(g, "n", 1), g.input("x", f32([1, 3])))));
    // What the range of the symbol decides: the first n rows of eight are n rows.
    assert!(!refused(&|g| {
        let x = n(g, "n", 1);
        g.add(x, g.narrow(g.param("table", f32([8, 3])), 0, 0u64, g.dim_of(x, 0)))
    }));
    // An equality that the graph demands elsewhere settles it.
    assert!(!refused(&|g| {
        let (a, b) = (n(g, "n", 1), n(g, "m", 1));
        g.concat(&[a, b], 1);
        g.add(a, b)
    }));
}

/// What stops is one bool that is an output, and there is one stop.
#[test]
fn stops() {
    let stop = |body: fn(&GraphBuilder)| {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([2u64]));
        g.output("sum", g.reduce_sum(x, &[0], false));
        g.output("signs", g.greater(x, g.constant_scalar(DType::F32, 0.0)));
        g.output("enough", g.greater(g.reduce_sum(x, &[0], false), g.constant_scalar(DType::F32, 0.0)));
        body(&g);
        g.build().map_err(|e| e.to_string())
    };
    fn twice(g: &GraphBuilder) {
        g.stop("enough");
        g.stop("enough");
    }
    let graph = stop(|g| g.stop("enough")).expect("sound");
    assert_eq!(graph.stop(), Some(2));
    let text = pumice_ir::text::print(&graph);
    assert!(text.contains("\n  stop enough\n"), "{text}");
    assert_eq!(pumice_ir::text::read(&text), Ok(graph));
    let wrong =
        |change: [&str; 2]| pumice_ir::text::read(&text.replace(change[0], change[1])).expect_err(change[1]);
    assert!(wrong(["stop enough", "stop other"]).to_string().contains("there is no output `other`"));
    assert!(wrong(["stop enough", "stop enough stop sum"]).to_string().contains("a second output stops"));
    assert!(wrong(["stop enough", "stop sum"]).to_string().contains("not one bool"));
    for (body, said) in [
        ((|g| g.stop("sum")) as fn(&GraphBuilder), "output `sum` stops nothing: it is f32[], not one bool"),
        (|g| g.stop("signs"), "output `signs` stops nothing: it is bool[2], not one bool"),
        (|g| g.stop("other"), "output `other` stops nothing: there is no such output; declare it first"),
        (twice, "output `enough` stops nothing: another output does"),
    ] {
        let met = stop(body).expect_err(said);
        assert!(met.contains(said) && met.contains("build_errors.rs"), "{met}");
    }
}

/// A second node of one name, said or taken from its op, is named with its number.
#[test]
fn the_second_of_a_name_is_named() {
    let errors = mistakes(|g| {
        let x = g.input("x", f32([1, 4, 9]));
        let y = g.conv(x, g.param("w", f32([4, 4, 3])), None, Conv::default());
        g.conv(y, g.param("v", f32([4, 3, 3])), None, Conv::default());
        g.output("y", g.named("c").add(g.named("c").relu(y), x));
    });
    let shown: Vec<String> = errors.iter().map(BuildError::to_string).collect();
    assert!(shown[0].starts_with("conv_2 (conv): ") && shown[1].starts_with("c_2 (add): "), "{shown:?}");
}

/// So is it in conditions, which runs check.
#[test]
fn the_second_of_a_name_is_named_by_its_condition() {
    let g = GraphBuilder::new("g");
    let pool = |x| g.max_pool(x, MaxPool { kernel: vec![3], ..MaxPool::default() });
    g.output("y", pool(pool(g.input("x", f32([1.into(), 1.into(), sym("h", 1..=40)])))));
    let graph = g.build().expect("some extents are large enough");
    let [first, second] = graph.constraints() else { panic!("{:?}", graph.constraints()) };
    assert!(first.what.starts_with("max_pool: "), "{}", first.what);
    assert!(second.what.starts_with("max_pool_2 (max_pool): "), "{}", second.what);
}

/// What a program that finds extents, branches and turns may not hold is told when it is built, with the caller's line.
#[test]
fn what_data_decide_has_bounds() {
    use pumice_ir::ops::unique::Unique;
    let below = |g: &GraphBuilder, x: Value, n: f64| g.less(x, g.constant_scalar(DType::I32, n));
    let with_host = |g: &GraphBuilder| {
        let x = g.input("x", i32([4]));
        let body = |g: &GraphBuilder, [x]: [Value; 1]| {
            let [values, ..] = g.unique(x, Unique::default());
            [g.add(x, g.reduce_max(values, &[0], false))]
        };
        let [y] = g.while_(9, [x], |g, [x]| below(g, g.reduce_max(x, &[0], false), 5.0), body);
        g.output("y", y);
    };
    let with_stop = |g: &GraphBuilder| {
        let x = g.input("x", i32::<u64>([]));
        let [y] = g.if_(below(g, x, 3.0), |g| [g.neg(x)], |_| [x]);
        g.output("y", y);
        g.output("enough", below(g, y, 0.0));
        g.stop("enough");
    };
    fn nested(g: &GraphBuilder, x: Value, deep: usize) -> Value {
        if deep == 0 {
            return g.neg(x);
        }
        let is = g.less(x, g.constant_scalar(DType::I32, deep as f64));
        let [y] = g.if_(is, |g| [nested(g, g.add(x, x), deep - 1)], |_| [x]);
        y
    }
    let build = |body: &dyn Fn(&GraphBuilder)| {
        let g = GraphBuilder::new("g");
        body(&g);
        g.build().map(|_| ()).map_err(|e| e.to_string())
    };
    let deep = |n| build(&move |g: &GraphBuilder| g.output("y", nested(g, g.input("x", i32::<u64>([])), n)));
    assert_eq!(deep(4), Ok(()));
    // What scalars decide, and what extents do, has a bound of its own, with and without anything that is found.
    fn known(g: &GraphBuilder, x: Value, of: Value, deep: usize) -> Value {
        if deep == 0 {
            return g.neg(x);
        }
        let is = g.less(of, g.constant_scalar(DType::I32, deep as f64));
        let [y] = g.if_(is, |g| [known(g, g.add(x, x), of, deep - 1)], |_| [x]);
        y
    }
    let by_scalar = |n, found: bool| {
        build(&move |g: &GraphBuilder| {
            let x = g.input("x", i32::<u64>([]));
            let y = known(g, x, g.scalar("s", i32::<u64>([]), 0.0, 20.0, 3.0), n);
            g.output("y", if found { nested(g, y, 1) } else { y });
        })
    };
    let by_extent = |n| {
        build(&move |g: &GraphBuilder| {
            let x = g.input("x", i32([sym("n", 1..=20)]));
            g.output("y", known(g, x, g.extent(x, 0), n));
        })
    };
    assert_eq!([by_scalar(8, false), by_scalar(8, true), by_extent(8)], [Ok(()), Ok(()), Ok(())]);
    // Turns that are counted are no choice.
    let in_turns = |n| {
        build(&move |g: &GraphBuilder| {
            let (x, s) = (g.input("x", i32([4])), g.scalar("s", i32::<u64>([]), 0.0, 20.0, 3.0));
            let [y] = g.loop_(100u64, [x], |g, _, [x]| [known(g, x, s, n)]);
            g.output("y", y);
        })
    };
    assert_eq!(in_turns(8), Ok(()));
    for (met, said) in [
        (by_scalar(9, false), "9 branches and loops stand in one another here, at most 8 may"),
        (by_scalar(9, true), "9 branches and loops stand in one another here, at most 8 may"),
        (by_extent(9), "9 branches and loops stand in one another here, at most 8 may"),
        (in_turns(9), "9 branches and loops stand in one another here, at most 8 may"),
        (build(&with_host), "the host runs it, and takes no part in the turns of a loop"),
        (build(&with_stop), "finds an extent, a branch or the turns of a loop"),
        (deep(5), "5 branches and loops that data decide stand in one another here, at most 4 may"),
    ] {
        let met = met.expect_err(said);
        assert!(met.contains(said) && met.contains("build_errors.rs"), "{met}");
    }
}

/// A kernel takes four counts: what follows from more is told when it is built, whatever the counts are of.
#[test]
fn a_value_follows_from_few_counts() {
    // A value whose axes are as long as so many counts say.
    fn cut(g: &GraphBuilder, counts: usize) -> Value {
        let x = g.input("x", f32(vec![9u64; counts]));
        (0..counts).fold(x, |x, axis| {
            let n = g.extent_of(g.input(&format!("n{axis}"), i32::<u64>([])), 0..=9);
            g.narrow(x, axis as i64, 0u64, n)
        })
    }
    // Inside of branches.
    fn inside(g: &GraphBuilder, x: Value, branches: usize) -> Value {
        if branches == 0 {
            return g.exp(x);
        }
        let is = g.input(&format!("c{branches}"), bool_::<u64>([]));
        let [y] = g.if_(is, |g| [inside(g, x, branches - 1)], |_| [x]);
        y
    }
    // Conditions that follow from two counts each, which the host does not know.
    fn of_sums(g: &GraphBuilder, x: Value, branches: usize) -> Value {
        if branches == 0 {
            return g.exp(x);
        }
        let of = |name: &str| g.extent_of(g.input(&format!("{name}{branches}"), i32::<u64>([])), 0..=9);
        let rows = g.narrow(g.input(&format!("x{branches}"), f32([9, 9])), 0, 0u64, of("n"));
        let cut = g.narrow(rows, 1, 0u64, of("m"));
        let is = g.less(g.extent(cut, 0), g.extent(cut, 1));
        let [y] = g.if_(is, |g| [of_sums(g, x, branches - 1)], |_| [x]);
        y
    }
    let build = |body: &dyn Fn(&GraphBuilder) -> Value| {
        let g = GraphBuilder::new("g");
        g.output("y", body(&g));
        g.build().map(|_| ()).map_err(|e| e.to_string())
    };
    let under = |counts, branches| build(&|g| inside(g, cut(g, counts), branches));
    let sums = |branches| build(&|g| of_sums(g, g.input("x", f32([4])), branches));
    assert_eq!([under(4, 0), under(3, 1), under(2, 2), sums(1), sums(2)], [const { Ok(()) }; 5]);
    for (met, said) in [
        (under(5, 0), "it follows from 5 counts that the run finds ("),
        (under(3, 2), "it follows from 5 counts that the run finds ("),
        (under(4, 1), "it follows from 5 counts that the run finds ("),
        (sums(3), "it follows from 6 counts that the run finds ("),
    ] {
        let met = met.expect_err(said);
        assert!(
            met.contains(said) && met.contains("), at most 4 may") && met.contains("build_errors.rs"),
            "{met}"
        );
    }
}

/// A symbol that is found is as large as kernels count at most, also where a file says more.
#[test]
fn a_found_symbol_is_no_larger_than_kernels_count() {
    let g = GraphBuilder::new("g");
    let n = g.extent_of(g.input("count", i32::<u64>([])), 0..=7);
    g.output("y", g.narrow(g.input("x", f32([7])), 0, 0u64, n));
    let text = pumice_ir::text::print(&g.build().expect("sound"));
    let with = |most: u64| text.replace("0..=7 found", &format!("0..={most} found"));
    assert!(with(7) == text && text.contains("0..=7 found"), "{text}");
    let told = |most: u64| pumice_ir::text::read(&with(most)).map(|_| ()).map_err(|e| e.to_string());
    let largest = (1 << 31) - (1 << 10) - 1;
    for most in [largest + 1, i32::MAX as u64, 4_294_967_301, 1 << 40] {
        let met = told(most).expect_err("too large");
        assert!(
            met.contains(&format!("may be {most}, and an extent that is found {largest} at most")),
            "{met}"
        );
    }
}
