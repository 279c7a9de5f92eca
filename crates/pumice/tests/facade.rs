//! What a user does with the facade alone: look at a program's interface, give weights of his own, shapes known late.

use pumice::ops::{Conv, MaxPool};
use pumice::{
    Device, Error, FeedKind, GraphBuilder, Model, Options, RuntimeError, Tensor, TensorView, f32, sym, text,
};
use std::path::PathBuf;

fn graph() -> pumice::Graph {
    let g = GraphBuilder::new("own");
    let x = g.input("x", f32([sym("n", 1..=8), 2.into()]));
    let sum = g.state("sum", f32([3u64]));
    let y = g.linear(x, g.param("w", f32([3, 2])), None);
    let total = g.add(g.state_read(sum), g.reduce_sum(y, &[0], false));
    g.state_write(sum, total);
    g.scalar("gain", f32([0u64; 0]), 0.0, 2.0, 1.0);
    g.output("y", y);
    g.build().expect("sound")
}

#[test]
fn an_executable_tells_its_interface() {
    let exe = pumice::compile(&graph(), &Device::cpu(), &Options::default()).expect("compiles");
    let shown = |of: Vec<pumice::TensorInfo>| of.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(shown(exe.inputs()), ["x: f32[n=1..=8, 2]"]);
    assert_eq!(shown(exe.outputs()), ["y: f32[n=1..=8, 3]"]);
    assert_eq!(shown(exe.params()), ["w: f32[3, 2]"]);
    assert_eq!(shown(exe.states()), ["sum: f32[3]"]);
    assert_eq!(format!("{:?}", exe.inputs()), "[x: f32[n=1..=8, 2]]", "no terms of expressions");
    let x = &exe.inputs()[0];
    assert_eq!((x.shape[0].min, x.shape[0].max, x.shape[0].fixed()), (1, 8, None));
    assert_eq!((x.fixed_shape(), exe.params()[0].fixed_shape()), (None, Some(vec![3, 2])));
}

