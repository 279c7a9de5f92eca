//! Params: set as f32, as a typed view, as bytes, at any time, together; read back as stored; derived bytes follow.

use crate::common::*;
use half::{bf16, f16};
use pumice_compile::Options;
use pumice_ir::{Graph, GraphBuilder, bf16 as bf16s, f16 as f16s, f32, i32, sym};
use pumice_plan::{Plan, Span};
use pumice_runtime::{Executable, NameKind, Outputs, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{ByteSource, DType, Encoding, SourceError, Stored, Tensor, TensorView};

on_every_device!(
    every_setter_at_any_time,
    what_is_computed_from_params_alone_follows,
    several_are_set_together_or_not_at_all,
    tied_names_are_one_storage,
    one_param_at_two_places,
    params_are_outputs_and_initial_values,
    streamed_params_pass_through,
    streamed_params_are_read_from_a_source,
);

/// y\[n, 3\] = x·w + h + b + i, a param of every kind.
fn mixed() -> Graph {
    let g = GraphBuilder::new("mixed");
    let x = g.input("x", f32([sym("n", 1..=4), 3.into()]));
    let (w, h) = (g.param("w", f32([3u64])), g.param("h", f16s([3u64])));
    let (b, i) = (g.param("b", bf16s([3u64])), g.param("i", i32([3u64])));
    let y = g.add(g.mul(x, w), g.cast(h, DType::F32));
    let y = g.add(y, g.cast(b, DType::F32));
    g.output("y", g.add(y, g.cast(i, DType::F32)));
    g.build().expect("sound")
}

/// The same in plain Rust; 16-bit params rounded to nearest even.
fn mixed_plain(x: &[f32], w: &[f32], h: &[f32], b: &[f32], i: &[i32]) -> Vec<f32> {
    let each = |(at, x): (usize, &f32)| {
        let j = at % 3;
        x * w[j] + f16::from_f32(h[j]).to_f32() + bf16::from_f32(b[j]).to_f32() + i[j] as f32
    };
    x.iter().enumerate().map(each).collect()
}

fn every_setter_at_any_time(fixture: &Fixture) {
    let exe = load(fixture, &mixed());
    let mut s = exe.session().expect("a session before any param is set");
    let (one, four) = (tensor(&wave(3, 1), &[1, 3]), tensor(&wave(12, 2), &[4, 3]));
    assert_eq!(exe.missing_params(), ["w", "h", "b", "i"]);
    refused!(run(&mut s, &one), RuntimeError::MissingParams { names } if names.len() == 4, "`w`", "`i`");
    let (mut w, h, b, mut i) =
        (wave(3, 3), vec![0.1f32, -2049.0, 65.5], vec![0.7f32, 1.0, -3.0], vec![5, -6, 7]);
    exe.set_param("w", &w).expect("f32");
    exe.set_param("h", &h).expect("f32 rounds to f16");
    let stored: Vec<u8> = b.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()).collect();
    exe.set_param_bytes("b", &stored).expect("raw bytes");
    refused!(run(&mut s, &one), RuntimeError::MissingParams { names } if names == &["i"], "`i`");
    exe.set_param_view("i", TensorView::i32(&i, [3])).expect("a typed view");
    let check = |s: &mut Session, x: &Tensor, w: &[f32], i: &[i32], what: &str| {
        let y = out(&run(s, x).expect("runs"), "y");
        assert_eq!(y, mixed_plain(&floats(x), w, &h, &b, i), "{what}");
    };
    check(&mut s, &one, &w, &i, "all set after the session was made");
    // Between runs, across a change of the symbol, twice before a run, by each setter.
    i = vec![1 << 20, 0, -1];
    exe.set_param_view("i", TensorView::i32(&i, [3])).expect("again");
    check(&mut s, &four, &w, &i, "an integer set again");
    exe.set_param("w", &[9.0; 3]).expect("soon replaced");
    w = vec![0.5, -0.25, 4.0];
    let bytes: Vec<u8> = w.iter().flat_map(|v| v.to_le_bytes()).collect();
    exe.set_param_bytes("w", &bytes).expect("bytes");
    check(&mut s, &four, &w, &i, "the last of two");
    let mut late = exe.session().expect("a later session");
    check(&mut late, &one, &w, &i, "a session made later");
    w = wave(3, 8);
    exe.set_param_view("w", row(&w)).expect("a view");
    for s in [&mut s, &mut late] {
        check(s, &one, &w, &i, "every session sees it");
    }
    assert_eq!(floats(&exe.param("w").expect("set")), w);
    assert_eq!(exe.param("b").expect("set").bytes(), stored);
    let halves: Vec<f16> = h.iter().map(|v| f16::from_f32(*v)).collect();
    assert_eq!(exe.param("h").expect("set"), Tensor::new(&halves, &[3]).expect("three"));
    wrong_values(&exe);
    check(&mut s, &four, &w, &i, "after refusals");
}