/// A safetensors file with one f32 tensor.
fn file(name: &str, shape: [u64; 2], values: &[f32]) -> PathBuf {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let header = format!(r#"{{"w":{{"dtype":"F32","shape":{shape:?},"data_offsets":[0,{}]}}}}"#, bytes.len());
    let mut all = (header.len() as u64).to_le_bytes().to_vec();
    all.extend(header.into_bytes());
    all.extend(bytes);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    std::fs::write(&path, all).expect("written");
    path
}

#[test]
fn a_graph_and_a_file_of_ones_own_in_two_lines() -> Result<(), Box<dyn std::error::Error>> {
    let path = file("own.safetensors", [3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let model = Model::from_safetensors(graph(), &path)?;
    let exe = pumice::load(&model, &Device::cpu(), &Options::default())?;

    // A shape that is known when the program runs.
    let (values, shape) = (vec![1.0f32, 2.0, 3.0, 4.0], vec![2u64, 2]);
    let x = TensorView::try_from((&values[..], &shape[..]))?;
    let y: Tensor = exe.session()?.run(&[("x", x)])?.get("y")?.clone();
    assert_eq!((y.shape(), y.to_vec::<f32>()?), (&[2, 3][..], vec![1.0, 2.0, 3.0, 3.0, 4.0, 7.0]));

    let wrong = Model::from_safetensors(graph(), file("wrong.safetensors", [2, 2], &[0.0; 4]))?;
    let refused = pumice::load(&wrong, &Device::cpu(), &Options::default());
    assert!(matches!(refused, Err(Error::Mismatch(_))));
    Ok(())
}

/// `broadcast extents is -3; it must be in 0..=0`, said a run before.
#[test]
fn a_broken_condition_names_both_extents() {
    let g = GraphBuilder::new("g");
    let n = |name: &str| g.input(name, f32([sym(name, 2..=8)]));
    let (added_at, sum) = (line!(), g.add(n("n"), n("m")));
    g.output("y", sum);
    let exe =
        pumice::compile(&g.build().expect("sound"), &Device::cpu(), &Options::default()).expect("compiles");
    let mut session = exe.session().expect("a session");
    let refused = session
        .run(&[("n", TensorView::f32(&[1.0; 5], [5])), ("m", TensorView::f32(&[1.0; 8], [8]))])
        .expect_err("5 is not 8");
    assert!(matches!(refused, RuntimeError::Extents { equal: true, .. }), "{refused:?}");
    let (text, line) = (refused.to_string(), added_at);
    assert!(text.starts_with("add: broadcast extents, at "), "{text}");
    assert!(text.contains(&format!("facade.rs:{line}:")), "the line of the graph's source: {text}");
    assert!(text.ends_with(": n = 5 must be equal to m = 8"), "{text}");
    let printed = exe.plan().to_string();
    assert!(printed.contains("check  n = m  (add: broadcast extents, at "), "{printed}");

    let refused = session.run(&[("n", TensorView::f32(&[1.0], [1])), ("m", TensorView::f32(&[1.0], [1]))]);
    let text = refused.expect_err("1 is not in 2..=8").to_string();
    assert!(text.ends_with("it must be in 2..=8"), "no word of multiples: {text}");
}

/// Rows that do not fit into a state were refused with the name of the state, and not a word of where the feed stands.
#[test]
fn a_broken_condition_of_a_feed_names_its_line() {
    let g = GraphBuilder::new("g");
    let rows = g.input("rows", f32([sym("n", 1..=8), 2.into()]));
    let (first, whole) = (g.state("first", f32([4u64, 2])), g.state("whole", f32([4u64, 2])));
    g.output("y", g.add(rows, rows));
    let (prefix_at, ()) = (line!(), g.feed("y", first, FeedKind::Prefix { axis: 0, len: g.dim_of(rows, 0) }));
    let (whole_at, ()) = (line!(), g.feed("y", whole, FeedKind::Whole));
    let built = g.build().expect("sound");
    let written = text::print(&built);
    let read = text::read(&written).expect("its own text");
    let line =
        |start: &str| 1 + written.lines().position(|l| l.trim_start().starts_with(start)).expect("there");
    let of_text = |at: usize| format!("line {at} of the graph's text");
    let cases = [
        (&built, [format!("facade.rs:{prefix_at}:"), format!("facade.rs:{whole_at}:")]),
        (&read, [of_text(line("feed y -> first")), of_text(line("feed y -> whole"))]),
    ];
    for (graph, [prefix, whole]) in cases {
        let exe = pumice::compile(graph, &Device::cpu(), &Options::default()).expect("compiles");
        let mut session = exe.session().expect("a session");
        let mut refused = |n: usize| {
            let rows = vec![1.0; 2 * n];
            let given = [("rows", TensorView::f32(&rows, [n as u64, 2]))];
            session.run(&given).expect_err("not four rows").to_string()
        };
        let text = refused(5);
        assert!(text.starts_with("rows written by the feed of state first, at "), "{text}");
        assert!(text.contains(&prefix), "{text}, not {prefix}");
        let text = refused(3);
        assert!(text.starts_with("axis 0 of the feed of state whole and of the state, at "), "{text}");
        assert!(text.contains(&whole), "{text}, not {whole}");
        let printed = exe.plan().to_string();
        let checks: Vec<&str> = printed.lines().filter(|l| l.starts_with("check")).collect();
        for place in [&prefix, &whole] {
            assert!(checks.iter().any(|check| check.contains(place)), "{place}: {printed}");
        }
    }
}

/// `main` that returns an error printed `Runtime(Extents { what: ".." .. })`.
#[test]
fn the_debug_of_an_error_is_its_sentence() {
    let g = GraphBuilder::new("g");
    g.output("y", g.add(g.input("a", f32([2u64])), g.input("b", f32([3u64]))));
    let mistakes = g.build().expect_err("2 is not 3");
    assert_eq!(format!("{mistakes:?}"), mistakes.to_string());
    assert!(mistakes.to_string().contains("facade.rs:"), "{mistakes}");
    let error = pumice::plan_file::load(std::path::Path::new("there/is/none")).expect_err("no file");
    assert_eq!(format!("{error:?}"), error.to_string());
    let boxed: Box<dyn std::error::Error> = error.into();
    assert!(format!("{boxed:?}").starts_with("there/is/none: "), "{boxed:?}");
}

/// Of an extent that is computed, the message says from which symbol.
#[test]
fn a_broken_condition_says_what_its_symbols_were() {
    let g = GraphBuilder::new("g");
    let pool = |x| g.max_pool(x, MaxPool { kernel: vec![3], ..MaxPool::default() });
    g.output("y", pool(pool(g.input("x", f32([1.into(), 1.into(), sym("h", 3..=40)])))));
    let exe =
        pumice::compile(&g.build().expect("sound"), &Device::cpu(), &Options::default()).expect("compiles");
    let mut session = exe.session().expect("a session");
    let refused = session.run(&[("x", TensorView::f32(&[1.0; 4], [1, 1, 4]))]).expect_err("4 is too small");
    let text = refused.to_string();
    assert!(
        text.starts_with("max_pool_2 (max_pool): the window and the padded extent of axis 2, at "),
        "{text}"
    );
    assert!(text.ends_with(": 3 must be at most max(0, h - 2) = 2, with h = 4"), "{text}");
}

/// Extents from which a window takes something are multiplied: (h - 1)(w - 1) bounded term by term may be negative, and
/// was refused as the extent of a grid.
#[test]
fn windows_without_pads_over_two_symbols_are_planned() {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("b", 1..=8), 1.into(), sym("h", 3..=64), sym("w", 3..=64)]));
    let y = g.conv(x, g.param("w", f32([2, 1, 2, 2])), None, Conv::default());
    g.output("y", g.max_pool(g.relu(y), MaxPool { kernel: vec![2, 2], ..MaxPool::default() }));
    let graph = g.build().expect("sound");
    assert!(pumice::compile(&graph, &Device::cpu(), &Options::default()).is_ok());
    assert!(pumice::compile(&graph, &Device::best(), &Options::default()).is_ok());
}