fn wrong_values(exe: &Executable) {
    const PARAM: NameKind = NameKind::Param;
    refused!(exe.set_param("v", &[0.0; 3]), RuntimeError::UnknownName { kind: PARAM, .. }, "`v`", "`w`");
    refused!(exe.param("v"), RuntimeError::UnknownName { kind: PARAM, .. }, "`v`");
    refused!(exe.set_param("w", &[0.0; 4]), RuntimeError::Length { expected: 3, given: 4, .. }, "`w`");
    refused!(exe.set_param_bytes("h", &[0; 7]), RuntimeError::Length { expected: 6, given: 7, .. }, "`h`");
    refused!(
        exe.set_param("i", &[0.0; 3]),
        RuntimeError::DType { expected: Encoding::Plain(DType::I32), .. },
        "`i`",
        "i32"
    );
    let halves = [f16::ONE; 3];
    let narrow = exe.set_param_view("w", TensorView::f16(&halves, [3]));
    refused!(narrow, RuntimeError::DType { given: Encoding::Plain(DType::F16), .. }, "`w`");
    let flat = exe.set_param_view("w", TensorView::f32(&[0.0; 3], [3, 1]));
    refused!(flat, RuntimeError::Rank { expected: 1, given: 2, .. }, "`w`");
    let long = exe.set_param_view("w", TensorView::f32(&[0.0; 4], [4]));
    refused!(long, RuntimeError::Extent { axis: 0, given: 4, .. }, "`w`");
    let short = exe.set_param_view("w", TensorView::f32(&[0.0; 2], [3]));
    refused!(short, RuntimeError::Tensor { kind: PARAM, .. }, "`w`");
}

/// Weights made of weights: c = relu(a), d = c·b − a; y = x·dᵀ. One param is in two of them.
pub fn what_is_computed_from_params_alone_follows(fixture: &Fixture) {
    let g = GraphBuilder::new("derived");
    let x = g.input("x", f32([2u64, 4]));
    let (a, b) = (g.param("a", f32([3u64, 4])), g.param("b", f32([4u64])));
    let c = g.relu(a);
    g.output("y", g.linear(x, g.sub(g.mul(c, b), a), None));
    g.output("z", g.linear(x, g.transpose(g.reshape(c, &[4, 3]), &[1, 0]), None));
    let exe = load(fixture, &g.build().expect("sound"));
    assert!(!exe.plan().load.steps.is_empty(), "computed when loading, not in every run");
    let x = tensor(&wave(8, 1), &[2, 4]);
    let mut s = exe.session().expect("a session");
    let (mut a, mut b) = (wave(12, 2), wave(4, 3));
    set(&exe, &[("a", &a), ("b", &b)]);
    for turn in 0..6u32 {
        match turn {
            0 => {}
            1 | 4 => {
                b = wave(4, 10 + turn);
                set(&exe, &[("b", &b)]);
            }
            _ => {
                a = wave(12, 10 + turn);
                set(&exe, &[("a", &a)]);
            }
        }
        let y = run(&mut s, &x).expect("runs");
        let c = map(&a, |v| v.max(0.0));
        let d = zip(&zip(&c, &b, |c, b| c * b), &a, |cb, a| cb - a);
        assert_eq!(out(&y, "y"), linear(&floats(&x), &d, None, 4), "turn {turn}");
        // c as [4, 3], transposed: row j of it is the column j.
        let turned: Vec<f32> = (0..12).map(|i| c[(i % 4) * 3 + i / 4]).collect();
        assert_eq!(out(&y, "z"), linear(&floats(&x), &turned, None, 4), "turn {turn}");
        assert_eq!(
            (floats(&exe.param("a").expect("set")), floats(&exe.param("b").expect("set"))),
            (a.clone(), b.clone())
        );
    }
}

fn several_are_set_together_or_not_at_all(fixture: &Fixture) {
    let g = GraphBuilder::new("pair");
    let x = g.input("x", f32([3u64]));
    let (a, b) = (g.param("a", f32([3u64])), g.param("b", f32([3u64])));
    g.output("y", g.add(g.mul(x, a), b));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let (x, a, b) = (tensor(&wave(3, 1), &[3]), wave(3, 2), wave(3, 3));
    exe.set_params(&[("b", row(&b)), ("a", row(&a))]).expect("both");
    let check = |s: &mut Session| {
        let want = zip(&zip(&floats(&x), &a, |x, a| x * a), &b, |xa, b| xa + b);
        assert_eq!(out(&run(s, &x).expect("runs"), "y"), want);
    };
    check(&mut s);
    let other = [7.0f32; 4];
    let wrong = exe.set_params(&[("a", row(&other[..3])), ("b", row(&other))]);
    refused!(wrong, RuntimeError::Extent { .. }, "`b`");
    let unknown = exe.set_params(&[("a", row(&other[..3])), ("c", row(&other[..3]))]);
    refused!(unknown, RuntimeError::UnknownName { .. }, "`c`");
    let twice = exe.set_params(&[("a", row(&other[..3])), ("a", row(&other[..3]))]);
    refused!(twice, RuntimeError::Duplicate { kind: NameKind::Param, .. }, "`a`");
    check(&mut s);
    assert_eq!(floats(&exe.param("a").expect("set")), a, "nothing was written");
}

/// Makes param `b` of a plan a second name for the storage of param `a`.
fn tie(plan: &mut Plan, a: usize, b: usize) {
    let (to, from) = (plan.params[a].span, plan.params[b].span);
    let move_span = |span: &mut Span| {
        if span.overlaps(&from) {
            span.offset = to.offset + (span.offset - from.offset);
        }
    };
    for program in plan.programs_mut() {
        program.steps.iter_mut().flat_map(|s| &mut s.uses).for_each(|u| move_span(&mut u.span));
        program.values.iter_mut().for_each(|v| move_span(&mut v.span));
    }
    plan.params[b].span = to;
}

fn tied_names_are_one_storage(fixture: &Fixture) {
    let g = GraphBuilder::new("tied");
    let x = g.input("x", f32([2u64, 4]));
    let (a, b, c) = (g.param("a", f32([4u64, 4])), g.param("b", f32([4u64, 4])), g.param("c", f32([4u64])));
    let h = g.linear(x, g.relu(a), None);
    g.output("h", h);
    g.output("y", g.add(g.linear(h, g.neg(b), None), c));
    let mut plan = fixture.plan(&g.build().expect("sound"), &Options::default());
    tie(&mut plan, 0, 1);
    let exe = fixture.load(plan);
    let mut s = exe.session().expect("a session");
    let x = tensor(&wave(8, 1), &[2, 4]);
    let c = wave(4, 5);
    set(&exe, &[("c", &c)]);
    assert_eq!(exe.missing_params(), ["a", "b"]);
    for (turn, name) in ["b", "a", "a", "b"].into_iter().enumerate() {
        let w = wave(16, 20 + turn as u32);
        set(&exe, &[(name, &w)]);
        let y = run(&mut s, &x).expect("one name sets both");
        let h = linear(&floats(&x), &map(&w, |v| v.max(0.0)), None, 4);
        assert_eq!(out(&y, "h"), h, "set by {name}");
        assert_eq!(out(&y, "y"), linear(&h, &map(&w, |v| -v), Some(&c), 4), "set by {name}");
        assert_eq!(exe.param("a").expect("set"), exe.param("b").expect("set"));
    }
}

/// A table that is looked up and multiplied with, as tied embeddings are.
fn one_param_at_two_places(fixture: &Fixture) {
    let g = GraphBuilder::new("table");
    let ids = g.input("ids", i32([3u64]));
    let table = g.param("table", f32([5u64, 4]));
    let rows = g.embedding(table, ids);
    g.output("rows", rows);
    g.output("logits", g.linear(rows, table, None));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    for seed in 0..3 {
        let table = wave(20, seed);
        set(&exe, &[("table", &table)]);
        let y = s.run(&[("ids", TensorView::i32(&[4, 0, 2], [3]))]).expect("runs");
        let rows: Vec<f32> = [4, 0, 2].iter().flat_map(|i| table[i * 4..i * 4 + 4].to_vec()).collect();
        assert_eq!(out(&y, "rows"), rows);
        assert_eq!(out(&y, "logits"), linear(&rows, &table, None, 4));
    }
}

fn params_are_outputs_and_initial_values(fixture: &Fixture) {
    let g = GraphBuilder::new("initial");
    let x = g.input("x", f32([3u64]));
    let w = g.param("w", f32([3u64]));
    let s = g.state_from("s", w);
    g.output("w", w);
    let sum = g.add(g.state_read(s), x);
    g.state_write(s, sum);
    g.output("sum", sum);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let (x, w, later) = (tensor(&wave(3, 1), &[3]), wave(3, 2), wave(3, 3));
    refused!(s.state("s").expect("there").read(), RuntimeError::MissingParams { .. }, "`w`");
    set(&exe, &[("w", &w)]);
    assert_eq!(floats(&s.state("s").expect("there").read().expect("the param now")), w);
    let y = run(&mut s, &x).expect("runs");
    let sum = zip(&w, &floats(&x), |a, b| a + b);
    assert_eq!((out(&y, "w"), out(&y, "sum")), (w, sum.clone()));
    set(&exe, &[("w", &later)]);
    let y = run(&mut s, &x).expect("runs");
    let sum = zip(&sum, &floats(&x), |a, b| a + b);
    assert_eq!((out(&y, "w"), out(&y, "sum")), (later.clone(), sum), "a state that began goes on");
    s.state("s").expect("there").reset().expect("reset");
    assert_eq!(floats(&s.state("s").expect("there").read().expect("the param as it is now")), later);
}

/// h is only read as relu(h), so it passes through; so would k, which is kept by name; w is read as it is. Each product
/// has an input of its own, so that none are merged.
fn passing(fixture: &Fixture) -> Executable {
    let g = GraphBuilder::new("passing");
    let product = |name: &str, w| {
        let x = g.input(&format!("x_{name}"), f32([2u64, 4]));
        g.output(name, g.linear(x, w, None));
    };
    let (h, k) = (g.param("h", f16s([3u64, 4])), g.param("k", f32([3u64, 4])));
    product("h", g.relu(g.cast(h, DType::F32)));
    product("k", g.relu(k));
    product("w", g.param("w", f32([3u64, 4])));
    let options = Options::default().stream_from(1).keep(["k"]);
    let exe = fixture.executable(&g.build().expect("sound"), &options);
    let streamed: Vec<&str> =
        exe.plan().streams.iter().map(|s| exe.plan().params[s.param as usize].name.as_str()).collect();
    assert_eq!(streamed, ["h"], "{}", exe.plan());
    exe
}

fn run_passing(s: &mut Session, x: &Tensor) -> Result<Outputs, RuntimeError> {
    s.run(&[("x_h", x.view()), ("x_k", x.view()), ("x_w", x.view())])
}

fn check_passing(s: &mut Session, x: &Tensor, [h, k, w]: [&[f32]; 3], what: &str) {
    let y = run_passing(s, x).unwrap_or_else(|e| panic!("{what}: {e}"));
    let relu = |v: &[f32]| map(v, |v| v.max(0.0));
    assert_eq!(out(&y, "h"), linear(&floats(x), &relu(h), None, 4), "{what}: h");
    assert_eq!(out(&y, "k"), linear(&floats(x), &relu(k), None, 4), "{what}: k");
    assert_eq!(out(&y, "w"), linear(&floats(x), w, None, 4), "{what}: w");
}

fn streamed_params_pass_through(fixture: &Fixture) {
    let exe = passing(fixture);
    let x = tensor(&wave(8, 1), &[2, 4]);
    let mut s = exe.session().expect("a session");
    let (mut h, k, w) = (wave(12, 2), wave(12, 3), wave(12, 4));
    set(&exe, &[("k", &k), ("w", &w)]);
    refused!(run_passing(&mut s, &x), RuntimeError::MissingParams { names } if names == &["h"], "`h`");
    refused!(exe.param("h"), RuntimeError::NotKept { .. }, "`h`", "Options::keep");
    let mut late = None;
    for turn in 0..4 {
        h = wave(12, 20 + turn);
        let halves: Vec<f16> = h.iter().map(|v| f16::from_f32(*v)).collect();
        match turn {
            0 | 3 => set(&exe, &[("h", &h)]),
            1 => exe.set_param_view("h", TensorView::f16(&halves, [3, 4])).expect("as it is stored"),
            _ => {
                let bytes: Vec<u8> = halves.iter().flat_map(|v| v.to_le_bytes()).collect();
                exe.set_param_bytes("h", &bytes).expect("bytes");
            }
        }
        check_passing(&mut s, &x, [&h, &k, &w], &format!("turn {turn}"));
        let late = late.get_or_insert_with(|| exe.session().expect("a later session"));
        check_passing(late, &x, [&h, &k, &w], &format!("turn {turn}, another session"));
    }
    refused!(exe.set_param("h", &[0.0; 3]), RuntimeError::Length { .. }, "`h`");
    check_passing(&mut s, &x, [&h, &k, &w], "after a refusal");
    refused!(exe.param("h"), RuntimeError::NotKept { .. }, "`h`");
    assert_eq!(floats(&exe.param("k").expect("kept by name")), k);
    let (k, w) = (wave(12, 30), wave(12, 31));
    set(&exe, &[("k", &k), ("w", &w)]);
    check_passing(&mut s, &x, [&h, &k, &w], "others set again");
}

/// Params by name as f32, and one that breaks off.
struct Source<'a>(&'a [(&'a str, &'a [f32])], Option<&'a str>);

impl ByteSource for Source<'_> {
    fn stored(&self, name: &str) -> Result<Stored, SourceError> {
        let encoding = if name == "h" { DType::F16 } else { DType::F32 };
        Ok(Stored { encoding: encoding.into(), shape: vec![3, 4] })
    }

    fn read_bytes(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), SourceError> {
        let found = self.0.iter().find(|(n, _)| *n == name && self.1 != Some(name));
        let broken = || SourceError { name: name.to_owned(), source: std::sync::Arc::new(std::fmt::Error) };
        let values = found.ok_or_else(broken)?.1;
        let bytes: Vec<u8> = match name {
            "h" => values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
            _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        to.copy_from_slice(&bytes[offset as usize..][..to.len()]);
        Ok(())
    }
}

fn streamed_params_are_read_from_a_source(fixture: &Fixture) {
    let exe = passing(fixture);
    let x = tensor(&wave(8, 1), &[2, 4]);
    let mut s = exe.session().expect("a session");
    let (h, k, w) = (wave(12, 2), wave(12, 3), wave(12, 4));
    let all: [(&str, &[f32]); 3] = [("h", &h), ("k", &k), ("w", &w)];
    exe.read_params(&Source(&all, None), |_, _| {}).expect("all there");
    check_passing(&mut s, &x, [&h, &k, &w], "read");
    let broken = exe.read_params(&Source(&all, Some("h")), |_, _| {});
    refused!(broken, RuntimeError::Source(_), "`h`");
    refused!(run_passing(&mut s, &x), RuntimeError::MissingParams { names } if names == &["h"], "`h`");
    set(&exe, &[("h", &k)]);
    check_passing(&mut s, &x, [&k, &k, &w], "set after it broke off");
}
